// What the DeerFlow family says where a limit is reached: a run whose events are gone, a full thread, a tenant with all of its runs active.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { MODEL, says } from "../support/agent-house.ts";
import {
  events,
  jsonOf,
  listOf,
  newThreadId,
  openDeerHouse,
  refusalOf,
  runIdOf,
  runOf,
  saying,
  textsOf,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { until } from "./house.ts";

/** As short as a configuration may say. */
const EVENTS_MS = 1000;
/** Long enough to see a run in between on a slow machine. */
const OUTCOME_MS = 6000;
/** A thread may use no less; the tables of one that is empty take a part of it. */
const MAX_THREAD = 1024 * 1024;

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({
    retentionEventsMs: EVENTS_MS,
    retentionOutcomeMs: OUTCOME_MS,
    maxThreadBytes: MAX_THREAD,
    maxActiveRuns: 1,
    maxBodyBytes: 4 * MAX_THREAD,
    maxPromptBytes: 4 * MAX_THREAD,
    attachWaitMs: 0,
  });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const refused = async (path: string, body: unknown): Promise<[number, unknown]> =>
  refusalOf(await house.call("POST", path, body));

const FULL = [413, "The thread has reached its storage limit"];
const large = "x".repeat(MAX_THREAD);

/** All that a thread tells of itself. */
const kept = async (id: string): Promise<unknown> => [
  await get(`/threads/${id}`),
  await get(`/threads/${id}/state`),
  await listOf(await house.call("GET", `/threads/${id}/runs`)),
  await listOf(await house.call("GET", `/threads/${id}/messages`)),
];

test("R-DFH-15 a run whose events are no longer kept has a lone end, and is told as before in all else", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const { runId, values } = await house.run(id);
  const path = `/threads/${id}/runs/${runId}`;
  const before = await get(path);
  await until(async () => (await fetch(`${house.runs}/${runId}/events`)).status === 410, "the events are gone");
  for (const [method, cursor] of [
    ["GET", undefined],
    ["GET", "-1"],
    ["POST", "3-0"],
  ] as const) {
    const headers: Record<string, string> = cursor === undefined ? {} : { "last-event-id": cursor };
    const { frames, headers: answered } = await runOf(await house.call(method, `${path}/stream`, undefined, headers));
    expect(frames.map(({ event, data, id: frame }) => [event, data, frame])).toEqual([["end", "null", undefined]]);
    expect(answered.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(answered.get("content-location")).toBe(`/api${path}`);
  }
  const joined = await house.call("GET", `${path}/join`, undefined, { accept: "text/event-stream" });
  expect(events((await runOf(joined)).frames)).toEqual(["end"]);
  expect(textsOf(await get(`${path}/join`))).toEqual(textsOf(values));
  expect(await get(path)).toEqual(before);
  expect(Object(await get(`${path}/messages`)).data).toHaveLength(2);
});

test("R-DFH-23 a run that is forgotten is found by its thread's paths, and no more by its name alone", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const { runId, values } = await house.run(id);
  const path = `/threads/${id}/runs/${runId}`;
  await jsonOf(await house.call("PUT", `${path}/feedback`, { rating: 1 }));
  const told = await get(`${path}/messages`);
  expect(await get(`/runs/${runId}/messages`)).toEqual(told);
  await until(async () => (await fetch(`${house.runs}/${runId}`)).status === 404, "the run is forgotten", 20_000);
  for (const one of ["messages", "feedback"]) {
    expect(await refusalOf(await house.call("GET", `/runs/${runId}/${one}`))).toEqual([404, `Run ${runId} not found`]);
  }
  expect(await get(`${path}/messages`)).toEqual(told);
  expect(await listOf(await house.call("GET", `${path}/feedback`))).toHaveLength(1);
  expect(textsOf(await get(`${path}/join`))).toEqual(textsOf(values));
  expect(events((await runOf(await house.call("GET", `${path}/stream`))).frames)).toEqual(["end"]);
});

test("R-DFH-18 what waits is answered as long as the run's outcome is kept; afterwards a message goes on", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("", [["w", "wipe"]]));
  const { runId } = await house.run(id);
  await until(async () => (await fetch(`${house.runs}/${runId}`)).status === 404, "the run is forgotten", 20_000);
  const resume = { decisions: [{ toolCallId: "w", decision: "approve" }] };
  expect(await refused(`/threads/${id}/runs`, { input: null, command: { resume } })).toEqual([
    409,
    `Thread ${id} has no interrupted run that can be resumed`,
  ]);
  house.provider.on(MODEL, says("Never mind."));
  const { values } = await house.run(id, saying("Leave it."));
  expect(textsOf(values).at(-1)).toBe("Never mind.");
  expect(await get(`/threads/${id}`)).toMatchObject({ status: "idle", interrupts: {} });
});

