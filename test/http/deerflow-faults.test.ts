// What the DeerFlow family refuses, word for word as its clients read it; what is refused leaves nothing behind.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  callDeer,
  jsonOf,
  listOf,
  newThreadId,
  openDeerHouse,
  refusalOf,
  saying,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import { exchange } from "./house.ts";

const KEY = "key-of-a-41b6";
const OTHER_KEY = "key-of-b-77aa";
const hash = (key: string): string => createHash("sha256").update(key).digest("hex");
const MAX_BODY = 20_000;
const APP = "https://app.example";
const PATTERN = "^[A-Za-z0-9_-]{1,64}$";

let house: DeerHouse;
let locked: Holdfast;
let threadId: string;

beforeAll(async () => {
  house = await openDeerHouse({ maxBodyBytes: MAX_BODY, attachWaitMs: 0 }, { cors: { origins: [APP] } });
  locked = await startHoldfast({
    config: { targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] }, limits: { attachWaitMs: 0 } },
    vars: { API_KEYS: JSON.stringify({ [hash(KEY)]: "tenant-a", [hash(OTHER_KEY)]: "tenant-b" }) },
  });
  threadId = await house.thread();
});
afterAll(() => Promise.all([house.stop(), locked.stop()]));

const refused = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> =>
  refusalOf(await house.call(method, path, body));

test("R-DFH-1 each path answers below /api, below /api/langgraph and at the root, alike", async () => {
  const { origin } = house.server;
  for (const prefix of ["/api", "/api/langgraph", ""]) {
    const thread = await jsonOf(await fetch(`${origin}${prefix}/threads/${threadId}`));
    expect(thread["thread_id"]).toBe(threadId);
    expect(await refusalOf(await fetch(`${origin}${prefix}/threads/${threadId}/nothing`))).toEqual([404, "Not Found"]);
    const put = await fetch(`${origin}${prefix}/threads`, { method: "PUT" });
    expect([put.headers.get("allow"), ...(await refusalOf(put))]).toEqual(["POST", 405, "Method Not Allowed"]);
  }
  expect(await refusalOf(await fetch(`${origin}/api`))).toEqual([404, "Not Found"]);
  expect(await refusalOf(await fetch(`${origin}/api/skills`))).toEqual([404, "Not Found"]);
});

test("R-DFH-1 pages of configured origins may call with the methods and headers of its clients, and read every answer", async () => {
  const asked = "authorization, x-api-key, x-csrf-token, last-event-id, content-type";
  const { status, headers } = await exchange(house.server.port, `/api/threads/${threadId}`, {
    method: "OPTIONS",
    headers: { origin: APP, "access-control-request-method": "PATCH", "access-control-request-headers": asked },
  });
  expect(status).toBe(204);
  expect(headers["access-control-allow-origin"]).toBe(APP);
  expect(headers["access-control-allow-methods"]).toContain("PATCH");
  expect(headers["access-control-allow-headers"]).toBe(asked);
  const absent = await exchange(house.server.port, "/api/threads/none", { headers: { origin: APP } });
  expect([absent.status, absent.headers["access-control-allow-origin"]]).toEqual([404, APP]);
  expect(absent.headers["access-control-expose-headers"]).toContain("Content-Location");
});

test("R-DFH-2 a key comes in either header; without one, and with one that is not known, the refusal has a word", async () => {
  const base = `${locked.origin}/api`;
  const search = (headers: Record<string, string>) => callDeer(base, "POST", "/threads/search", {}, headers);
  for (const headers of [
    { authorization: `Bearer ${KEY}` },
    { "x-api-key": KEY },
    { "x-api-key": KEY, "x-csrf-token": "any" },
    { authorization: "Basic abc", "x-api-key": KEY },
  ]) {
    expect((await search(headers)).status).toBe(200);
  }
  expect(await refusalOf(await search({}))).toEqual([
    401,
    { code: "not_authenticated", message: "Authentication required" },
  ]);
  const invalid = [401, { code: "token_invalid", message: "The API key is not valid" }];
  for (const headers of [{ authorization: "Bearer nobody" }, { "x-api-key": "nobody" }, { authorization: "Basic x" }]) {
    expect(await refusalOf(await search(headers))).toEqual(invalid);
  }
  const [status] = await refusalOf(await callDeer(base, "POST", "/threads/search?api_key=x", {}));
  expect(status).toBe(400);
});

