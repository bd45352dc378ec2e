// Embeddings without a network: what each provider is sent, what of its answers counts, and how rankings become one.
import { expect, test } from "vitest";
import type { EmbedderId, Target } from "../../../schemas/config.ts";
import { batchesOf, cutToModel, embedText } from "../../../src/kebab/embed-text.ts";
import { fuse, placed, type Ranked } from "../../../src/kebab/fusion.ts";
import { nearest } from "../../../src/kebab/nearest.ts";
import { embeddingsOf } from "../../../src/providers/embed-answer.ts";
import { embedders } from "../../../src/providers/embedders.ts";
import { adapters } from "../../../src/providers/index.ts";
import { embedPlanOf } from "../../../src/run/embed-plan.ts";
import { checkConfig } from "../../../src/run/settings.ts";

const base = "https://api.example/base";
const json = { "content-type": "application/json", accept: "application/json" };
const bearer = { ...json, authorization: "Bearer KEY" };

const requests: [name: string, adapter: EmbedderId, target: Partial<Target>, sent: object][] = [
  [
    "openai-chat",
    "openai-chat",
    {},
    {
      url: `${base}/embeddings`,
      headers: bearer,
      body: '{"model":"m-1","input":["one","two"],"encoding_format":"float","dimensions":8}',
    },
  ],
  [
    "the preset mistral",
    "openai-chat",
    { preset: "mistral" },
    {
      url: `${base}/embeddings`,
      headers: bearer,
      body: '{"model":"m-1","input":["one","two"],"encoding_format":"float","output_dimension":8}',
    },
  ],
  [
    "the preset azure",
    "openai-chat",
    { preset: "azure", baseUrl: "https://r.example", headers: { "X-Team": "a" } },
    {
      url: "https://r.example/openai/deployments/m-1/embeddings?api-version=2024-10-21",
      headers: { ...json, "api-key": "KEY", "x-team": "a" },
      body: '{"model":"m-1","input":["one","two"],"encoding_format":"float","dimensions":8}',
    },
  ],
  [
    "ollama",
    "ollama",
    {},
    {
      url: `${base}/api/embed`,
      headers: bearer,
      body: '{"model":"m-1","input":["one","two"],"truncate":true,"dimensions":8}',
    },
  ],
  [
    "cohere",
    "cohere",
    {},
    {
      url: `${base}/v2/embed`,
      headers: bearer,
      body: '{"model":"m-1","texts":["one","two"],"input_type":"search_query","embedding_types":["float"],"output_dimension":8,"truncate":"END"}',
    },
  ],
  [
    "gemini",
    "gemini",
    { query: { v: "1" } },
    {
      url: `${base}/v1beta/models/m-1:batchEmbedContents?v=1`,
      headers: { ...json, "x-goog-api-key": "KEY" },
      body: '{"requests":[{"model":"models/m-1","content":{"parts":[{"text":"one"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":8},{"model":"models/m-1","content":{"parts":[{"text":"two"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":8}]}',
    },
  ],
  [
    "gemini's second generation",
    "gemini",
    { model: "gemini-embedding-2" },
    {
      url: `${base}/v1beta/models/gemini-embedding-2:batchEmbedContents`,
      headers: { ...json, "x-goog-api-key": "KEY" },
      body: '{"requests":[{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"task: search result | query: one"}]},"outputDimensionality":8},{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"task: search result | query: two"}]},"outputDimensionality":8}]}',
    },
  ],
  [
    "workers-ai",
    "workers-ai",
    { model: "@cf/baai/bge-m3" },
    { url: `${base}/ai/run/@cf/baai/bge-m3`, headers: bearer, body: '{"text":["one","two"]}' },
  ],
];

test.each(requests)("R-KB-41 what %s is sent, to the byte", (_name, adapter, fields, sent) => {
  const target: Target = { id: "t", adapter, baseUrl: base, model: "m-1", ...fields };
  const ask = { texts: ["one", "two"], purpose: "query", dimensions: 8 } as const;
  expect(embedders[adapter].request(ask, target, "KEY")).toEqual({ ...sent, unsupported: [] });
});

test("R-KB-41 documents are told from questions where a provider does so, and without a key none is sent", () => {
  const sent = (adapter: EmbedderId, model = "m-1") =>
    embedders[adapter].request(
      { texts: ["one"], purpose: "document" },
      { id: "t", adapter, baseUrl: base, model },
      undefined,
    );
  expect(sent("cohere").body).toContain('"input_type":"search_document"');
  expect(sent("gemini").body).toContain('"taskType":"RETRIEVAL_DOCUMENT"');
  expect(sent("gemini", "gemini-embedding-2").body).toContain('"text":"title: none | text: one"');
  for (const adapter of ["openai-chat", "ollama", "cohere", "gemini", "workers-ai"] as const) {
    expect(sent(adapter).headers).toEqual(json);
    expect(sent(adapter).body).not.toMatch(/dimension/i);
  }
});