test("R-DFH-26 a start that would take a thread over its storage limit is refused, and nothing of it is stored", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  await house.run(id);
  const before = await kept(id);
  const path = `/threads/${id}/runs`;
  const { run_id: ended } = Object((await listOf(await house.call("GET", path)))[0]);
  for (const method of ["PUT", "POST"]) {
    const answered = await house.call(method, `${path}/${ended}/feedback`, { rating: 1, comment: large });
    expect(await refusalOf(answered)).toEqual(FULL);
  }
  expect(await refusalOf(await house.call("PATCH", `/threads/${id}`, { metadata: { large } }))).toEqual(FULL);
  for (const how of ["", "/stream", "/wait"]) expect(await refused(`${path}${how}`, saying(large))).toEqual(FULL);
  expect(await refused(path, saying("Hi", { metadata: { large } }))).toEqual(FULL);
  expect(await refused(`/threads/${id}/state`, { values: { title: large } })).toEqual(FULL);
  expect(await kept(id)).toEqual(before);
  expect(house.provider.calls(MODEL)).toHaveLength(1);
  expect(textsOf((await house.run(id, saying("More"))).values)).toEqual(["Hi", "Hello.", "More", "Hello."]);
  const missing = newThreadId();
  expect(await refused(`/threads/${missing}/runs`, saying(large, { if_not_exists: "create" }))).toEqual(FULL);
  expect(await refused("/runs/wait", saying(large, { config: { configurable: { thread_id: missing } } }))).toEqual(
    FULL,
  );
  expect(await refusalOf(await house.call("GET", `/threads/${missing}`))).toEqual([404, `Thread ${missing} not found`]);
});

test("R-DFH-26 records that would take a thread over its storage limit are refused, and nothing of them is stored", async () => {
  const asked = { event_type: "llm.human.input", category: "message", metadata: { caller: "lead_agent" } };
  const record = (content: string): Json => ({ ...asked, content: { type: "human", content } });
  const id = await house.thread();
  const path = `/threads/${id}/runs/pushed/events`;
  const taken = await jsonOf(await house.call("POST", path, { sequence: 0, records: [record("Hi")] }));
  const before = await kept(id);
  const events = await listOf(await house.call("GET", path));
  expect(await refused(path, { sequence: 1, records: [record("More"), record(large)] })).toEqual(FULL);
  expect(await kept(id)).toEqual(before);
  expect(await listOf(await house.call("GET", path))).toEqual(events);
  expect(await jsonOf(await house.call("POST", path, { sequence: 0, records: [record("Hi")] }))).toEqual(taken);
  const fresh = `/threads/${newThreadId()}`;
  const first = { sequence: 0, records: [record(large)], if_not_exists: "create" };
  expect(await refused(`${fresh}/runs/pushed/events`, first)).toEqual(FULL);
  expect((await house.call("GET", fresh)).status).toBe(404);
});

test("R-DFH-26 a tenant with all of its runs active is told to come again, and its thread is as it was", async () => {
  const held = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), {
    gateBefore: { index: 2, name: "on" },
  });
  house.provider.on(MODEL, held);
  const path = `/threads/${await house.thread()}/runs`;
  const key = { "idempotency-key": newThreadId() };
  const first = await house.call("POST", `${path}/stream`, saying("Hi"), key);
  await house.provider.reached("on");
  const id = await house.thread();
  const before = await kept(id);
  for (const how of ["", "/stream", "/wait"]) {
    const answer = await house.call("POST", `/threads/${id}/runs${how}`, saying("Hi"));
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await refusalOf(answer)).toEqual([429, "Too many active runs"]);
  }
  expect(await kept(id)).toEqual(before);
  const missing = newThreadId();
  const config = { configurable: { thread_id: missing } };
  expect((await refused("/runs/stream", saying("Hi", { config })))[0]).toBe(429);
  expect((await house.call("GET", `/threads/${missing}`)).status).toBe(404);
  const again = await jsonOf(await house.call("POST", path, saying("Hi"), key));
  expect(again).toMatchObject({ run_id: runIdOf(first), status: "running" });
  house.provider.open("on");
  await first.text();
  house.provider.on(MODEL, says("Hello."));
  expect(textsOf((await house.run(id)).values)).toEqual(["Hi", "Hello."]);
});