test("R-DFH-2 a thread of another tenant is not there, whatever is asked of it", async () => {
  const base = `${locked.origin}/api`;
  const mine = { "x-api-key": KEY };
  const theirs = { "x-api-key": OTHER_KEY };
  const id = newThreadId();
  const made = await callDeer(base, "POST", "/threads", { thread_id: id }, mine);
  expect(made.status).toBe(200);
  const asked: [string, string, unknown?][] = [
    ["GET", ""],
    ["PATCH", "", { metadata: {} }],
    ["DELETE", ""],
    ["GET", "/state"],
    ["POST", "/state", { values: {} }],
    ["GET", "/state/1"],
    ["POST", "/state/checkpoint", { checkpoint: { checkpoint_id: "1" } }],
    ["POST", "/history", {}],
    ["POST", "/runs", saying("Hi")],
    ["POST", "/runs/stream", saying("Hi")],
    ["POST", "/runs/wait", saying("Hi")],
    ["GET", "/runs"],
    ["GET", "/runs/r"],
    ["POST", "/runs/r/cancel"],
    ["GET", "/runs/r/join"],
    ["GET", "/runs/r/stream"],
    ["GET", "/runs/r/messages"],
    ["GET", "/runs/r/events"],
    ["POST", "/runs/r/events", { sequence: 0, records: [] }],
    ["GET", "/runs/r/workspace-changes"],
    ["GET", "/runs/r/feedback"],
    ["PUT", "/runs/r/feedback", { rating: 1 }],
    ["POST", "/runs/r/feedback", { rating: 1 }],
    ["DELETE", "/runs/r/feedback"],
    ["GET", "/runs/r/feedback/stats"],
    ["DELETE", "/runs/r/feedback/f"],
    ["GET", "/messages"],
    ["GET", "/messages/page"],
    ["GET", "/token-usage"],
    ["POST", "/runs/regenerate/prepare", { message_id: "m" }],
    ["POST", "/runs/edit-regenerate/prepare", { human_message_id: "m", replacement_text: "x" }],
  ];
  for (const [method, path, body] of asked) {
    const answer = await refusalOf(await callDeer(base, method, `/threads/${id}${path}`, body, theirs));
    expect([method, path, ...answer]).toEqual([method, path, 404, `Thread ${id} not found`]);
  }
  expect(await listOf(await callDeer(base, "POST", "/threads/search", {}, theirs))).toEqual([]);
  expect((await callDeer(base, "GET", `/threads/${id}`, undefined, mine)).status).toBe(200);
});

test("R-DFH-3 a body that is no JSON object is refused with its place", async () => {
  const path = "/threads";
  expect(await refused("POST", path, '{"a": }')).toEqual([
    422,
    [
      {
        type: "json_invalid",
        loc: ["body", 6],
        msg: "JSON decode error",
        input: {},
        ctx: { error: "Expecting value" },
      },
    ],
  ]);
  expect(await refused("POST", path, "{")).toEqual([422, [expect.objectContaining({ loc: ["body", 1] })]]);
  expect(await refused("POST", path, "[1]")).toEqual([
    422,
    [
      {
        type: "model_attributes_type",
        loc: ["body"],
        msg: "Input should be a valid dictionary or object to extract fields from",
        input: [1],
      },
    ],
  ]);
  const nothing = await fetch(`${house.server.origin}/api/threads/${threadId}`, { method: "PATCH" });
  expect(await refusalOf(nothing)).toEqual([
    422,
    [{ type: "missing", loc: ["body"], msg: "Field required", input: null }],
  ]);
  const [tooLarge] = await refused("POST", path, { thread_id: "x".repeat(MAX_BODY) });
  expect(tooLarge).toBe(413);
  const typed = await house.call("POST", path, "{}", { "content-type": "text/plain" });
  expect((await refusalOf(typed))[0]).toBe(415);
});

