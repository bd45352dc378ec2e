// Searches and questions by meaning, over sockets: what the model that embeds is sent, what each mode answers, and what becomes of its failures.
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { kebabErrorSchema, searchResponseSchema } from "../../schemas/dialects/kebab.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { newCollection, openKebab, type Answered, type Kebab } from "../support/kebab-house.ts";
import { kebabLines } from "../support/kebab-lines.ts";
import { publishedFault } from "../support/kebab-schemas.ts";
import { errorScript } from "../support/provider-bytes/scripts.ts";
import { embedWords, textsIn } from "../support/word-vectors.ts";
import { answer, MAIN } from "./house.ts";

const EMBED = "/embed/embeddings";
const pages = {
  "cars.md": "# Car\n\nwheels of a car",
  "cats.md": "# Cat\n\nthe cat sleeps",
  "soup.md": "# Soup\n\nhot tomato soup",
};

let provider: FaultProvider;
let kebab: Kebab;
let collection: string;

beforeAll(async () => {
  provider = await startFaultProvider();
  const target = (id: string, more: object) => ({
    id,
    adapter: "openai-chat",
    baseUrl: `${provider.origin}/${id}`,
    ...more,
  });
  kebab = await openKebab({
    targets: [
      target("main", { model: "test-model", retries: 0 }),
      target("embed", { model: "words", retries: 1, clocks: { headersMs: 1000 } }),
    ],
    routes: { default: ["main"] },
    kebab: { embedding: { target: "embed", dimensions: 48 } },
  });
  collection = newCollection();
  provider.on(EMBED, ({ body }) => embedWords(body));
  const entries = Object.entries(pages).map(([path, content]) => ({ doc_path: path, content }));
  expect((await kebab.batch(collection, entries)).status).toBe(201);
  provider.reset();
});
afterEach(() => provider.reset());
afterAll(async () => {
  await kebab.server.stop();
  await provider.stop();
});

function found({ status, body }: Answered) {
  expect([status, publishedFault("search_response", body)]).toEqual([200, undefined]);
  const response = v.parse(searchResponseSchema, body);
  for (const hit of response.hits) expect(publishedFault("search_hit", hit)).toBeUndefined();
  return response;
}

function refused({ status, body }: Answered) {
  expect(publishedFault("error", body)).toBeUndefined();
  const { code, details } = v.parse(kebabErrorSchema, body);
  return { status, code, details };
}

test("R-KB-45 R-KB-46 R-KB-47 each mode answers with hits as they are published", async () => {
  provider.on(EMBED, ({ body }) => embedWords(body));
  const byWords = found(await kebab.search({ query: "automobile", collection }));
  expect(byWords.hits).toEqual([]);
  expect(provider.calls(EMBED)).toHaveLength(0);
  const byMeaning = found(await kebab.search({ query: "automobile", collection, mode: "vector", k: 2 }));
  expect(byMeaning.hits[0]).toMatchObject({ doc_path: "cars.md", score_kind: "cosine", embedding_model: "words" });
  expect(provider.calls(EMBED).map(({ body }) => JSON.parse(body))).toEqual([
    { model: "words", input: ["automobile"], encoding_format: "float", dimensions: 48 },
  ]);
  const next = await kebab.search({
    query: "automobile",
    collection,
    mode: "vector",
    k: 2,
    cursor: byMeaning.next_cursor,
  });
  expect(found(next).hits.map(({ rank }) => rank)).toEqual([3]);
  const both = found(await kebab.search({ query: "car automobile", collection, mode: "hybrid", trace: true }));
  expect(both.hits[0]).toMatchObject({ doc_path: "cars.md", score: 1, score_kind: "rrf" });
  expect(both.trace).toMatchObject({ lexical: [{ rank: 1 }], vector: [{ rank: 1 }, { rank: 2 }, { rank: 3 }] });
  const self = await kebab.call("GET", `/schema?collection=${collection}`);
  expect(self.body).toMatchObject({ models: { embedding_version: "embed/words/48" } });
});

const ask = async (fields: Record<string, unknown>) =>
  fetch(`${kebab.base}/ask`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ collection, ...fields }),
  });

