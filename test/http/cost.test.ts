// What a run costs in storage, as its state tells it: rows as SQLite counts them, and bytes of the log.
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { encodeSegment } from "../../durable-objects/segment-codec.ts";
import { runStateSchema } from "../../schemas/run.ts";
import { eventsOf, post, startBody, type WireEvent } from "../support/api.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta } from "../support/run-reader.ts";
import { answer, MAIN, newName, objectOf, openHouse, type House } from "./house.ts";

/** Longer than any run here, so that only what must be flushed at once is. */
const NEVER_MS = 10_000;

let house: House;
/** The same with `flushMs` out of the way. */
let patient: House;

beforeAll(async () => {
  house = await openHouse();
  patient = await openHouse({ limits: { flushMs: NEVER_MS } });
});
afterAll(async () => {
  await house.stop();
  await patient.stop();
});
beforeEach(() => {
  house.provider.reset();
  patient.provider.reset();
});

async function stateOf({ origin }: House, runId: string) {
  return v.parse(runStateSchema, await objectOf(await fetch(`${origin}/v1/runs/${runId}`)));
}

/** Runs to the end and gives the events and the cost. */
async function costOf(at: House, script: Script) {
  at.provider.on(MAIN, script);
  const requestId = newName();
  const response = await post(`${at.origin}/v1/runs`, startBody({ requestId }), {
    accept: "text/event-stream",
  });
  const events = eventsOf(await response.text());
  return { events, cost: (await stateOf(at, requestId)).cost };
}

/** One event every `everyMs`, by the clock and not by the sum of its pauses. */
function* steadily(events: readonly string[], everyMs: number): Script {
  const begun = performance.now();
  let due = 0;
  for (const step of streamScript(OPENAI_STREAM_TYPE, events)) {
    if (step.step === "chunk") yield { step: "delay", ms: Math.max(0, begun + everyMs * due++ - performance.now()) };
    yield step;
  }
}

test("R-COST-1 1,000 tokens in 20 s write at most 82 rows and store at most 16 KB", async () => {
  const tokens = Array.from({ length: 1000 }, (_, index) => ` w${String(index).padStart(3, "0")}`);
  const usage = { prompt_tokens: 5, completion_tokens: 1000, total_tokens: 1005 };
  const { events, cost } = await costOf(house, steadily(openAiChat({ deltas: tokens, usage }), 20));
  const deltas = events.filter(({ type }) => type === "content_delta");
  expect(deltas).toHaveLength(1000);
  const took = (events.at(-1)?.timestamp ?? 0) - (events[0]?.timestamp ?? 0);
  expect(took).toBeGreaterThan(19_500);
  expect(took).toBeLessThan(22_000);
  console.log(`1,000 tokens in ${took} ms: ${JSON.stringify(cost)}`);
  expect(cost.rowsWritten).toBeLessThanOrEqual(82);
  expect(cost.bytesStored).toBeLessThanOrEqual(16_384);
  expect(cost.bytesStored).toBeGreaterThan(tokens.join("").length);
});

/** Two tables, each counted as two rows; the run, its first segment, the alarm. */
const ACCEPT_ROWS = 7;
const FLUSH_ROWS = 1;
/** The open segment, the terminal's, the run, the alarm. */
const SEAL_ROWS = 4;

test.each([2, 25])("R-COST-1 R-DUR-3 a short run of %i tokens is one segment and its terminal's", async (count) => {
  const tokens = Array.from({ length: count }, (_, index) => ` 北京${index}`);
  const requestId = newName();
  patient.provider.on(MAIN, answer(tokens, { gateBefore: { index: 2, name: requestId } }));
  const reader = await follow(`${patient.origin}/v1/runs`, { body: startBody({ requestId }) });
  await reader.until(isDelta(tokens[0] ?? ""));
  expect((await stateOf(patient, requestId)).cost.rowsWritten).toBe(ACCEPT_ROWS + FLUSH_ROWS);
  patient.provider.open(requestId);
  const events = await reader.rest();
  const { cost } = await stateOf(patient, requestId);
  expect(cost.rowsWritten).toBe(ACCEPT_ROWS + FLUSH_ROWS + SEAL_ROWS);
  expect(cost.bytesStored).toBe(segmentBytes(events.slice(0, -1)) + segmentBytes(events.slice(-1)));
  expect((await stateOf(patient, requestId)).cost).toEqual(cost);
});

test("R-COST-1 R-DUR-3 each flush is one row, however much it holds, and silence costs nothing", async () => {
  const requestId = newName();
  const tokens = Array.from({ length: 30 }, (_, index) => ` w${index}`);
  const gateBefore = [2, 3, 20].map((index) => ({ index, name: `${requestId}-${index}` }));
  house.provider.on(MAIN, answer(tokens, { gateBefore }));
  const reader = await follow(`${house.origin}/v1/runs`, { body: startBody({ requestId }) });
  await reader.until(isDelta(tokens[0] ?? ""));
  const rows = async (): Promise<number> => (await stateOf(house, requestId)).cost.rowsWritten;
  let expected = ACCEPT_ROWS + FLUSH_ROWS;
  expect(await rows()).toBe(expected);
  for (const { name, index } of gateBefore.slice(0, 2)) {
    house.provider.open(name);
    await reader.until(isDelta(tokens[index === 2 ? 1 : 18] ?? ""));
    expected += FLUSH_ROWS;
    await expect.poll(rows).toBe(expected);
  }
  await house.provider.reached(`${requestId}-20`);
  house.provider.open(`${requestId}-20`);
  await reader.rest();
  expect(await rows()).toBe(expected + SEAL_ROWS);
});

/** Bytes of these events as one row of the log. */
function segmentBytes(events: readonly WireEvent[]): number {
  const entries = events.map(({ sequence, timestamp, type, payload }) => ({
    sequence,
    at: timestamp,
    type,
    payload: JSON.stringify(payload),
    ...(type === "content_delta" && { text: String(payload["text"]) }),
  }));
  return Buffer.byteLength(encodeSegment(entries));
}
