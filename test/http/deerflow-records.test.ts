// What the DeerFlow family tells of a thread's records over HTTP, what its users think of them, and what producers push.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, inOrder, MODEL, says, toolPath } from "../support/agent-house.ts";
import {
  jsonOf,
  listOf,
  newThreadId,
  openDeerHouse,
  refusalOf,
  runOf,
  saying,
  textsOf,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";
import { until } from "./house.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({ attachWaitMs: 0 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const list = async (path: string): Promise<Json[]> => listOf(await house.call("GET", path));
const refused = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> =>
  refusalOf(await house.call(method, path, body));

/** A thread with two runs, the first of which has called a tool. */
async function talk(): Promise<{ id: string; first: string; second: string }> {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("", [["a", "clock"]]), says("Noon."), says("Bye.")));
  house.provider.on(toolPath("clock"), gives("12:00"));
  const { runId: first } = await house.run(id, saying("What time is it?"));
  const { runId: second } = await house.run(id, saying("Bye"));
  return { id, first, second };
}

test("R-DFH-19 messages are told with envelope and feedback, in order, and beside a cursor", async () => {
  const { id, first, second } = await talk();
  await house.call("PUT", `/threads/${id}/runs/${second}/feedback`, { rating: -1, comment: "Too short." });
  const rows = await list(`/threads/${id}/messages`);
  expect(rows.map(({ event_type: type }) => type)).toEqual([
    "llm.human.input",
    "llm.ai.response",
    "llm.tool.result",
    "llm.ai.response",
    "llm.human.input",
    "llm.ai.response",
  ]);
  expect(rows[0]).toEqual({
    thread_id: id,
    run_id: first,
    seq: expect.any(Number),
    event_type: "llm.human.input",
    category: "message",
    content: expect.objectContaining({ type: "human", content: "What time is it?" }),
    metadata: expect.objectContaining({ caller: "lead_agent" }),
    created_at: expect.stringMatching(TIME),
    user_id: null,
    feedback: null,
  });
  expect(rows.at(-1)?.["feedback"]).toEqual({
    feedback_id: expect.any(String),
    rating: -1,
    comment: "Too short.",
  });
  const numbers = rows.map(({ seq }) => Number(seq));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  const seqs = async (query: string): Promise<unknown[]> =>
    (await list(`/threads/${id}/messages?${query}`)).map(({ seq }) => seq);
  expect(await seqs("limit=2")).toEqual(numbers.slice(-2));
  expect(await seqs(`limit=2&before_seq=${numbers[4]}`)).toEqual(numbers.slice(2, 4));
  expect(await seqs(`limit=2&after_seq=${numbers[0]}`)).toEqual(numbers.slice(1, 3));
  expect(await seqs(`after_seq=${numbers[0]}&before_seq=${numbers[3]}`)).toEqual(numbers.slice(1, 3));
});

test("R-DFH-19 pages go backwards to the first message and lose none; a run's messages have no feedback", async () => {
  const { id, first, second } = await talk();
  const all = await list(`/threads/${id}/messages`);
  const paged: Json[] = [];
  for (let query = "limit=2"; query !== "";) {
    const page = await get(`/threads/${id}/messages/page?${query}`);
    const data: Json[] = Object(page).data;
    paged.unshift(...data);
    const { next_before_seq: next } = page;
    expect([page["has_more"], next]).toEqual(next === null ? [false, null] : [true, data[0]?.["seq"]]);
    query = typeof next === "number" ? `limit=2&before_seq=${next}` : "";
  }
  expect(paged.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq));
  const own = await get(`/threads/${id}/runs/${first}/messages?limit=3`);
  expect(own["has_more"]).toBe(true);
  const data: Json[] = Object(own).data;
  expect(data.map(({ seq }) => seq)).toEqual(all.slice(1, 4).map(({ seq }) => seq));
  expect(data.some((row) => "feedback" in row)).toBe(false);
  expect(Object(data.at(-1)?.["content"]).additional_kwargs).toHaveProperty("turn_duration");
  expect(Object(await get(`/threads/${id}/runs/${second}/messages`)).data).toHaveLength(2);
});