test.each<[string, string, string, unknown, Json]>([
  [
    "a required field that is missing",
    "POST",
    "/state/checkpoint",
    { other: 1 },
    { type: "missing", loc: ["body", "checkpoint"], msg: "Field required", input: { other: 1 } },
  ],
  [
    "a text that is none",
    "POST",
    "/runs",
    { assistant_id: 5 },
    { type: "string_type", loc: ["body", "assistant_id"], msg: "Input should be a valid string", input: 5 },
  ],
  [
    "an object that is none",
    "POST",
    "/runs",
    { metadata: [] },
    { type: "dict_type", loc: ["body", "metadata"], msg: "Input should be a valid dictionary", input: [] },
  ],
  [
    "a word of none of the words",
    "POST",
    "/runs",
    { on_disconnect: "stay" },
    {
      type: "literal_error",
      loc: ["body", "on_disconnect"],
      msg: "Input should be 'cancel' or 'continue'",
      input: "stay",
      ctx: { expected: "'cancel' or 'continue'" },
    },
  ],
  [
    "a number that is too small",
    "POST",
    "/history",
    { limit: 0 },
    {
      type: "greater_than_equal",
      loc: ["body", "limit"],
      msg: "Input should be greater than or equal to 1",
      input: 0,
      ctx: { ge: 1 },
    },
  ],
  [
    "a number that is too large",
    "POST",
    "/history",
    { limit: 101 },
    {
      type: "less_than_equal",
      loc: ["body", "limit"],
      msg: "Input should be less than or equal to 100",
      input: 101,
      ctx: { le: 100 },
    },
  ],
  [
    "an unknown field of a run",
    "POST",
    "/runs/stream",
    { durability: "sync" },
    { type: "extra_forbidden", loc: ["body", "durability"], msg: "Extra inputs are not permitted", input: "sync" },
  ],
])("R-DFH-3 refuses %s by its place", async (_, method, path, body, fault) => {
  expect(await refused(method, `/threads/${threadId}${path}`, body)).toEqual([422, [fault]]);
});

test("R-DFH-3 what is told back of a request is bounded", async () => {
  const long = "x".repeat(5000);
  const [, detail] = await refused("POST", `/threads/${threadId}/runs`, { [long]: { deep: long } });
  expect(JSON.stringify(detail).length).toBeLessThan(2000);
});

test("R-DFH-4 a thread's name in a path, or in a body, must match the pattern", async () => {
  for (const name of ["a.b", "a b", "x".repeat(65), "ä"]) {
    expect(await refused("GET", `/threads/${encodeURIComponent(name)}/runs`)).toEqual([
      422,
      [
        {
          type: "string_pattern_mismatch",
          loc: ["path", "thread_id"],
          msg: `String should match pattern '${PATTERN}'`,
          input: name,
          ctx: { pattern: PATTERN },
        },
      ],
    ]);
  }
  for (const [path, body, loc] of [
    ["/threads", { thread_id: "a.b" }, ["body", "thread_id"]],
    [
      "/runs",
      saying("Hi", { config: { configurable: { thread_id: "a.b" } } }),
      ["body", "config", "configurable", "thread_id"],
    ],
  ] as const) {
    expect(await refused("POST", path, body)).toEqual([
      422,
      [expect.objectContaining({ type: "string_pattern_mismatch", loc, input: "a.b" })],
    ]);
  }
});

const bound = (name: string, input: string, type: string, msg: string, ctx?: Json): Json => ({
  type,
  loc: ["query", name],
  msg,
  input,
  ...(ctx !== undefined && { ctx }),
});
const below = (name: string, input: string): Json =>
  bound(name, input, "greater_than_equal", "Input should be greater than or equal to 1", { ge: 1 });
const above = (name: string, input: string, le: number): Json =>
  bound(name, input, "less_than_equal", `Input should be less than or equal to ${le}`, { le });
const noNumber = (name: string, input: string): Json =>
  bound(name, input, "int_parsing", "Input should be a valid integer, unable to parse string as an integer");

test.each<[string, Json]>([
  ["/messages?limit=0", below("limit", "0")],
  ["/messages?limit=201", above("limit", "201", 200)],
  ["/messages?limit=x", noNumber("limit", "x")],
  ["/messages?limit=1.5", noNumber("limit", "1.5")],
  ["/messages?before_seq=0", below("before_seq", "0")],
  ["/messages?after_seq=-3", below("after_seq", "-3")],
  ["/messages/page?before_seq=0", below("before_seq", "0")],
  ["/messages/page?limit=201", above("limit", "201", 200)],
  ["/runs/r/messages?limit=0", below("limit", "0")],
  ["/runs/r/messages?after_seq=0", below("after_seq", "0")],
  ["/runs/r/events?limit=2001", above("limit", "2001", 2000)],
  ["/runs/r/events?after_seq=x", noNumber("after_seq", "x")],
  [
    "/token-usage?include_active=maybe",
    bound("include_active", "maybe", "bool_parsing", "Input should be a valid boolean, unable to interpret input"),
  ],
  [
    "/runs/r/stream?action=stop",
    bound("action", "stop", "literal_error", "Input should be 'interrupt' or 'rollback'", {
      expected: "'interrupt' or 'rollback'",
    }),
  ],
])("R-DFH-4 refuses %s by the parameter", async (path, fault) => {
  expect(await refused("GET", `/threads/${threadId}${path}`)).toEqual([422, [fault]]);
});

