// How a run stands and how it ended, as it comes over HTTP.
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { runStateSchema } from "../../schemas/run.ts";
import { framesOf, post, startBody } from "../support/api.ts";
import { errorScript } from "../support/provider-bytes/scripts.ts";
import { follow } from "../support/run-reader.ts";
import {
  answer,
  faultyFields,
  handleOf,
  MAIN,
  newName,
  objectOf,
  openHouse,
  outcomeOf,
  problemOf,
  SPARE,
  type House,
} from "./house.ts";

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse();
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => {
  house.provider.reset();
  house.provider.on(MAIN, answer(["Hello", " world."]));
});

const stateOf = async (runId: string) => v.parse(runStateSchema, await objectOf(await fetch(`${runs}/${runId}`)));
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

test("R-OUT-1 a live run's state says running and how far it is", async () => {
  house.provider.on(MAIN, answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }));
  const handle = await handleOf(await post(runs, startBody()));
  await house.provider.reached("rest");
  const state = await stateOf(handle.runId);
  expect(state).toMatchObject({ runId: handle.runId, status: "running", startedAt: handle.startedAt, recoveries: 0 });
  expect(state.attempts).toMatchObject([{ attempt: 0, step: 0, targetId: "main" }]);
  expect(state).not.toHaveProperty("usage");
  house.provider.open("rest");
  await outcomeOf(house.origin, handle.runId);
});

test("R-OUT-1 a finished run's state has its end, attempts, usage, provenance and cost", async () => {
  house.provider.on(MAIN, errorScript(503, {}, "{}"));
  house.provider.on(SPARE, answer(["x"], {}, { usage }));
  const requestId = newName();
  const whole = framesOf(
    await (await post(runs, startBody({ requestId, route: "both" }), { accept: "text/event-stream" })).text(),
  );
  const raw = await objectOf(await fetch(`${runs}/${requestId}`));
  expect(Object.keys(raw).toSorted()).toEqual(
    [
      "schemaVersion",
      "runId",
      "status",
      "startedAt",
      "lastSequence",
      "attempts",
      "steps",
      "usage",
      "provenance",
      "recoveries",
      "cost",
    ].toSorted(),
  );
  const state = v.parse(runStateSchema, raw);
  expect(state).toMatchObject({
    status: "completed",
    lastSequence: whole.length - 1,
    steps: 1,
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    provenance: { targetId: "spare", fallbackOccurred: true },
    recoveries: 0,
  });
  expect(state.attempts.map(({ targetId, status }) => [targetId, status])).toEqual([
    ["main", "failed"],
    ["spare", "completed"],
  ]);
  expect(state.cost.rowsWritten).toBeGreaterThan(0);
  expect(state.cost.bytesStored).toBeGreaterThan(0);
  expect(await objectOf(await fetch(`${runs}/${requestId}`))).toEqual(raw);
});

