// The DeerFlow family's answers, good and bad, held against what the OpenAPI document says of them.
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { inOrder, MODEL, says } from "../support/agent-house.ts";
import {
  callDeer,
  jsonOf,
  newThreadId,
  openDeerHouse,
  saying,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";
import { descriptionOf, type Description } from "../support/described.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";

const MAX_BODY = 20_000;
const KEY = "key-of-a-41b6";

let house: DeerHouse;
let locked: DeerHouse;
let description: Description;
const answered = new Map<string, number[]>();

beforeAll(async () => {
  const limits = { maxBodyBytes: MAX_BODY, attachWaitMs: 0, maxActiveRuns: 2 };
  house = await openDeerHouse(limits);
  const keys = { [createHash("sha256").update(KEY).digest("hex")]: "tenant-a" };
  locked = await openDeerHouse(limits, {}, { API_KEYS: JSON.stringify(keys) });
  description = await descriptionOf(house.server.origin);
});
afterEach(() => house.provider.reset());
afterAll(() => Promise.all([house.stop(), locked.stop()]));

/** The operation whose path these parameters are put into. */
type At = Partial<Record<"threadId" | "runId" | "name", string>>;

const pathOf = (operation: string, at: At): [method: string, path: string] => {
  const [method = "", path = ""] = operation.split(" ");
  const filled = Object.entries(at).reduce((text, [name, value]) => text.replace(`{${name}}`, value), path);
  return [method, filled.replace("/api", "")];
};

/** Holds an answer against the description and remembers its status. */
async function isAsDescribed(operation: string, response: Response, status: number): Promise<void> {
  expect([operation, response.status]).toEqual([operation, status]);
  expect(await description.faultOf(operation, response)).toBeUndefined();
  answered.set(operation, [...(answered.get(operation) ?? []), status]);
}

interface Asked {
  body?: unknown;
  query?: string;
  headers?: Record<string, string>;
}

async function holds(operation: string, at: At, status: number, asked: Asked = {}): Promise<void> {
  const [method, path] = pathOf(operation, at);
  const { body, query = "", headers = {} } = asked;
  await isAsDescribed(operation, await house.call(method, `${path}${query}`, body, headers), status);
}

/** Returns when the run that an answer names has ended, also one that goes on behind its answer. */
async function toItsEnd({ headers }: Response): Promise<void> {
  const place = headers.get("content-location")?.replace("/api", "") ?? "";
  await jsonOf(await house.call("GET", `${place}/join`));
}

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const T = "/api/threads/{threadId}";
const R = `${T}/runs/{runId}`;

test("R-DESC-1 threads and their states are answered as it is described", async () => {
  const threadId = newThreadId();
  await holds("POST /api/threads", {}, 200, { body: { thread_id: threadId, metadata: { a: 1 } } });
  house.provider.on(MODEL, inOrder(says("Hello."), says("", [["w", "wipe"]])));
  await house.run(threadId);
  await house.run(threadId);
  const { checkpoint } = await get(`/threads/${threadId}/state`);
  const { checkpoint_id: name } = Object(checkpoint);
  await holds("POST /api/threads/search", {}, 200, { body: { metadata: { a: 1 } } });
  await holds(`GET ${T}`, { threadId }, 200);
  await holds(`PATCH ${T}`, { threadId }, 200, { body: { metadata: { b: 2 } } });
  await holds(`GET ${T}/state`, { threadId }, 200);
  await holds(`GET ${T}/state/{name}`, { threadId, name }, 200);
  await holds(`GET ${T}/state/{name}`, { threadId, name: "nobody" }, 404);
  await holds(`POST ${T}/state/checkpoint`, { threadId }, 200, { body: { checkpoint } });
  await holds(`POST ${T}/history`, { threadId }, 200, { body: { limit: 5 } });
  await holds(`POST ${T}/state`, { threadId }, 200, { body: { values: { title: "Named" } } });
  await holds(`POST ${T}/state`, { threadId }, 400, { body: { values: { messages: [{ role: "robot" }] } } });
  await holds(`POST ${T}/state`, { threadId }, 422, { body: { values: { other: 1 } } });
  const empty = await house.thread();
  await holds(`GET ${T}/state`, { threadId: empty }, 200);
  await holds(`DELETE ${T}`, { threadId }, 200);
  await holds(`DELETE ${T}`, { threadId }, 404);
});

test("R-DESC-1 starts are answered as it is described, however they go", async () => {
  const threadId = await house.thread();
  // Slow, so that a start goes on behind its answer wherever it may.
  const slow = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Hello."] }), { delayMs: 20 });
  for (const path of [
    `${T}/runs`,
    `${T}/runs/stream`,
    `${T}/runs/wait`,
    "/api/runs",
    "/api/runs/stream",
    "/api/runs/wait",
  ]) {
    const operation = `POST ${path}`;
    const at = { threadId };
    house.provider.on(MODEL, slow);
    const [method, filled] = pathOf(operation, at);
    const started = await house.call(method, filled, saying("Hi"));
    await isAsDescribed(operation, started, 200);
    await toItsEnd(started);
    await holds(operation, at, 400, { body: saying("Hi", { context: { model_name: "nobody" } }) });
    await holds(operation, at, 422, { body: saying("Hi", { webhook: "x" }) });
    await holds(operation, at, 422, { body: saying("Hi"), headers: { "idempotency-key": "a b" } });
    if (path.startsWith(T)) {
      await holds(operation, { threadId: newThreadId() }, 404, { body: saying("Hi") });
      await holds(operation, at, 409, { body: { command: { resume: { results: [{ toolCallId: "a", output: 1 }] } } } });
    }
    const key = { "idempotency-key": newThreadId() };
    const keyed = await house.call(method, filled, saying("Hi"), key);
    await keyed.text();
    await holds(operation, at, 409, { body: saying("Bye"), headers: key });
    await toItsEnd(keyed);
  }
  const threads = [await house.thread(), await house.thread()];
  const held = [await house.hanging(threads[0] ?? ""), await house.hanging(threads[1] ?? "")];
  await holds(`POST ${T}/runs`, { threadId }, 429, { body: saying("Hi") });
  await holds("POST /api/runs/stream", {}, 429, { body: saying("Hi") });
  // Their slots are free again when the next test begins.
  for (const [index, { runId, leave }] of held.entries()) {
    await house.call("POST", `/threads/${threads[index]}/runs/${runId}/cancel?wait=1`);
    await leave();
  }
});

test("R-DESC-1 runs, active and ended, are answered as it is described", async () => {
  const threadId = await house.thread();
  const { runId, leave } = await house.hanging(threadId);
  const at = { threadId, runId };
  await holds(`GET ${R}`, at, 200);
  await holds(`GET ${T}/runs`, { threadId }, 200);
  for (const [operation, body] of [
    [`DELETE ${T}`, undefined],
    [`POST ${T}/state`, { values: {} }],
    [`POST ${T}/runs`, saying("Hi")],
  ] as const) {
    await holds(operation, { threadId }, 409, { body });
  }
  await holds(`POST ${R}/cancel`, at, 202);
  await holds(`POST ${R}/cancel`, at, 204, { query: "?wait=1" });
  await leave();
  house.provider.on(MODEL, says("Hello."));
  const ended = { threadId, runId: (await house.run(threadId)).runId };
  await holds(`POST ${R}/cancel`, ended, 409);
  await holds(`GET ${R}/join`, ended, 200);
  await holds(`GET ${R}/join`, ended, 200, { headers: { accept: "text/event-stream" } });
  for (const method of ["GET", "POST"]) {
    await holds(`${method} ${R}/stream`, ended, 200);
    await holds(`${method} ${R}/stream`, at, 204, { query: "?action=interrupt&wait=1" });
    await holds(`${method} ${R}/stream`, ended, 409, { query: "?action=interrupt" });
    await holds(`${method} ${R}/stream`, ended, 422, { query: "?action=stop" });
  }
});

test("R-DESC-1 records are told and taken as it is described", async () => {
  const threadId = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const { runId } = await house.run(threadId);
  const at = { threadId, runId };
  const change = { path: "a.txt", root: "/", status: "created", binary: false, sensitive: false };
  const pushed = { threadId, runId: "pushed" };
  const record = { event_type: "run.start", category: "trace", content: { chain: null }, metadata: { caller: "x" } };
  await holds(`POST ${R}/events`, pushed, 200, { body: { sequence: 0, records: [record] } });
  await holds(`POST ${R}/events`, pushed, 409, { body: { sequence: 5, records: [record] } });
  await holds(`POST ${R}/events`, at, 409, { body: { sequence: 0, records: [record] } });
  await holds(`POST ${R}/events`, pushed, 422, { body: { sequence: 1, records: [{ ...record, content: change }] } });
  await holds(`GET ${R}/stream`, pushed, 409);
  await holds(`POST ${R}/events`, pushed, 200, { body: { sequence: 1, end: { status: "success" } } });
  for (const path of [`${T}/messages`, `${T}/messages/page`, `${R}/messages`, `${R}/events`]) {
    await holds(`GET ${path}`, at, 200);
    await holds(`GET ${path}`, at, 422, { query: "?limit=0" });
  }
  await holds(`GET ${R}/workspace-changes`, at, 200);
  await holds(`GET ${T}/token-usage`, at, 200);
  await holds("GET /api/runs/{runId}/messages", at, 200);
  await holds("GET /api/runs/{runId}/messages", { runId: "nobody" }, 404);
});

test("R-DESC-1 feedback, prepared turns and agents are answered as it is described", async () => {
  const threadId = await house.thread();
  house.provider.on(MODEL, says("Hello."));
  const { runId, values } = await house.run(threadId);
  const at = { threadId, runId };
  const feedback = `${R}/feedback`;
  for (const method of ["PUT", "POST"]) {
    await holds(`${method} ${feedback}`, at, 200, { body: { rating: 1, comment: "Good." } });
    await holds(`${method} ${feedback}`, at, 400, { body: { rating: 2 } });
    await holds(`${method} ${feedback}`, at, 422, { body: {} });
  }
  const [one]: Json[] = JSON.parse(
    await (await house.call("GET", `/threads/${threadId}/runs/${runId}/feedback`)).text(),
  );
  await holds(`GET ${feedback}`, at, 200);
  await holds(`GET ${feedback}/stats`, at, 200);
  await holds("GET /api/runs/{runId}/feedback", at, 200);
  await holds("GET /api/runs/{runId}/feedback", { runId: "nobody" }, 404);
  await holds(`GET ${T}/messages`, at, 200);
  await holds(`DELETE ${feedback}/{name}`, { ...at, name: String(one?.["feedback_id"]) }, 200);
  await holds(`DELETE ${feedback}/{name}`, { ...at, name: "nobody" }, 404);
  await holds(`DELETE ${feedback}`, at, 200);
  await holds(`DELETE ${feedback}`, at, 404);
  const [human, answer]: Json[] = Object(values).messages;
  const regenerate = `POST ${T}/runs/regenerate/prepare`;
  await holds(regenerate, at, 200, { body: { message_id: answer?.["id"] } });
  await holds(regenerate, at, 404, { body: { message_id: "nobody" } });
  await holds(regenerate, at, 409, { body: { message_id: human?.["id"] } });
  const edit = `POST ${T}/runs/edit-regenerate/prepare`;
  const body = { human_message_id: human?.["id"], replacement_text: "Hello" };
  await holds(edit, at, 200, { body });
  await holds(edit, at, 409, { body: { ...body, replacement_text: " " } });
  await holds("POST /api/assistants/search", {}, 200, { body: {} });
  for (const path of ["", "/graph", "/schemas"]) {
    await holds(`GET /api/assistants/{name}${path}`, { name: "lead_agent" }, 200);
    await holds(`GET /api/assistants/{name}${path}`, { name: "nobody" }, 404);
  }
});

test("R-DESC-1 every operation of the family says what it refuses whom, and which names and bodies", async () => {
  const at = { threadId: newThreadId(), runId: "r", name: "n" };
  for (const operation of description.operations("/api/")) {
    const [method, path] = pathOf(operation, at);
    const base = `${locked.server.origin}/api`;
    await isAsDescribed(operation, await callDeer(base, method, path), 401);
    await isAsDescribed(operation, await callDeer(base, method, `${path}?api_key=x`), 400);
    if (operation.includes("{threadId}")) await holds(operation, { ...at, threadId: "a.b" }, 422);
    if (!description.takesBody(operation)) continue;
    await holds(operation, at, 422, { body: "{" });
    await holds(operation, at, 422, { body: "[]" });
    await holds(operation, at, 413, { body: `"${"x".repeat(MAX_BODY)}"` });
    await holds(operation, at, 415, { body: "{}", headers: { "content-type": "text/plain" } });
  }
});

test("R-DESC-1 every described operation of the family was answered well above", () => {
  const done = [...answered].filter(([, statuses]) => statuses.some((status) => status < 300)).map(([name]) => name);
  expect(done.toSorted()).toEqual(description.operations("/api/").toSorted());
});