test("R-DFH-4 the page of messages goes backwards only", async () => {
  expect(await refused("GET", `/threads/${threadId}/messages/page?after_seq=1`)).toEqual([
    422,
    "after_seq is not supported by this backward-only endpoint",
  ]);
});

test.each<[string, unknown]>([
  ["webhook", "https://example.com/hook"],
  ["stream_resumable", true],
  ["on_completion", "delete"],
  ["on_completion", "keep"],
  ["after_seconds", 1.5],
  ["if_not_exists", "reject"],
  ["feedback_keys", []],
  ["multitask_strategy", "enqueue"],
  ["multitask_strategy", "other"],
])("R-DFH-10 a run with %s %j is refused by the option", async (option, value) => {
  for (const path of [`/threads/${threadId}/runs`, `/threads/${threadId}/runs/stream`, "/runs/wait"]) {
    expect(await refused("POST", path, saying("Hi", { [option]: value }))).toEqual([
      422,
      [
        {
          type: "unsupported_run_option",
          loc: ["body", option],
          msg: `Run option '${option}' is not supported by DeerFlow`,
          input: value,
          ctx: { option },
        },
      ],
    ]);
  }
});

test.each<[unknown, string]>([
  ["events", "events"],
  ["messages", "messages"],
  [["values", "events", "tools", "events"], "events, tools"],
])("R-DFH-10 stream mode %j is refused by name", async (mode, modes) => {
  expect(await refused("POST", `/threads/${threadId}/runs/stream`, saying("Hi", { stream_mode: mode }))).toEqual([
    422,
    [
      {
        type: "unsupported_stream_mode",
        loc: ["body", "stream_mode"],
        msg: `Unsupported stream mode(s): ${modes}`,
        input: mode,
        ctx: { modes },
      },
    ],
  ]);
});

test.each<[string, Json, string]>([
  [
    "a model that is not configured",
    { context: { model_name: "gpt-x" } },
    "Model 'gpt-x' is not in the configured model allowlist",
  ],
  ["a checkpoint that is no object", { checkpoint: "c" }, "checkpoint must be an object"],
  [
    "a checkpoint of another thread",
    { checkpoint: { thread_id: "other", checkpoint_id: "c" } },
    "checkpoint thread_id does not match request thread_id",
  ],
  [
    "a message of no known kind",
    {
      input: {
        messages: [
          { role: "user", content: "a" },
          { role: "robot", content: "b" },
        ],
      },
    },
    "Invalid message at input.messages[1]: its type or role is none of human, ai, system, tool and remove",
  ],
  [
    "a message without content",
    { input: { messages: [{ role: "user" }] } },
    "Invalid message at input.messages[0]: its content must be a text or a list of blocks",
  ],
  [
    "a removal of nothing",
    { input: { messages: [{ type: "remove", id: "nobody" }] } },
    "Invalid message at input.messages[0]: ",
  ],
])("R-DFH-11 a run with %s is a 400 with its text", async (_, fields, text) => {
  const [status, detail] = await refused("POST", `/threads/${threadId}/runs`, saying("Hi", fields));
  expect([status, String(detail).slice(0, text.length)]).toEqual([400, text]);
});

test("R-DFH-11 a field that is no channel, an unknown checkpoint, and nothing to say are refused", async () => {
  const path = `/threads/${threadId}/runs`;
  expect(await refused("POST", path, { input: { messages: [], other: 1, more: 2 } })).toEqual([
    422,
    "Unknown thread-state field(s): other, more",
  ]);
  expect(await refused("POST", path, saying("Hi", { checkpoint_id: "nobody" }))).toEqual([
    404,
    "Checkpoint nobody not found",
  ]);
  expect(await refused("POST", path, { input: null })).toEqual([
    422,
    [{ type: "missing", loc: ["body", "input"], msg: "Field required", input: null }],
  ]);
});

test("R-DFH-3 after all refusals nothing is stored: no run, no message, no thread beside the one that was made", async () => {
  expect(await listOf(await house.call("GET", `/threads/${threadId}/runs`))).toEqual([]);
  expect(await listOf(await house.call("GET", `/threads/${threadId}/messages`))).toEqual([]);
  const state = await jsonOf(await house.call("GET", `/threads/${threadId}/state`));
  expect([state["values"], state["checkpoint_id"]]).toEqual([{}, null]);
  const threads = await listOf(await house.call("POST", "/threads/search", {}));
  expect(threads.map(({ thread_id: id }) => id)).toEqual([threadId]);
});