const read = (adapter: EmbedderId, body: unknown, { count = 2, status = 200, dimensions = 0 } = {}) =>
  embeddingsOf(
    {
      status,
      headers: new Headers(),
      body: typeof body === "string" ? body : JSON.stringify(body),
      now: 0,
    },
    { texts: Array.from({ length: count }, () => "text"), ...(dimensions > 0 && { dimensions }) },
    embedders[adapter],
    adapters[adapter].failure,
  );
const numbers = (answer: ReturnType<typeof read>): number[] =>
  "failureClass" in answer ? [] : Array.from(answer.numbers, (number) => Number(number.toFixed(4)));

const lists = [
  [3, 4],
  [0, 2],
];
const unit = [0.6, 0.8, 0, 1];

test.each([
  ["openai-chat", { data: lists.map((embedding, index) => ({ index, embedding })) }],
  ["openai-chat", { data: lists.map((embedding, index) => ({ index, embedding })).toReversed() }],
  ["openai-chat", { data: lists.map((embedding) => ({ embedding })) }],
  ["ollama", { model: "m", embeddings: lists }],
  ["cohere", { id: "x", embeddings: { float: lists }, texts: ["text", "text"] }],
  ["gemini", { embeddings: lists.map((values) => ({ values })) }],
  ["workers-ai", { shape: [2, 2], data: lists, pooling: "cls" }],
  ["workers-ai", { result: { shape: [2, 2], data: lists }, success: true, errors: [], messages: [] }],
] as const)("R-KB-42 an answer of %s is read in the order of the texts, and has the length 1", (adapter, body) => {
  expect(numbers(read(adapter, body))).toEqual(unit);
});

const entries = (...embeddings: unknown[]) => ({ data: embeddings.map((embedding, index) => ({ index, embedding })) });

test.each([
  ["too few", entries([1, 2]), "malformed"],
  ["too many", entries([1, 2], [1, 2], [1, 2]), "malformed"],
  ["a place twice", { data: [0, 0].map((index) => ({ index, embedding: [1] })) }, "malformed"],
  ["a place that nobody asked for", { data: [0, 2].map((index) => ({ index, embedding: [1] })) }, "malformed"],
  ["unequal dimensions", entries([1, 2], [1]), "malformed"],
  ["no dimensions", entries([], []), "malformed"],
  ["too many dimensions", entries(...[1, 2].map(() => Array.from({ length: 4097 }, () => 1))), "malformed"],
  ["null for a number", entries([1, null], [1, 2]), "malformed"],
  ["text for a number", entries(["1", "2"], [1, 2]), "malformed"],
  ["base64 for a list", entries("AACAPw==", "AACAPw=="), "malformed"],
  ["a number beyond all", '{"data":[{"embedding":[1e999]},{"embedding":[1]}]}', "malformed"],
  ["a number that 32 bits do not hold", entries([1e39], [1]), "malformed"],
  ["no embeddings", { data: "none" }, "malformed"],
  ["half a JSON", '{"data":[', "malformed"],
  ["nothing", "", "truncated"],
  ["a page", "<html>", "bad_gateway_page"],
  ["an error in a 200", { error: { message: "slow down", type: "rate_limit_exceeded" } }, "rate_limited"],
])("R-KB-42 an answer with %s is an embedding that failed", (_what, body, failureClass) => {
  expect(read("openai-chat", body)).toMatchObject({ failureClass });
});

test.each([
  [401, "auth"],
  [404, "model_not_found"],
  [429, "rate_limited"],
  [503, "overloaded"],
  [302, "protocol"],
])("R-KB-40 a status %i is a failure of the class %s", (status, failureClass) => {
  expect(read("ollama", { error: "no" }, { status })).toMatchObject({ failureClass, httpStatus: status });
});

test("R-KB-42 the dimensions are those that were asked for; a vector of zeros stays one", () => {
  expect(read("openai-chat", entries([1, 2], [1, 2]), { dimensions: 3 })).toMatchObject({ failureClass: "malformed" });
  expect(numbers(read("openai-chat", entries([0, 0], [0, 2]), { dimensions: 2 }))).toEqual([0, 0, 0, 1]);
});

