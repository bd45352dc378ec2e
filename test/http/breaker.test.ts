// What a tenant's runs learn from each other, over real sockets: whom a bench sends away, what the decision says of it, and what
// further requests may cost. The rules themselves are tested without sockets.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, startBody, type WireEvent } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { openAi } from "../support/scripted-targets.ts";

const FAILURES = 3;

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const ids = ["breaks", "limited", "busy", "silent", "spare"];
  server = await startBare({
    config: {
      targets: ids.map((id) => ({ id, adapter: "openai-chat", baseUrl: `${provider.origin}/${id}`, model: "m" })),
      routes: {
        default: ["spare"],
        thrifty: { targets: ["silent", "spare"], hedge: { afterMs: 200, budgetPercent: 10 } },
        lavish: { targets: ["silent", "spare"], hedge: { afterMs: 200, budgetPercent: 100 } },
      },
      breaker: { failures: FAILURES, coolDownMs: 60_000 },
    },
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

const pathOf = (id: string): string => `/${id}/chat/completions`;
const whole = (): Script => streamScript(OPENAI_STREAM_TYPE, openAi.whole(["Well."]));
const part = (end: "rst" | "hang"): Script =>
  streamScript(OPENAI_STREAM_TYPE, end === "hang" ? [] : openAi.part(["Half"]), { end });

async function run(fields: Record<string, unknown>): Promise<{ runId: string; events: WireEvent[] }> {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const events = eventsOf(await response.text());
  return { runId: response.headers.get("x-run-id") ?? "", events };
}

const askedFirst = ({ events }: { events: WireEvent[] }) =>
  events.find(({ type }) => type === "attempt")?.payload["targetId"];

test("R-BREAK-1 a target that breaks off after its first text each time is benched for it", async () => {
  provider.on(pathOf("breaks"), () => part("rst"));
  provider.on(pathOf("spare"), whole);
  for (let count = 0; count < FAILURES; count++) {
    expect(askedFirst(await run({ targets: ["breaks", "spare"] }))).toBe("breaks");
  }
  expect(askedFirst(await run({ targets: ["breaks", "spare"] }))).toBe("spare");
});

test("R-BREAK-5 R-BREAK-7 a 503 that asks for a minute is believed, and the decision names who is asked instead", async () => {
  provider.on(pathOf("busy"), () => answerScript(openAi.refusal(503, "no", { "retry-after": "60" })));
  provider.on(pathOf("spare"), whole);
  expect(askedFirst(await run({ targets: ["busy", "spare"] }))).toBe("busy");
  const benched = await run({ targets: ["busy", "spare"] });
  expect(askedFirst(benched)).toBe("spare");
  expect(benched.events[0]).toMatchObject({ payload: { phase: "provider_selected", providerId: "spare" } });
  const decided = (): string[] =>
    server
      .log()
      .split("\n")
      .filter((line) => line.startsWith('{"type":"route_decided"') && line.includes(benched.runId));
  await expect.poll(decided, { timeout: 5000 }).toHaveLength(1);
  expect(JSON.parse(decided()[0] ?? "")).toMatchObject({
    payload: {
      selectedProviderId: "spare",
      fallbackProviderIds: ["busy"],
      explanation: { selectedProviderId: "spare", summary: "Selected 'spare'." },
    },
  });
});

test("R-BREAK-6 the end of an older answer does not end a bench", async () => {
  provider.on(pathOf("spare"), whole);
  const gateBefore = { index: 1, name: "rest" };
  provider.on(pathOf("limited"), streamScript(OPENAI_STREAM_TYPE, openAi.whole(["Slow."]), { gateBefore }));
  const older = run({ targets: ["limited"] });
  await provider.waitForCall(pathOf("limited"));
  provider.on(pathOf("limited"), () => answerScript(openAi.refusal(429, "no", { "retry-after": "60" })));
  await run({ targets: ["limited", "spare"] });
  provider.open("rest");
  expect((await older).events.at(-1)).toMatchObject({ payload: { outcome: "completed" } });
  expect(askedFirst(await run({ targets: ["limited", "spare"] }))).toBe("spare");
});

test("R-HEDGE-3 ten runs at once make two further requests on a budget of a tenth; a larger budget makes more", async () => {
  provider.on(pathOf("silent"), () => part("hang"));
  provider.on(pathOf("spare"), whole);
  const clocks = { totalMs: 3000 };
  await Promise.all(Array.from({ length: 10 }, () => run({ route: "thrifty", clocks })));
  expect(provider.calls(pathOf("silent"))).toHaveLength(10);
  expect(provider.calls(pathOf("spare"))).toHaveLength(2);
  await Promise.all(Array.from({ length: 3 }, () => run({ route: "lavish", clocks })));
  expect(provider.calls(pathOf("spare"))).toHaveLength(5);
});
