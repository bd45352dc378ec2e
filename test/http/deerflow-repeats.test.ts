// Starts of the DeerFlow family that a client repeats with its key: one run, however it is read, and no other.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, inOrder, MODEL, says, toolPath } from "../support/agent-house.ts";
import {
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

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({ attachWaitMs: 0 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const keyed = (key: string, path: string, body: Json, headers: Record<string, string> = {}): Promise<Response> =>
  house.call("POST", path, body, { ...headers, "idempotency-key": key });
const runsOf = async (threadId: string): Promise<Json[]> =>
  listOf(await house.call("GET", `/threads/${threadId}/runs`));
const placeOf = ({ headers }: Response): string | null => headers.get("content-location");
const TAKEN = [409, "This Idempotency-Key started a run with another body or in another thread"];

test("R-DFH-27 a start in a thread with the same key and body is the same run, in whatever way it is read", async () => {
  const id = await house.thread();
  const key = newThreadId();
  house.provider.on(MODEL, says("Hello."));
  const path = `/threads/${id}/runs`;
  const first = await keyed(key, `${path}/stream`, saying("Hi", { metadata: { a: 1, b: 2 } }));
  const run = await runOf(first);
  expect(textsOf(run.values)).toEqual(["Hi", "Hello."]);
  const again = await keyed(key, `${path}/stream`, { metadata: { b: 2, a: 1 }, ...saying("Hi") });
  expect(placeOf(again)).toBe(placeOf(first));
  expect((await runOf(again)).frames).toEqual(run.frames);
  expect(textsOf(await jsonOf(await keyed(key, `${path}/wait`, saying("Hi", { metadata: { a: 1, b: 2 } }))))).toEqual([
    "Hi",
    "Hello.",
  ]);
  const told = await jsonOf(await keyed(key, path, saying("Hi", { metadata: { a: 1, b: 2 } })));
  expect(told).toMatchObject({ run_id: run.runId, status: "success" });
  expect(house.provider.calls(MODEL)).toHaveLength(1);
  expect(await runsOf(id)).toHaveLength(1);
  expect(await refusalOf(await keyed(key, path, saying("Bye")))).toEqual(TAKEN);
  const other = await house.thread();
  expect(await refusalOf(await keyed(key, `/threads/${other}/runs/stream`, saying("Hi")))).toEqual(TAKEN);
  expect([await runsOf(id), await runsOf(other)].map(({ length }) => length)).toEqual([1, 0]);
});

test("R-DFH-27 without a thread in its path a repeat has the thread of the first", async () => {
  house.provider.on(MODEL, says("Hello."));
  for (const config of [undefined, { configurable: { thread_id: newThreadId() } }]) {
    const key = newThreadId();
    const body = saying("Hi", { ...(config !== undefined && { config }) });
    const first = await keyed(key, "/runs/stream", body);
    const run = await runOf(first);
    const waited = await keyed(key, "/runs/wait", body);
    expect(placeOf(waited)).toBe(placeOf(first));
    expect(textsOf(await jsonOf(waited))).toEqual(["Hi", "Hello."]);
    const told = await jsonOf(await keyed(key, "/runs", body));
    expect(told["run_id"]).toBe(run.runId);
    expect(await runsOf(String(told["thread_id"]))).toHaveLength(1);
    expect(await refusalOf(await keyed(key, "/runs/wait", saying("Bye")))).toEqual(TAKEN);
  }
  expect(house.provider.calls(MODEL)).toHaveLength(2);
});

test("R-DFH-27 of many starts at once with one key one run comes", async () => {
  house.provider.on(MODEL, says("Hello."));
  const [key, id] = [newThreadId(), await house.thread()];
  for (const path of ["/runs/wait", `/threads/${id}/runs/wait`]) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => keyed(`${key}${path}`, path, saying("Hi"))));
    expect(new Set(answers.map(placeOf)).size).toBe(1);
    for (const answer of answers) expect(textsOf(await jsonOf(answer))).toEqual(["Hi", "Hello."]);
  }
  expect(house.provider.calls(MODEL)).toHaveLength(2);
});

test("R-DFH-27 a repeat that streams goes on after the frame that was seen last; a new run begins at its beginning", async () => {
  const id = await house.thread();
  const path = `/threads/${id}/runs/stream`;
  const key = newThreadId();
  house.provider.on(MODEL, says("Hello."));
  const seen = { "last-event-id": "3-0" };
  const unkeyed = await runOf(await house.call("POST", path, saying("Hi"), seen));
  expect(unkeyed.frames[0]?.event).toBe("metadata");
  const { frames } = await runOf(await keyed(key, path, saying("Hi")));
  const last = frames.findIndex(({ event }) => event === "values");
  const again = await runOf(await keyed(key, path, saying("Hi"), { "last-event-id": frames[last]?.id ?? "" }));
  expect(again.frames).toEqual(frames.slice(last + 1));
});

test("R-DFH-27 what goes on from a waiting run goes on once, also when it is asked twice at once", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["w", "wipe"]]), says("Wiped.")));
  house.provider.on(toolPath("wipe"), gives("gone"));
  await house.run(id);
  const body = { input: null, command: { resume: { decisions: [{ toolCallId: "w", decision: "approve" }] } } };
  const key = newThreadId();
  const path = `/threads/${id}/runs/wait`;
  const answers = await Promise.all([keyed(key, path, body), keyed(key, path, body)]);
  answers.push(await keyed(key, path, body));
  expect(new Set(answers.map(runIdOf)).size).toBe(1);
  for (const answer of answers) expect(textsOf(await jsonOf(answer))).toEqual(["Hi", "", "gone", "Wiped."]);
  expect(house.provider.calls(toolPath("wipe"))).toHaveLength(1);
});

test("R-DFH-27 a key that is none is refused, and starts nothing", async () => {
  const id = await house.thread();
  for (const key of ["", "a b", "x".repeat(256)]) {
    const [status, detail] = await refusalOf(await keyed(key, `/threads/${id}/runs`, saying("Hi")));
    expect(status).toBe(422);
    expect(detail).toMatchObject([{ type: "string_pattern_mismatch", loc: ["header", "idempotency-key"], input: key }]);
  }
  expect(await runsOf(id)).toEqual([]);
});