test("R-KB-41 a chunk is read below its title and headings, cut to the model, in bounded batches", () => {
  const chunk = { headings: ["Runs", "Cursors"], text: "## Cursors" };
  expect(embedText(undefined, chunk)).toBe("Runs > Cursors\n## Cursors");
  expect(embedText("Runs", chunk)).toBe("Runs > Cursors\n## Cursors");
  expect(embedText("Manual", chunk)).toBe("Manual > Runs > Cursors\n## Cursors");
  expect(embedText(undefined, { headings: [], text: "alone" })).toBe("alone");
  expect(cutToModel("äöü", 1)).toBe("ä");
  expect(cutToModel("x".repeat(30_000))).toHaveLength(24_000);
  const many = Array.from({ length: 130 }, (_, index) => `${index}`);
  expect(batchesOf(many).map(({ length }) => length)).toEqual([64, 64, 2]);
  expect(batchesOf(many).flat()).toEqual(many);
  const long = "x".repeat(60_000);
  expect(batchesOf([long, long, "a", "y".repeat(200_000), "b"]).map(({ length }) => length)).toEqual([1, 2, 1, 1]);
  expect(batchesOf([])).toEqual([]);
});

const list = (...ids: number[]): Ranked[] =>
  ids.map((id, index) => ({ id, chunkId: String.fromCharCode(96 + id), score: 1 - index / 10 }));

test("R-KB-46 two lists become one: first in both is 1, in one list only is at most a half", () => {
  const fused = fuse(list(1, 2, 3), list(1, 4, 2));
  expect(fused.map(({ chunkId, score }) => [chunkId, Number(score.toFixed(6))])).toEqual([
    ["a", 1],
    ["b", Number((((1 / 62 + 1 / 63) * 61) / 2).toFixed(6))],
    ["d", Number((61 / 62 / 2).toFixed(6))],
    ["c", Number((61 / 63 / 2).toFixed(6))],
  ]);
  expect(fused[1]).toMatchObject({ lexical: { rank: 2, score: 0.9 }, vector: { rank: 3, score: 0.8 } });
  expect(fused[2]).not.toHaveProperty("lexical");
  expect(fuse([], list(3)).map(({ score }) => score)).toEqual([0.5]);
  expect(fuse([], [])).toEqual([]);
});

test("R-KB-46 equal ones are in the order of their lexical rank, then of their names", () => {
  expect(fuse(list(2), list(1)).map(({ chunkId }) => chunkId)).toEqual(["b", "a"]);
  expect(fuse(list(1, 2), list(2, 1)).map(({ chunkId }) => chunkId)).toEqual(["a", "b"]);
  expect(placed("vector", list(2, 1))).toMatchObject([{ id: 2, vector: { rank: 1, score: 1 } }, { id: 1 }]);
});

test("R-KB-45 the nearest come first, with all that are as near as the last of them", () => {
  const parts = [
    { first: 10, numbers: Float32Array.of(1, 0, 0, 1) },
    { first: 30, numbers: Float32Array.of(-1, 0, 0.6, 0.8, 0, 1) },
  ];
  const found = (limit: number) => nearest(parts, Float32Array.of(0, 1), limit).map(({ id }) => id);
  expect(found(1)).toEqual([11, 32]);
  expect(found(3)).toEqual([11, 32, 31]);
  expect(found(100)).toEqual([11, 32, 31, 10, 30]);
  expect(nearest(parts, Float32Array.of(-1, 0), 1)).toEqual([{ id: 30, score: 1 }]);
  expect(nearest([], Float32Array.of(1), 5)).toEqual([]);
});

const configured = (embedding: unknown, more: object = {}) =>
  checkConfig({
    targets: [
      { id: "demo", adapter: "demo" },
      { id: "embed", adapter: "ollama", baseUrl: "http://ollama.test", model: "nomic", retries: 3, ...more },
    ],
    routes: { default: ["demo"] },
    kebab: { embedding },
  });

test.each([
  ["/kebab/embedding/target", { target: "none" }],
  ["/kebab/embedding/target", { target: "demo" }],
  ["/kebab/embedding/target", {}],
  ["/kebab/embedding/dimensions", { target: "embed", dimensions: 0 }],
  ["/kebab/embedding/dimensions", { target: "embed", dimensions: 4097 }],
  ["/kebab/embedding/model", { target: "embed", model: "x" }],
])("R-KB-40 the configuration's check names %s", (path, embedding) => {
  expect(configured(embedding)).toMatchObject({ ok: false, issues: [{ path }] });
});

test("R-KB-44 a version is target, model and the dimensions that are asked for", () => {
  const planned = (embedding: unknown) => {
    const checked = configured(embedding, { clocks: { headersMs: 5, totalMs: 50 } });
    return checked.ok ? embedPlanOf(checked.config) : undefined;
  };
  expect(planned({ target: "embed" })).toMatchObject({
    version: "embed/nomic",
    embedder: "ollama",
    retries: 3,
    headersMs: 5,
    totalMs: 50,
  });
  expect(planned({ target: "embed", dimensions: 256 })).toMatchObject({ version: "embed/nomic/256", dimensions: 256 });
  expect(planned(undefined)).toBeUndefined();
});
