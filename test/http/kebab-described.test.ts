// The kebab family's answers, good and bad, held against what the OpenAPI document says of them.
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { descriptionOf, type Description } from "../support/described.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { newCollection, openKebab, type Kebab } from "../support/kebab-house.ts";
import { openAiDelta, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { answer, MAIN } from "./house.ts";

const KEY = randomUUID();
const MAX_BODY = 20_000;
const JSON_TYPE = "application/json";
const NDJSON = "application/x-ndjson";

let provider: FaultProvider;
let kebab: Kebab;
let description: Description;
const answered = new Map<string, number[]>();

beforeAll(async () => {
  provider = await startFaultProvider();
  const keys = { [createHash("sha256").update(KEY).digest("hex")]: "tenant-a" };
  kebab = await openKebab(
    {
      targets: [{ id: "main", adapter: "openai-chat", baseUrl: `${provider.origin}/main`, model: "test-model" }],
      routes: { default: ["main"] },
      limits: { maxBodyBytes: MAX_BODY, maxActiveRuns: 1, attachWaitMs: 0 },
    },
    { vars: { API_KEYS: JSON.stringify(keys) } },
  );
  description = await descriptionOf(kebab.server.origin);
});
afterAll(async () => {
  await kebab.server.stop();
  await provider.stop();
});

interface Asked {
  at?: Partial<Record<"collection" | "docId" | "runId", string>>;
  body?: string;
  type?: string;
  query?: string;
  headers?: Record<string, string>;
}

function send(operation: string, { at = {}, body, type, query = "", headers = {} }: Asked): Promise<Response> {
  const [method = "", path = ""] = operation.split(" ");
  const names = { collection: "none", docId: "none.md", runId: "none", ...at };
  const filled = Object.entries(names).reduce((text, [name, value]) => text.replace(`{${name}}`, value), path);
  return fetch(`${kebab.server.origin}${filled}${query}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...(type !== undefined && { "content-type": type }), ...headers },
    ...(body !== undefined && { body }),
  });
}

/** Holds an answer against the description, remembers its status, and gives the run that it is of. */
async function holds(operation: string, status: number, asked: Asked = {}): Promise<string> {
  const response = await send(operation, asked);
  expect([operation, response.status]).toEqual([operation, status]);
  expect(await description.faultOf(operation, response)).toBeUndefined();
  answered.set(operation, [...(answered.get(operation) ?? []), status]);
  return response.headers.get("x-run-id") ?? "";
}

const C = "/kebab/collections/{collection}";
const D = `${C}/documents/{docId}`;
const R = "/kebab/runs/{runId}";
const page = "# Cursors\n\nThe cursor of a reader is the last sequence that it has seen.";
const inRun = { accept: NDJSON };
const question = (fields: object = {}) => ({
  body: JSON.stringify({ question: "cursor", ...fields }),
  type: JSON_TYPE,
});
const entry = (path: string, content = page): string => JSON.stringify({ doc_path: path, content });
/** Of more chunks than a document may have. */
const TOO_MANY = "# A\n\nb\n\n".repeat(20_001);

test("R-DESC-1 documents and collections are answered as it is described, with a run and without", async () => {
  const at = { collection: newCollection(), docId: "notes/a.md" };
  const put = { at, body: page, type: "text/markdown" };
  await holds(`PUT ${D}`, 201, put);
  await holds(`PUT ${D}`, 200, put);
  await holds(`PUT ${D}`, 400, { ...put, query: "?trust_level=none" });
  await holds(`PUT ${D}`, 413, { ...put, body: "x".repeat(8 * 1024 * 1024 + 1) });
  await holds(`PUT ${D}`, 415, { ...put, type: "image/png" });
  const batch = { at, body: `${entry("b.md")}\n${entry("c.md")}`, type: NDJSON };
  await holds(`POST ${C}/documents`, 201, batch);
  await holds(`POST ${C}/documents`, 200, batch);
  await holds(`POST ${C}/documents`, 400, { ...batch, body: "{" });
  await holds(`POST ${C}/documents`, 413, { ...batch, body: "x".repeat(8 * 1024 * 1024 + 1) });
  await holds(`POST ${C}/documents`, 415, { ...batch, type: JSON_TYPE });
  for (const [operation, asked, other] of [
    [`PUT ${D}`, put, `${page}\n\nMore.`],
    [`POST ${C}/documents`, batch, entry("e.md")],
  ] as const) {
    const headers = { ...inRun, "idempotency-key": randomUUID() };
    const runId = await holds(operation, 200, { ...asked, headers });
    await holds(operation, 200, { ...asked, headers: { ...headers, "last-event-id": "0" } });
    await holds(operation, 409, { ...asked, body: other, headers });
    await holds(operation, 400, { ...asked, headers: { ...headers, "idempotency-key": "a b" } });
    await holds(`GET ${R}`, 200, { at: { runId } });
    await holds(`POST ${R}/cancel`, 200, { at: { runId } });
  }
  const failed = await holds(`PUT ${D}`, 200, { ...put, body: TOO_MANY, headers: inRun });
  await holds(`POST ${R}/cancel`, 200, { at: { runId: failed } });
  await holds(`GET ${D}`, 200, { at });
  await holds(`GET ${D}`, 200, { at, query: "?lines=1-9" });
  await holds(`GET ${D}`, 400, { at, query: "?lines=0" });
  const response = await send("POST /kebab/search", {
    body: JSON.stringify({ query: "cursor", collection: at.collection }),
    type: JSON_TYPE,
  });
  const { hits }: { hits: { chunk_id: string; doc_path: string }[] } = JSON.parse(await response.text());
  const [hit] = hits;
  const chunked = { collection: at.collection, docId: hit?.doc_path ?? "" };
  await holds(`GET ${D}`, 200, { at: chunked, query: `?chunk=${hit?.chunk_id}&context=1` });
  await holds(`GET ${D}`, 400, { at: chunked, query: `?chunk=${hit?.chunk_id}&context=21` });
  await holds(`GET ${D}`, 404, { at, query: "?chunk=none" });
  await holds(`GET ${C}`, 200, { at, query: "?limit=1" });
  await holds(`GET ${C}`, 400, { at, query: "?limit=0" });
  await holds("GET /kebab/schema", 200, { query: `?collection=${at.collection}` });
  await holds("GET /kebab/schema", 400, { query: "?collection=.." });
  await holds(`DELETE ${D}`, 204, { at });
  await holds(`DELETE ${D}`, 404, { at });
  await holds(`GET ${D}`, 404, { at });
  await holds(`DELETE ${C}`, 204, { at });
  await holds(`DELETE ${C}`, 404, { at });
  await holds(`GET ${C}`, 404, { at });
});

test("R-DESC-1 searches and questions are answered as it is described, however they go", async () => {
  const at = { collection: "default", docId: "a.md" };
  await holds(`PUT ${D}`, 201, { at, body: page, type: "text/markdown" });
  const search = (body: string, type = JSON_TYPE) => ({ body, type });
  await holds("POST /kebab/search", 200, search('{"query":"cursor","trace":true}'));
  await holds("POST /kebab/search", 200, search('{"query":"cursor"}\n{"query":""}\nx', NDJSON));
  await holds("POST /kebab/search", 400, search('{"query":"cursor","cursor":"x"}'));
  await holds("POST /kebab/search", 404, search('{"query":"cursor","collection":"none"}'));
  await holds("POST /kebab/search", 413, search(`"${"x".repeat(MAX_BODY)}"`, NDJSON));
  for (const fields of [{}, { explain: true }, { question: "zebra" }, { multi_hop: true }, { conversation: "talk" }]) {
    // What splits a question is read as a list of others.
    provider.on(MAIN, answer(["multi_hop" in fields ? '["cursor"]' : "Seen [#1]."]));
    const runId = await holds("POST /kebab/ask", 200, question(fields));
    await holds(`GET ${R}`, 200, { at: { runId } });
    await holds(`POST ${R}/cancel`, 200, { at: { runId } });
  }
  const key = { "idempotency-key": randomUUID() };
  await holds("POST /kebab/ask", 200, { ...question(), headers: key });
  await holds("POST /kebab/ask", 200, { ...question(), headers: { ...key, "last-event-id": "1" } });
  await holds("POST /kebab/ask", 409, { ...question({ k: 3 }), headers: key });
  await holds("POST /kebab/ask", 400, { ...question(), query: "?after=3" });
  await holds("POST /kebab/ask", 404, question({ mode: "vector" }));
  provider.on(MAIN, streamScript(OPENAI_STREAM_TYPE, [openAiDelta({ content: "Seen" })], { end: "hang" }));
  const open = await send("POST /kebab/ask", question());
  await holds("POST /kebab/ask", 429, question());
  await holds(`PUT ${D}`, 429, { at, body: page, type: "text/markdown", headers: inRun });
  await holds(`POST ${C}/documents`, 429, { at, body: entry("b.md"), type: NDJSON, headers: inRun });
  const runId = open.headers.get("x-run-id") ?? "";
  await holds(`POST ${R}/cancel`, 200, { at: { runId } });
  expect(await description.faultOf("POST /kebab/ask", open)).toBeUndefined();
  await holds(`GET ${R}`, 400, { at: { runId }, query: "?from=snapshot" });
  await holds(`GET ${R}`, 404);
  await holds(`POST ${R}/cancel`, 404);
});

test("R-DESC-1 every operation of the family says whom it refuses, and which names and bodies", async () => {
  for (const operation of description.operations("/kebab/")) {
    await holds(operation, 401, { headers: { authorization: "Bearer nobody" } });
    if (operation.includes("{collection}")) await holds(operation, 400, { at: { collection: "a%20b" } });
    if (operation.includes("{docId}")) await holds(operation, 400, { at: { docId: "a%23b" } });
    if (!description.takes(operation, JSON_TYPE)) continue;
    await holds(operation, 400, { body: "{", type: JSON_TYPE });
    await holds(operation, 400, { body: "[]", type: JSON_TYPE });
    await holds(operation, 413, { body: `"${"x".repeat(MAX_BODY)}"`, type: JSON_TYPE });
    await holds(operation, 415, { body: "{}", type: "text/plain" });
  }
});

test("R-DESC-1 what starts a run, or reads one, is described with the key and the cursor that it takes", () => {
  const cursors = ["Last-Event-ID", "after", "lastEventId", "from"];
  for (const operation of [`PUT ${D}`, `POST ${C}/documents`, "POST /kebab/ask"]) {
    expect(description.parameters(operation)).toEqual(expect.arrayContaining(["Idempotency-Key", ...cursors]));
  }
  expect(description.parameters(`GET ${R}`)).toEqual(expect.arrayContaining(cursors));
});

test("R-DESC-1 every described operation of the family was answered well above", () => {
  const done = [...answered].filter(([, statuses]) => statuses.some((status) => status < 300)).map(([name]) => name);
  expect(done.toSorted()).toEqual(description.operations("/kebab/").toSorted());
});