test("R-DFH-19 a run's events are told with all categories, and by their types", async () => {
  const { id, first } = await talk();
  const events = await list(`/threads/${id}/runs/${first}/events`);
  const types = events.map(({ event_type: type }) => type);
  expect(types[0]).toBe("run.start");
  expect(types.at(-1)).toBe("run.terminal");
  expect(types).toContain("tool.intent");
  expect(types).toContain("run.end");
  const ofTypes = await list(`/threads/${id}/runs/${first}/events?event_types=run.start,run.terminal`);
  expect(ofTypes.map(({ event_type: type }) => type)).toEqual(["run.start", "run.terminal"]);
  const after = await list(`/threads/${id}/runs/${first}/events?limit=2&after_seq=${String(events[1]?.["seq"])}`);
  expect(after).toEqual(events.slice(2, 4));
});

test("R-DFH-19 what runs used is summed by thread, model and caller; a run without changes says so", async () => {
  const { id, first, second } = await talk();
  const usage = await get(`/threads/${id}/token-usage`);
  const runs = await list(`/threads/${id}/runs`);
  expect(usage).toMatchObject({
    thread_id: id,
    total_runs: 2,
    // Estimated: the provider reports no usage.
    context_usage: { token_count: expect.any(Number), max_context_tokens: 128_000, percentage: 0.2 },
  });
  const total = runs.reduce((sum, run) => sum + Number(run["total_tokens"]), 0);
  expect(usage["total_tokens"]).toBe(total);
  expect(usage["by_caller"]).toEqual({ lead_agent: total, subagent: 0, middleware: 0 });
  expect(runs.map(({ run_id: run, llm_call_count: calls }) => [run, calls])).toEqual([
    [second, 1],
    [first, 2],
  ]);
  expect(await get(`/threads/${id}/runs/${first}/workspace-changes`)).toEqual({
    available: false,
    version: 1,
    summary: { created: 0, modified: 0, deleted: 0, symlink_created: 0, additions: 0, deletions: 0, truncated: false },
    files: [],
    limits: {},
  });
});

test("R-DFH-19 what is asked of a run that the thread does not have is a 404 that names it", async () => {
  const { first } = await talk();
  const id = await house.thread();
  for (const run of ["nobody", first]) {
    const absent = `Run ${run} not found`;
    for (const path of ["/messages", "/events", "/workspace-changes", "/join", "/stream"]) {
      expect(await refused("GET", `/threads/${id}/runs/${run}${path}`)).toEqual([404, absent]);
    }
    // Of feedback the words tell a run that is elsewhere from one that is nowhere.
    for (const path of ["/feedback", "/feedback/stats"]) {
      const words = run === first ? `${absent} in thread ${id}` : absent;
      expect(await refused("GET", `/threads/${id}/runs/${run}${path}`)).toEqual([404, words]);
    }
  }
});

