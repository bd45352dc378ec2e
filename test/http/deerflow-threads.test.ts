// Threads of the DeerFlow family and their states: made, found, changed, gone through backwards, deleted.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { inOrder, MODEL, says } from "../support/agent-house.ts";
import {
  jsonOf,
  listOf,
  newThreadId,
  openDeerHouse,
  refusalOf,
  saying,
  textsOf,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({ attachWaitMs: 0 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const send = async (path: string, body: Json, method = "POST"): Promise<Json> =>
  jsonOf(await house.call(method, path, body));

test("R-DFH-5 a thread is made once: the same id gives it as it is", async () => {
  const id = newThreadId();
  const made = await send("/threads", { thread_id: id, metadata: { a: 1, owner_id: "me", user_id: "me" } });
  expect(made).toEqual({
    thread_id: id,
    status: "idle",
    created_at: expect.stringMatching(TIME),
    updated_at: made["created_at"],
    metadata: { a: 1 },
    values: {},
    interrupts: {},
  });
  expect(await send("/threads", { thread_id: id, metadata: { b: 2 } })).toEqual(made);
  expect(await get(`/threads/${id}`)).toEqual(made);
  const named = await send("/threads", {});
  expect(named["thread_id"]).toMatch(/^[0-9a-f-]{36}$/);
});

test("R-DFH-5 metadata is merged key by key; to pin a thread does not move it", async () => {
  const id = await house.thread({ metadata: { a: 1, b: { c: 2 } } });
  const { updated_at: before } = await get(`/threads/${id}`);
  const pinned = await send(`/threads/${id}`, { metadata: { deerflow_pinned: true } }, "PATCH");
  expect([pinned["updated_at"], pinned["values"]]).toEqual([before, {}]);
  const patched = await send(`/threads/${id}`, { metadata: { a: 3, b: null, user_id: "x" } }, "PATCH");
  expect(patched["metadata"]).toEqual({ a: 3, b: null, deerflow_pinned: true });
  expect(String(patched["updated_at"]) >= String(before)).toBe(true);
});

test("R-DFH-5 R-DFH-6 keys of metadata that mean something to JavaScript are keys like any other", async () => {
  const odd = JSON.parse('{"__proto__": 1, "constructor": "mine", "prototype": true}');
  const id = await house.thread({ metadata: odd });
  expect(JSON.stringify((await get(`/threads/${id}`))["metadata"])).toBe(JSON.stringify(odd));
  const patch = JSON.parse('{"__proto__": 2}');
  const patched = await send(`/threads/${id}`, { metadata: patch }, "PATCH");
  expect(JSON.stringify(patched["metadata"])).toBe(JSON.stringify({ ...odd, ...patch }));
  const search = async (metadata: Json): Promise<unknown[]> =>
    (await listOf(await house.call("POST", "/threads/search", { metadata }))).map((thread) => thread["thread_id"]);
  await expect.poll(() => search(patch)).toEqual([id]);
  expect(await search({ constructor: "none such" })).toEqual([]);
});

test("R-DFH-5 what is asked of a thread that is not there is a 404 that names it", async () => {
  const id = newThreadId();
  for (const [method, path, body] of [
    ["GET", ""],
    ["PATCH", "", { metadata: {} }],
    ["DELETE", ""],
    ["GET", "/state"],
    ["POST", "/state", { values: {} }],
    ["POST", "/history", {}],
    ["POST", "/runs", saying("Hi")],
    ["POST", "/runs/stream", saying("Hi")],
    ["POST", "/runs/wait", saying("Hi")],
    ["GET", "/runs"],
    ["GET", "/messages"],
    ["GET", "/messages/page"],
    ["GET", "/token-usage"],
  ] as const) {
    expect(await refusalOf(await house.call(method, `/threads/${id}${path}`, body))).toEqual([
      404,
      `Thread ${id} not found`,
    ]);
  }
});

test("R-DFH-6 threads are found by exact metadata and status, pinned ones first, then the last changed", async () => {
  const mark = newThreadId();
  const ids: string[] = [];
  for (const number of [1, 2, 3]) ids.push(await house.thread({ metadata: { mark, number, even: number % 2 === 0 } }));
  await send(`/threads/${ids[0]}`, { metadata: { deerflow_pinned: true } }, "PATCH");
  const search = async (fields: Json): Promise<unknown[]> =>
    (await listOf(await house.call("POST", "/threads/search", fields))).map(({ thread_id: id }) => id);
  await expect.poll(() => search({ metadata: { mark } })).toEqual([ids[0], ids[2], ids[1]]);
  expect(await search({ metadata: { mark, even: false } })).toEqual([ids[0], ids[2]]);
  expect(await search({ metadata: { mark, number: "1" } })).toEqual([]);
  expect(await search({ metadata: { mark }, limit: 1, offset: 1 })).toEqual([ids[2]]);
  expect(await search({ metadata: { mark }, status: "busy" })).toEqual([]);
  expect(await search({ metadata: { mark }, sort_by: "thread_id", select: ["thread_id"] })).toHaveLength(3);
  const [first] = await listOf(await house.call("POST", "/threads/search", { metadata: { mark }, limit: 1 }));
  expect(first).toMatchObject({ status: "idle", values: {}, interrupts: {} });
  const error = "Invalid metadata filter entries: 'a b' (unsafe key), 'c' (unsupported value type)";
  expect(await refusalOf(await house.call("POST", "/threads/search", { metadata: { "a b": 1, c: [] } }))).toEqual([
    422,
    [
      {
        type: "value_error",
        loc: ["body", "metadata"],
        msg: `Value error, ${error}`,
        input: { "a b": 1, c: [] },
        ctx: { error },
      },
    ],
  ]);
});

test("R-DFH-7 a thread is deleted with all that it keeps; the numbers of its records are not used again", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two.")));
  const first = await house.run(id);
  const numbers = async (): Promise<number[]> =>
    (await listOf(await house.call("GET", `/threads/${id}/messages`))).map(({ seq }) => Number(seq));
  const before = await numbers();
  expect(before.length).toBeGreaterThan(0);
  expect(await jsonOf(await house.call("DELETE", `/threads/${id}`))).toEqual({
    success: true,
    message: `Deleted local thread data for ${id}`,
  });
  expect((await house.call("GET", `/threads/${id}`)).status).toBe(404);
  expect((await house.call("DELETE", `/threads/${id}`)).status).toBe(404);
  await send("/threads", { thread_id: id });
  expect(await numbers()).toEqual([]);
  const second = await house.run(id);
  expect(textsOf(second.values)).toEqual(["Hi", "Two."]);
  expect(Math.min(...(await numbers()))).toBeGreaterThan(Math.max(...before));
  expect(second.runId).not.toBe(first.runId);
});

test("R-DFH-8 a state is told with its checkpoint in both forms; before the first run it is empty", async () => {
  const id = await house.thread();
  expect(await get(`/threads/${id}/state`)).toEqual({
    values: {},
    next: [],
    metadata: {},
    checkpoint: null,
    checkpoint_id: null,
    parent_checkpoint: null,
    parent_checkpoint_id: null,
    created_at: null,
    tasks: [],
  });
  house.provider.on(MODEL, says("Hello."));
  await house.run(id);
  const state = await get(`/threads/${id}/state`);
  const { checkpoint_id: checkpointId, parent_checkpoint_id: parent } = state;
  expect(textsOf(Object(state["values"]))).toEqual(["Hi", "Hello."]);
  expect(state).toMatchObject({
    next: [],
    tasks: [],
    created_at: expect.stringMatching(TIME),
    metadata: { source: expect.any(String), step: expect.any(Number) },
    checkpoint: {
      id: checkpointId,
      ts: state["created_at"],
      thread_id: id,
      checkpoint_ns: "",
      checkpoint_id: checkpointId,
      checkpoint_map: null,
    },
    parent_checkpoint: { thread_id: id, checkpoint_ns: "", checkpoint_id: parent, checkpoint_map: null },
  });
  expect(textsOf(Object((await get(`/threads/${id}`))["values"]))).toEqual(["Hi", "Hello."]);
  const earlier = await get(`/threads/${id}/state/${String(parent)}`);
  expect(earlier["checkpoint_id"]).toBe(parent);
  expect(textsOf(Object(earlier["values"]))).toEqual(["Hi"]);
  expect(await send(`/threads/${id}/state/checkpoint`, { checkpoint: { checkpoint_id: parent } })).toEqual(earlier);
  expect(await refusalOf(await house.call("GET", `/threads/${id}/state/nobody`))).toEqual([
    404,
    "Checkpoint nobody not found",
  ]);
});

test("R-DFH-8 a client changes the state: messages by the reducer's rules, the title, from any checkpoint", async () => {
  const id = await house.thread();
  const first = await send(`/threads/${id}/state`, {
    values: {
      title: "Named",
      messages: [
        { role: "user", content: "Hi", id: "m1" },
        { type: "ai", content: "Yes?" },
      ],
    },
  });
  expect(textsOf(Object(first["values"]))).toEqual(["Hi", "Yes?"]);
  expect(first["checkpoint"]).toMatchObject({ checkpoint_id: first["checkpoint_id"], thread_id: id });
  const second = await send(`/threads/${id}/state`, {
    values: { messages: { type: "human", content: "Hello", id: "m1" } },
    checkpoint_id: first["checkpoint_id"],
    as_node: "client",
  });
  expect(textsOf(Object(second["values"]))).toEqual(["Hello", "Yes?"]);
  expect(second["parent_checkpoint_id"]).toBe(first["checkpoint_id"]);
  const state = await get(`/threads/${id}/state`);
  expect(state["values"]).toEqual(second["values"]);
  expect(Object(state["values"]).title).toBe("Named");
  const refused = async (body: Json) => refusalOf(await house.call("POST", `/threads/${id}/state`, body));
  expect(await refused({ values: { other: 1, more: 2 } })).toEqual([422, "Unknown thread-state field(s): other, more"]);
  expect(await refused({ values: {}, checkpoint_id: "nobody" })).toEqual([404, "Checkpoint nobody not found"]);
  const mismatch = [400, "checkpoint thread_id does not match request thread_id"];
  const elsewhere = { ...Object(first["checkpoint"]), thread_id: "another" };
  expect(await refused({ values: {}, checkpoint: elsewhere })).toEqual(mismatch);
  for (const [path, body] of [
    ["state/checkpoint", { checkpoint: elsewhere }],
    ["history", { before: elsewhere }],
    ["history", { before: { configurable: elsewhere } }],
  ] as const) {
    expect(await refusalOf(await house.call("POST", `/threads/${id}/${path}`, body))).toEqual(mismatch);
  }
  expect((await refused({ values: { messages: [{ type: "remove", id: "nobody" }] } }))[0]).toBe(400);
});

test("R-DFH-9 the history is told newest first; only the newest entry has messages, with their runs", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two.")));
  const first = await house.run(id);
  const second = await house.run(id, saying("And?", { metadata: { mine: 1 } }));
  await send(`/threads/${id}/state`, { values: {}, as_node: "client" });
  const all = await listOf(await house.call("POST", `/threads/${id}/history`, { limit: 100 }));
  const ids = all.map(({ checkpoint_id: checkpoint }) => checkpoint);
  expect(all.length).toBeGreaterThanOrEqual(4);
  expect(all[0]?.["metadata"]).toEqual({ step: expect.any(Number) });
  expect(all[1]?.["metadata"]).toEqual({ step: expect.any(Number), mine: 1 });
  expect(all.slice(0, -1).map(({ parent_checkpoint_id: parent }) => parent)).toEqual(ids.slice(1));
  expect(all.map(({ values }) => "messages" in Object(values))).toEqual(all.map((_, index) => index === 0));
  const messages: Json[] = Object(all[0]?.["values"]).messages;
  expect(messages.map(({ content, run_id: run }) => [content, run])).toEqual([
    ["Hi", first.runId],
    ["One.", first.runId],
    ["And?", second.runId],
    ["Two.", second.runId],
  ]);
  expect(messages.map(({ additional_kwargs: more }) => "turn_duration" in Object(more))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  for (const before of [ids[1], { checkpoint_id: ids[1] }, { configurable: { checkpoint_id: ids[1] } }]) {
    const rest = await listOf(await house.call("POST", `/threads/${id}/history`, { before }));
    expect(rest.map(({ checkpoint_id: checkpoint }) => checkpoint)).toEqual(ids.slice(2));
  }
  expect(await listOf(await house.call("POST", `/threads/${id}/history`, { limit: 1 }))).toEqual([all[0]]);
});

test("R-DFH-24 the default agent is always there and first; every route is an agent too", async () => {
  const all = await listOf(await house.call("POST", "/assistants/search", { limit: 100 }));
  expect(all[0]).toMatchObject({
    assistant_id: "lead_agent",
    graph_id: "lead_agent",
    name: "lead_agent",
    config: {},
    metadata: { created_by: "system" },
    description: "DeerFlow lead agent",
    version: 1,
  });
  expect(all.find(({ assistant_id: id }) => id === "default")).toMatchObject({
    graph_id: "lead_agent",
    metadata: { created_by: "user" },
  });
  const names = async (body: Json) =>
    (await listOf(await house.call("POST", "/assistants/search", body))).map(({ name }) => name);
  expect(await names({ name: "LEAD" })).toEqual(["lead_agent"]);
  expect(await names({ graph_id: "other" })).toEqual([]);
  expect(await names({ metadata: { created_by: "system" } })).toEqual(["lead_agent"]);
  expect(await names({ limit: 1, offset: 1 })).toEqual([all[1]?.["name"]]);
  expect(await get("/assistants/lead_agent")).toEqual(all[0]);
  expect(await get("/assistants/lead_agent/graph")).toEqual({ graph_id: "lead_agent", nodes: [], edges: [] });
  expect(await get("/assistants/lead_agent/schemas")).toMatchObject({ graph_id: "lead_agent", input_schema: {} });
  for (const path of ["", "/graph", "/schemas"]) {
    expect(await refusalOf(await house.call("GET", `/assistants/nobody${path}`))).toEqual([
      404,
      "Assistant nobody not found",
    ]);
  }
});
