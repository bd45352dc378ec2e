// Retention with the shortest times allowed, on its own and over a restart: first the events go, then everything.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf, post, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

const EVENTS_MS = 1500;
/** Long enough for a restart in between on a slow machine. */
const OUTCOME_MS = 8000;

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const limits = { retentionEventsMs: EVENTS_MS, retentionOutcomeMs: OUTCOME_MS, attachWaitMs: 0 };
  server = await startBare({ config: scriptedConfig(provider.origin, { limits }) });
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.whole(["kept ", "a while"])));
});
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

test("R-LIFE-3 events are kept for a while, then 410; the outcome longer, then 404; also over a restart", async () => {
  const runId = "short-lived";
  const body = startBody({ requestId: runId, targets: ["openai-a"] });
  const told = await (await post(`${server.origin}/v1/runs`, body, { accept: "text/event-stream" })).text();
  const ended = eventsOf(told).at(-1);
  const sealedAt = ended?.timestamp ?? 0;
  const url = `${server.origin}/v1/runs/${runId}`;
  const outcome = JSON.stringify(ended?.payload);
  const status = async (suffix: string): Promise<number> => {
    const response = await fetch(`${url}${suffix}`);
    await response.body?.cancel();
    return response.status;
  };
  const replay = await fetch(`${url}/events`);
  if (Date.now() < sealedAt + EVENTS_MS) expect(await replay.text()).toBe(told);

  await expect.poll(() => status("/events"), { timeout: EVENTS_MS + 3000, interval: 100 }).toBe(410);
  expect(Date.now()).toBeGreaterThanOrEqual(sealedAt + EVENTS_MS);
  const gone = await fetch(`${url}/events`, { headers: { accept: "application/json", "last-event-id": "1" } });
  expect(gone.status).toBe(410);
  expect(await gone.json()).toMatchObject({ errorClass: "Internal", runId, details: { code: "gone" } });
  expect(await (await fetch(`${url}/outcome`)).text()).toBe(outcome);
  expect(await (await fetch(url)).json()).toMatchObject({ status: "completed", lastSequence: ended?.sequence });
  // A repeat is still the same run: it is not run again.
  expect((await post(`${server.origin}/v1/runs`, body)).status).toBe(202);
  expect(await (await post(`${server.origin}/v1/runs?wait=1`, body)).text()).toBe(outcome);
  expect((await post(`${url}/cancel`, { reason: "late" })).status).toBe(200);

  await server.kill();
  await server.start();
  expect(Date.now()).toBeLessThan(sealedAt + OUTCOME_MS);
  expect(await status("/events")).toBe(410);
  expect(await (await fetch(`${url}/outcome`)).text()).toBe(outcome);

  await expect.poll(() => status("/outcome"), { timeout: OUTCOME_MS + 3000, interval: 200 }).toBe(404);
  expect(Date.now()).toBeGreaterThanOrEqual(sealedAt + OUTCOME_MS);
  expect(await status("")).toBe(404);
  expect(await status("/events")).toBe(404);
  expect(provider.calls()).toHaveLength(1);

  // The name is free: another body may have it.
  const again = await post(`${server.origin}/v1/runs?wait=5`, { ...body, prompt: "Another one." });
  expect(again.status).toBe(200);
  expect(await again.json()).toMatchObject({ outcome: "completed", runId });
  expect(provider.calls()).toHaveLength(2);
}, 60_000);