test("R-DFH-20 feedback is kept, replaced, added, counted and deleted", async () => {
  const { id, first, second } = await talk();
  const path = `/threads/${id}/runs/${first}/feedback`;
  const kept = await jsonOf(await house.call("PUT", path, { rating: 1 }));
  expect(kept).toEqual({
    feedback_id: expect.any(String),
    run_id: first,
    thread_id: id,
    user_id: null,
    message_id: null,
    rating: 1,
    comment: null,
    created_at: expect.stringMatching(TIME),
  });
  const replaced = await jsonOf(await house.call("PUT", path, { rating: -1, comment: "No." }));
  expect(replaced).toMatchObject({ rating: -1, comment: "No." });
  const added = await jsonOf(await house.call("POST", path, { rating: 1, message_id: "m" }));
  expect(added).toMatchObject({ rating: 1, message_id: "m" });
  expect(await list(path)).toHaveLength(2);
  expect(await get(`${path}/stats`)).toEqual({ run_id: first, total: 2, positive: 1, negative: 1 });
  const other = String(added["feedback_id"]);
  expect(await refused("DELETE", `/threads/${id}/runs/${second}/feedback/${other}`)).toEqual([
    404,
    `Feedback ${other} not found in run ${second}`,
  ]);
  expect(await jsonOf(await house.call("DELETE", `${path}/${other}`))).toEqual({ success: true });
  expect(await refused("DELETE", `${path}/${other}`)).toEqual([404, `Feedback ${other} not found`]);
  expect(await jsonOf(await house.call("DELETE", path))).toEqual({ success: true });
  expect(await refused("DELETE", path)).toEqual([404, "No feedback found for this run"]);
  const elsewhere = await house.thread();
  expect(await refused("PUT", `/threads/${elsewhere}/runs/${first}/feedback`, { rating: 1 })).toEqual([
    404,
    `Run ${first} not found in thread ${elsewhere}`,
  ]);
  for (const rating of [0, 2]) {
    expect(await refused("PUT", path, { rating })).toEqual([400, "rating must be +1 or -1"]);
  }
  expect(await refused("POST", path, { rating: "good" })).toEqual([
    422,
    [{ type: "int_type", loc: ["body", "rating"], msg: "Input should be a valid integer", input: "good" }],
  ]);
});

const record = (type: string, category: string, content: unknown, metadata: Json = {}): Json => ({
  event_type: type,
  category,
  content,
  metadata,
});
const started = record("run.start", "trace", { chain: null }, { caller: "lead_agent" });
const asked = record("llm.human.input", "message", { type: "human", content: "Hi" }, { caller: "lead_agent" });

test("R-DFH-21 R-PUSH-4 a record's time is told as it was pushed, to the microsecond and in UTC", async () => {
  const id = newThreadId();
  const path = `/threads/${id}/runs/pushed/events`;
  const records = ["2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.999999999+01:00", "9999-12-31T23:59:59.9Z"].map(
    (created_at) => ({ ...asked, created_at }),
  );
  await house.call("POST", path, { sequence: 0, records, if_not_exists: "create" });
  expect((await list(`/threads/${id}/runs/pushed/events`)).map(({ created_at: time }) => time)).toEqual([
    "2026-01-02T03:04:05.123456+00:00",
    "2026-01-02T02:04:05.999999+00:00",
    "9999-12-31T23:59:59.900000+00:00",
  ]);
});

test("R-DFH-21 records are pushed in order, numbered in the thread, and a repeat is answered alike", async () => {
  const id = newThreadId();
  const path = `/threads/${id}/runs/pushed/events`;
  expect(await refused("POST", path, { sequence: 0, records: [started] })).toEqual([404, `Thread ${id} not found`]);
  const first = { sequence: 0, records: [started, asked], if_not_exists: "create", assistant_id: "mine" };
  const taken = await jsonOf(await house.call("POST", path, first));
  expect(taken).toEqual({ epoch: 0, next: 2, seqs: [expect.any(Number), expect.any(Number)] });
  expect(await jsonOf(await house.call("POST", path, first))).toEqual(taken);
  expect(await get(`/threads/${id}/runs/pushed`)).toMatchObject({ status: "running", assistant_id: "mine" });
  expect(await refused("GET", `/threads/${id}/runs/pushed/stream`)).toEqual([
    409,
    "Run pushed is not active on this worker and cannot be streamed",
  ]);
  expect(await refused("POST", path, { sequence: 5, records: [asked] })).toEqual([
    409,
    { code: "gap", message: expect.any(String), expected: 2 },
  ]);
  for (const place of ["epoch", "sequence"]) {
    expect(await refused("POST", path, { sequence: 2, records: [asked], [place]: 2 ** 53 })).toEqual([
      422,
      [expect.objectContaining({ type: "less_than_equal", loc: ["body", place], ctx: { le: 2 ** 53 - 1 } })],
    ]);
  }
  await jsonOf(await house.call("POST", path, { epoch: 1, sequence: 0, records: [] }));
  expect(await refused("POST", path, { sequence: 2, records: [asked] })).toEqual([
    409,
    { code: "fenced", message: expect.any(String), epoch: 1 },
  ]);
  await jsonOf(await house.call("POST", path, { epoch: 1, sequence: 0, end: { status: "success" } }));
  expect(await get(`/threads/${id}/runs/pushed`)).toMatchObject({ status: "success" });
  expect(await refused("POST", path, { epoch: 1, sequence: 0, records: [asked] })).toEqual([
    409,
    { code: "ended", message: expect.any(String), status: "success" },
  ]);
  expect((await list(`/threads/${id}/messages`)).map(({ seq }) => seq)).toEqual(Object(taken).seqs.slice(1));
});