test("R-OUT-2 the outcome is exactly the bytes of the terminal's payload", async () => {
  house.provider.on(MAIN, answer(['é \u2028 "quoted" \\ 😀', "\u0000"], {}, { usage }));
  const handle = await handleOf(await post(runs, startBody()));
  const response = await fetch(`${runs}/${handle.runId}/outcome?wait=20`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  const outcome = await response.text();
  const stream = await (
    await fetch(`${runs}/${handle.runId}/events?from=now`, { headers: { accept: "application/x-ndjson" } })
  ).text();
  expect(stream.endsWith(`"type":"terminal","payload":${outcome}}\n`)).toBe(true);
  expect(await (await fetch(`${runs}/${handle.runId}/outcome`)).text()).toBe(outcome);
  expect(await (await post(`${runs}/${handle.runId}/cancel`, {})).text()).toBe(outcome);
});

test("R-OUT-2 a live run's outcome is 202 with the handle; wait waits for the end", async () => {
  house.provider.on(MAIN, answer(["one"], { gateBefore: { index: 1, name: "text" } }));
  const handle = await handleOf(await post(runs, startBody()));
  expect(await handleOf(await fetch(`${runs}/${handle.runId}/outcome`))).toEqual(handle);
  expect(await handleOf(await fetch(`${runs}/${handle.runId}/outcome?wait=0`))).toEqual(handle);
  const waiting = [20, 55].map((seconds) => fetch(`${runs}/${handle.runId}/outcome?wait=${seconds}`));
  const short = await fetch(`${runs}/${handle.runId}/outcome?wait=1`);
  expect(await handleOf(short)).toEqual(handle);
  house.provider.open("text");
  for (const response of await Promise.all(waiting)) {
    expect(await objectOf(response)).toMatchObject({ outcome: "completed", finalText: "one" });
  }
});

test("R-OUT-2 R-START-3 a wait that is not whole seconds from 0 to 55 is 400", async () => {
  const { runId } = await handleOf(await post(runs, startBody()));
  await outcomeOf(house.origin, runId);
  house.provider.reset();
  for (const wait of ["", "-1", "56", "100", "1.5", "1e1", "abc", "٣", " 5", "0x5", "9".repeat(500)]) {
    const query = `wait=${encodeURIComponent(wait)}`;
    const read = await problemOf(await fetch(`${runs}/${runId}/outcome?${query}`), 400, "invalid_request");
    expect(faultyFields(read)).toEqual(["query:wait"]);
    const requestId = newName();
    const start = await problemOf(await post(`${runs}?${query}`, startBody({ requestId })), 400, "invalid_request");
    expect(faultyFields(start)).toEqual(["query:wait"]);
    await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-OUT-2 outcome and state of a run that is not there are 404 at once", async () => {
  const startedAt = performance.now();
  await problemOf(await fetch(`${runs}/${newName()}/outcome?wait=55`), 404, "not_found");
  await problemOf(await fetch(`${runs}/${newName()}`), 404, "not_found");
  await problemOf(await post(`${runs}/${newName()}/cancel`, {}), 404, "not_found");
  expect(performance.now() - startedAt).toBeLessThan(3000);
});

test("R-OUT-4 a completed outcome has telemetry and provenance", async () => {
  house.provider.on(MAIN, answer(["x"], {}, { usage, model: "test-model-2026" }));
  const outcome = v.parse(outcomeSchema, await objectOf(await post(`${runs}?wait=20`, startBody())));
  expect(outcome).toMatchObject({
    outcome: "completed",
    finishReason: "stop",
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    telemetry: { providerUsed: "main" },
    provenance: {
      targetId: "main",
      locality: "cloud",
      configuredModel: "test-model",
      reportedModel: "test-model-2026",
      fallbackOccurred: false,
      attemptedProviderIds: ["main"],
      attempts: [{ attempt: 0, step: 0, targetId: "main", status: "completed" }],
    },
  });
  expect(outcome.telemetry?.totalMs).toBeGreaterThanOrEqual(0);
});

test("R-OUT-4 usage is absent when no provider reported it", async () => {
  const outcome = await objectOf(await post(`${runs}?wait=20`, startBody()));
  expect(outcome).toMatchObject({ outcome: "completed", finishReason: "stop" });
  expect(outcome).not.toHaveProperty("usage");
});

test("R-OUT-4 R-USAGE-1 error and cancelled outcomes have telemetry and provenance too", async () => {
  house.provider.on(MAIN, errorScript(400, {}, "{}"));
  const failed = v.parse(outcomeSchema, await objectOf(await post(`${runs}?wait=20`, startBody())));
  expect(failed).toMatchObject({ outcome: "error", partialText: "", telemetry: { providerUsed: "main" } });
  house.provider.on(MAIN, answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }));
  const reader = await follow(runs, { body: startBody() });
  const { runId } = reader;
  await reader.until(({ type }) => type === "content_delta");
  const cancelled = v.parse(outcomeSchema, await objectOf(await post(`${runs}/${runId}/cancel`, { reason: "enough" })));
  expect(cancelled).toMatchObject({ outcome: "cancelled", reason: "enough", telemetry: { providerUsed: "main" } });
  for (const outcome of [failed, cancelled]) {
    expect(outcome.provenance?.attemptedProviderIds).toEqual(["main"]);
    expect(outcome).not.toHaveProperty("finishReason");
  }
  expect(failed).not.toHaveProperty("usage");
  // Cut off in the middle of its answer, before the provider has counted.
  expect(cancelled.usage).toMatchObject({ estimated: true, outputTokens: 1 });
});
