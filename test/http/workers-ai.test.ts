// Runs against Workers AI: over REST from a scripted provider, and without the binding, which no local server has.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { workersAiChat, workersAiError, workersAiToken } from "../support/provider-bytes/workers-ai.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const PATH = `/account/ai/run/${MODEL}`;
const TYPE = "text/event-stream";

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const rest = { id: "rest", adapter: "workers-ai", baseUrl: `${provider.origin}/account`, model: MODEL, keyVar: "CF" };
  server = await startBare({
    config: {
      targets: [rest, { id: "bound", adapter: "workers-ai", model: MODEL }],
      routes: { default: ["rest"], near: ["bound", "rest"] },
    },
    vars: { CF: "cf-0123456789" },
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

async function run(fields: Record<string, unknown>) {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: TYPE });
  const events = eventsOf(await response.text());
  expect(events.at(-1)?.type).toBe("terminal");
  return { outcome: events.at(-1)?.payload ?? {}, text: shownText(events) };
}

test("R-PROV-16 without the binding the attempt fails as auth, and the next target answers", async () => {
  provider.on(PATH, streamScript(TYPE, workersAiChat({ deltas: ["Hel", "lo"] })));
  const { outcome, text } = await run({ route: "near", prompt: "Hi" });
  expect(text).toBe("Hello");
  expect(outcome).toMatchObject({
    outcome: "completed",
    provenance: { targetId: "rest", attempts: [{ targetId: "bound", failureClass: "auth" }, { targetId: "rest" }] },
  });
  const [call] = provider.calls(PATH);
  expect(call?.headers["authorization"]).toBe("Bearer cf-0123456789");
});

// B3
test("R-PROV-1 a stream that ends without [DONE] is no answer", async () => {
  provider.on(PATH, streamScript(TYPE, [workersAiToken("Hel"), workersAiToken("lo")]));
  const { outcome } = await run({ targets: ["rest"], prompt: "Hi" });
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "Hello",
    error: { details: { failureClass: "truncated" } },
  });
});

// P4
test("R-PROV-3 a refusal is classed by its number", async () => {
  provider.on(PATH, answerScript(workersAiError(429, 3036)));
  const { outcome } = await run({ targets: ["rest"], prompt: "Hi" });
  expect(JSON.stringify(outcome)).toContain('"failureClass":"quota"');
});