test("R-DFH-28 a pushed run is none of ours that has its name: it shows nothing of that, and deletes nothing of it", async () => {
  const { id, first } = await talk();
  const { runId: held, leave } = await house.hanging(await house.thread());
  for (const name of [first, held]) {
    const other = newThreadId();
    const path = `/threads/${other}/runs/${name}`;
    const body = { sequence: 0, records: [asked], if_not_exists: "create" };
    await jsonOf(await house.call("POST", `${path}/events`, body));
    expect(await refused("GET", `${path}/stream`)).toEqual([
      409,
      `Run ${name} is not active on this worker and cannot be streamed`,
    ]);
    await jsonOf(await house.call("POST", `${path}/events`, { sequence: 1, end: { status: "success" } }));
    expect((await runOf(await house.call("GET", `${path}/stream`))).frames.map(({ event }) => event)).toEqual(["end"]);
    expect(textsOf(await get(`${path}/join`))).not.toContain("Noon.");
    house.provider.on(MODEL, says("Hello."));
    const { runId: own } = await house.run(other);
    await jsonOf(await house.call("DELETE", `/threads/${other}`));
    await until(async () => (await fetch(`${house.runs}/${own}`)).status === 404, "the thread's own run is forgotten");
  }
  expect(await get(`/threads/${id}/runs/${first}/join`)).toMatchObject({ messages: expect.any(Array) });
  for (const name of [first, held]) expect((await fetch(`${house.runs}/${name}`)).status).toBe(200);
  await leave();
});

test("R-DFH-21 a record that breaks its type is refused by its place, and one of a run that is carried out here", async () => {
  const { id, first } = await talk();
  const [status, detail] = await refused("POST", `/threads/${id}/runs/pushed/events`, {
    sequence: 0,
    records: [asked, { ...asked, category: "trace" }],
  });
  expect(status).toBe(422);
  expect(detail).toEqual([expect.objectContaining({ loc: ["body", "records", 1, "category"] })]);
  expect(await refused("GET", `/threads/${id}/runs/pushed`)).toEqual([404, "Run pushed not found"]);
  expect(await refused("POST", `/threads/${id}/runs/${first}/events`, { sequence: 0, records: [asked] })).toEqual([
    409,
    { code: "not_pushed", message: expect.any(String) },
  ]);
  expect(await refused("POST", `/threads/${id}/runs/a%20b/events`, { sequence: 0, records: [] })).toEqual([
    422,
    [expect.objectContaining({ type: "string_pattern_mismatch", loc: ["path", "run_id"], input: "a b" })],
  ]);
});

test("R-DFH-23 messages and feedback of a run are found by its name alone", async () => {
  const { id, first } = await talk();
  await house.call("PUT", `/threads/${id}/runs/${first}/feedback`, { rating: 1 });
  expect(await get(`/runs/${first}/messages`)).toEqual(await get(`/threads/${id}/runs/${first}/messages`));
  expect(await list(`/runs/${first}/feedback`)).toEqual(await list(`/threads/${id}/runs/${first}/feedback`));
  for (const path of ["messages", "feedback"]) {
    expect(await refused("GET", `/runs/nobody/${path}`)).toEqual([404, "Run nobody not found"]);
    expect(await refused("GET", `/runs/a%20b/${path}`)).toEqual([404, "Run a b not found"]);
  }
});
