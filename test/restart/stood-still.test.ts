// The server's process stands still for longer than anybody may be silent, as on a machine that sleeps. What was sent meanwhile
// waits in its sockets: nobody was silent.
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { startBare, type Bare } from "../support/bare-server.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow } from "../support/run-reader.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

/** How long anybody may be silent, and how long the server stands still. */
const LEASE_MS = 800;
const STILL_MS = 2500;

let provider: FaultProvider;
let server: Bare;

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startBare({ config: scriptedConfig(provider.origin, { limits: { producerLeaseMs: LEASE_MS } }) });
});
afterAll(() => Promise.all([server.stop(), provider.stop()]));

async function outcomeOf(runId: string): Promise<unknown> {
  return (await fetch(`${server.origin}/v1/runs/${runId}/outcome?wait=10`)).json();
}

test("R-CLOCK-1 a provider that went on sending was not silent", async () => {
  const deltas = Array.from({ length: 40 }, (_, index) => `${index} `);
  provider.on(pathOf(openAi), () => streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas }), { delayMs: 60 }));
  const body = startBody({ targets: ["openai-a"], clocks: { idleMs: LEASE_MS, progressMs: LEASE_MS } });
  const reader = await follow(`${server.origin}/v1/runs`, { body });
  await reader.until(({ type }) => type === "content_delta");
  await server.freeze(STILL_MS);
  expect(await outcomeOf(reader.runId)).toMatchObject({ outcome: "completed", finalText: deltas.join("") });
});

test("R-CLOCK-1 one that did fall silent still was", async () => {
  provider.on(pathOf(openAi), () =>
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Some"], finishReason: null, done: false }), {
      end: "hang",
    }),
  );
  const body = startBody({ targets: ["openai-a"], clocks: { idleMs: LEASE_MS } });
  const reader = await follow(`${server.origin}/v1/runs`, { body });
  await reader.until(({ type }) => type === "content_delta");
  await server.freeze(STILL_MS);
  expect(await outcomeOf(reader.runId)).toMatchObject({
    outcome: "error",
    error: { details: { failureClass: "timeout_idle" } },
  });
});

test("R-FEED-9 a producer whose batch waited was not silent, and one that sends nothing is lost", async () => {
  const started = await post(`${server.origin}/v1/runs`, {
    schemaVersion: "1.0",
    task: { kind: "text_to_text" },
    source: "push",
  });
  const { runId } = v.parse(v.object({ runId: v.string() }), JSON.parse(await started.text()));
  const push = (sequence: number, text: string): Promise<Response> =>
    post(`${server.origin}/v1/runs/${runId}/events`, {
      epoch: 1,
      sequence,
      events: [{ type: "content_delta", payload: { text } }],
    });
  expect((await push(0, "Some")).status).toBe(200);
  const still = server.freeze(STILL_MS);
  const [waited] = await Promise.all([push(1, " more"), still]);
  expect(await waited.json()).toMatchObject({ accepted: true, nextSequence: 2 });
  expect(await outcomeOf(runId)).toMatchObject({
    outcome: "error",
    partialText: "Some more",
    error: { details: { code: "producer_lost" } },
  });
});