test("R-KB-47 a question is answered from what is near to it, and the answer says whose vectors led to it", async () => {
  provider.on(EMBED, ({ body }) => embedWords(body));
  provider.on(MAIN, answer(["It has wheels [#1]."]));
  const embedding = { id: "words", provider: "embed", dimensions: 48 };
  for (const mode of ["vector", "hybrid"]) {
    const lines = kebabLines(await (await ask({ question: "automobile", mode })).text());
    expect(lines[0]).toMatchObject({ kind: "retrieval_done", hits: [{ doc_path: "cars.md" }, {}, {}] });
    expect(lines.at(-1)).toMatchObject({ grounded: true, embedding, retrieval: { mode, chunks_returned: 3 } });
  }
  const below = kebabLines(await (await ask({ question: "quantum", mode: "vector" })).text());
  expect(below.at(-1)).toMatchObject({ refusal_reason: "score_gate", embedding, retrieval: { mode: "vector" } });
  const none = kebabLines(await (await ask({ question: "automobile" })).text());
  expect(none.at(-1)).toMatchObject({ refusal_reason: "no_chunks", embedding: null });
});

test("R-KB-41 a batch that fails in passing is asked for again", async () => {
  provider.on(EMBED, ({ body, index }) =>
    index === 0 ? errorScript(503, { "retry-after": "0" }, '{"error":{"message":"busy"}}') : embedWords(body),
  );
  const put = await kebab.put(newCollection(), "a.md", "# A\nalpha");
  expect([put.status, provider.calls(EMBED).map(({ body }) => textsIn(body))]).toEqual([
    201,
    [["A\n# A\nalpha"], ["A\n# A\nalpha"]],
  ]);
});

test.each([
  ["answers with an error", errorScript(500, {}, "{}"), 503, "model_unreachable"],
  ["does not know the model", errorScript(404, {}, '{"error":{"message":"no"}}'), 503, "model_not_pulled"],
  ["refuses the key", errorScript(401, {}, '{"error":{"message":"no"}}'), 503, "generic"],
  ["says nothing", [{ step: "hang" }] as const, 504, "timeout"],
  ["sends too few vectors", errorScript(200, {}, '{"data":[]}'), 503, "model_unreachable"],
  ["breaks off", [{ step: "head", status: 200, headers: {} }, { step: "rst" }] as const, 503, "model_unreachable"],
])("R-KB-40 where the model %s, nothing is kept and nothing is found", async (_what, script, status, code) => {
  provider.on(EMBED, script);
  const name = newCollection();
  expect(refused(await kebab.put(name, "a.md", "# A\nalpha"))).toMatchObject({
    status,
    code,
    details: { ...(code === "generic" && { reason: "embedding_failed" }), failure_class: expect.any(String) },
  });
  expect((await kebab.call("GET", `/collections/${name}`)).status).toBe(404);
  expect(refused(await kebab.search({ query: "car", collection, mode: "hybrid" }))).toMatchObject({ status, code });
  const question = await ask({ question: "car", mode: "vector" });
  expect(question.status).toBe(status);
  await question.body?.cancel();
});

/** The lines of an ingest that is a run. */
async function ingest(name: string): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${kebab.base}/collections/${name}/documents/a.md`, {
    method: "PUT",
    headers: { "content-type": "text/markdown", accept: "application/x-ndjson" },
    body: "# A\nalpha",
  });
  const text = await response.text();
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line)]));
}

test("R-KB-51 an ingest that is a run tells what is embedded", async () => {
  provider.on(EMBED, ({ body }) => embedWords(body));
  const lines = await ingest(newCollection());
  expect(lines.filter(({ kind }) => /embed|completed/.test(String(kind)))).toMatchObject([
    { kind: "scan_completed" },
    { kind: "embed_batch_started", n_chunks: 1 },
    { kind: "embed_batch_finished", n_chunks: 1, ms: expect.any(Number) },
    { kind: "completed", counts: { new: 1, chunks_indexed: 1, embeddings_indexed: 1 } },
  ]);
  expect(lines.at(-1)).toMatchObject({ schema_version: "ingest_report.v1", new: 1 });
});

test("R-KB-54 a model that does not embed ends such a run, and nothing is kept", async () => {
  provider.on(EMBED, errorScript(500, {}, "{}"));
  const name = newCollection();
  const lines = await ingest(name);
  expect(publishedFault("error", lines.at(-1))).toBeUndefined();
  expect(lines.slice(-2)).toMatchObject([
    { kind: "aborted", counts: { new: 0, errors: 1 } },
    { schema_version: "error.v1", code: "model_unreachable", details: { endpoint: "embed", retryable: true } },
  ]);
  expect((await kebab.call("GET", `/collections/${name}`)).status).toBe(404);
});

test("R-KB-44 R-KB-43 what cannot be searched by vectors says why", async () => {
  expect(refused(await kebab.search({ query: "car", collection: newCollection(), mode: "vector" }))).toMatchObject({
    status: 404,
    code: "not_indexed",
    details: { found: "none" },
  });
});
