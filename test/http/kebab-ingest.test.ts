// Ingests that are runs, over sockets: their lines, their reports, what is refused before and in them, and how they are taken up again.
import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ingestProgressSchema, ingestReportSchema } from "../../schemas/dialects/kebab-documents.ts";
import { kebabErrorSchema } from "../../schemas/dialects/kebab.ts";
import { newCollection, openKebab, type Kebab } from "../support/kebab-house.ts";
import { publishedFault } from "../support/kebab-schemas.ts";

let kebab: Kebab;

beforeAll(async () => {
  kebab = await openKebab();
});
afterAll(() => kebab.server.stop());

const lineSchema = v.union([
  v.intersect([ingestProgressSchema, v.looseObject({ sequence: v.optional(v.number()) })]),
  v.looseObject(ingestReportSchema.entries),
  v.looseObject(kebabErrorSchema.entries),
]);

const NDJSON = "application/x-ndjson";
const entries = [
  { doc_path: "a.md", content: "# A\n\nalpha\n\n## More\n\nof it" },
  { doc_path: "b.txt", content: "beta" },
];

interface Ingested {
  status: number;
  headers: Headers;
  text: string;
  lines: v.InferOutput<typeof lineSchema>[];
}

async function ingest(
  collection: string,
  given: readonly unknown[] = entries,
  { headers = {}, query = "" }: { headers?: Record<string, string>; query?: string } = {},
): Promise<Ingested> {
  const response = await fetch(`${kebab.base}/collections/${collection}/documents${query}`, {
    method: "POST",
    headers: { "content-type": NDJSON, accept: NDJSON, ...headers },
    body: given.map((entry) => JSON.stringify(entry)).join("\n"),
  });
  return answered(response);
}

async function answered(response: Response): Promise<Ingested> {
  const text = await response.text();
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => v.parse(lineSchema, JSON.parse(line)));
  for (const line of lines) {
    if (line.schema_version === "error.v1") expect(publishedFault("error", line)).toBeUndefined();
  }
  return { status: response.status, headers: response.headers, text, lines };
}

/** Lines without what differs from run to run. */
const story = (lines: readonly object[]): unknown[] =>
  lines.map((line) =>
    Object.fromEntries(
      Object.entries(line).filter(
        ([name]) => !["schema_version", "ts", "sequence", "fraction_completed", "duration_ms", "items"].includes(name),
      ),
    ),
  );

const runOf = ({ headers }: Ingested): string => headers.get("x-run-id") ?? "";

test("R-KB-50 R-KB-51 a batch tells how far it is, line by line, and its last line is the report", async () => {
  const collection = newCollection();
  await kebab.put(collection, "b.txt", "beta", "text/plain");
  const ingested = await ingest(collection);
  expect(ingested.status).toBe(200);
  expect(ingested.headers.get("content-type")).toBe(NDJSON);
  expect(ingested.headers.get("location")).toBe(`/kebab/runs/${runOf(ingested)}`);
  expect(story(ingested.lines)).toEqual([
    { kind: "scan_started", root: collection },
    { kind: "scan_completed", total: 2 },
    { kind: "asset_started", idx: 1, total: 2, path: "a.md", media: "markdown" },
    { kind: "asset_chunked", idx: 1, total: 2, n_chunks: 2 },
    { kind: "asset_finished", idx: 1, total: 2, result: "new", chunks: 2 },
    { kind: "asset_started", idx: 2, total: 2, path: "b.txt" },
    { kind: "asset_finished", idx: 2, total: 2, result: "skipped", chunks: 1 },
    {
      kind: "completed",
      counts: {
        scanned: 2,
        new: 1,
        updated: 0,
        skipped: 1,
        errors: 0,
        chunks_indexed: 2,
        embeddings_indexed: 0,
      },
    },
    {
      scope: { collection },
      scanned: 2,
      new: 1,
      updated: 0,
      skipped: 0,
      unchanged: 1,
      errors: 0,
      skipped_by_extension: {},
    },
  ]);
  expect(ingested.lines.at(-1)).toMatchObject({
    schema_version: "ingest_report.v1",
    items: [
      { kind: "new", doc_path: "a.md", chunk_count: 2 },
      { kind: "unchanged", doc_path: "b.txt" },
    ],
  });
  const found = await kebab.search({ query: "alpha", collection });
  expect(found.body["hits"]).toMatchObject([{ doc_path: "a.md" }]);
});

test("R-KB-50 one document may be a run too, and its report is that of a put", async () => {
  const collection = newCollection();
  const put = (): Promise<Response> =>
    fetch(`${kebab.base}/collections/${collection}/documents/notes/a.md?tags=x`, {
      method: "PUT",
      headers: { "content-type": "text/markdown", accept: NDJSON },
      body: "# A",
    });
  const first = (await answered(await put())).lines.at(-1);
  expect(first).toMatchObject({ schema_version: "ingest_report.v1", new: 1, items: [{ doc_path: "notes/a.md" }] });
  const again = await answered(await put());
  expect(again.lines.at(-1)).toMatchObject({ unchanged: 1, new: 0 });
  const { body } = await kebab.call("GET", `/schema?collection=${collection}`);
  expect(body).toMatchObject({
    models: { corpus_revision: 1 },
    capabilities: { ingest_progress: true, ingest_cancellation: true },
    wire: { schemas: expect.arrayContaining(["ingest_progress.v1"]) },
  });
});

test("R-KB-52 it is read again from any line that ends an event, equal to the byte, and natively", async () => {
  const ingested = await ingest(newCollection());
  const lines = ingested.text.split(/(?<=\n)/).filter((line) => line.trim() !== "");
  const numbered = lines.map((line): { sequence?: number; fraction_completed?: number } => JSON.parse(line));
  const fractions = numbered.flatMap(({ fraction_completed: fraction }) => fraction ?? []);
  expect(fractions).toEqual(fractions.toSorted((one, other) => one - other));
  expect(fractions.at(-1)).toBe(1);
  for (const [index, { sequence }] of numbered.entries()) {
    if (sequence === undefined) continue;
    const rest = await fetch(`${kebab.base}/runs/${runOf(ingested)}?after=${sequence}`);
    expect((await rest.text()).trimStart()).toBe(lines.slice(index + 1).join(""));
  }
  const native = await fetch(`${kebab.server.origin}/v1/runs/${runOf(ingested)}/events`, {
    headers: { accept: NDJSON },
  });
  const events = (await native.text())
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line): { type: string; payload: Record<string, unknown> } => JSON.parse(line));
  const progress = events.filter(({ type }) => type === "preparation_progress");
  expect(progress[0]?.payload).toMatchObject({
    providerId: "collection",
    task: "scan",
    fractionCompleted: 0,
    progress: [{ kind: "scan_started" }, { kind: "scan_completed" }],
  });
  expect(progress.at(-1)?.payload).toMatchObject({ task: "keep", fractionCompleted: 1 });
  const { sequence: _sequence, ...report } = JSON.parse(lines.at(-1) ?? "");
  expect(JSON.parse(String(events.at(-1)?.payload["finalText"]))).toEqual(report);
});

test("R-KB-53 what the request alone shows is an HTTP error, and no run is there", async () => {
  const collection = newCollection();
  const key = { "idempotency-key": randomUUID() };
  const many = Array.from({ length: 10_001 }, (_, index) => ({ doc_path: `${index}.md`, content: "x" }));
  const refused: [given: unknown[], status: number, details: Record<string, unknown>][] = [
    [[{ doc_path: "a.md" }], 400, { field: "line 1: content" }],
    [[entries[0], entries[0]], 400, { field: "line 2: doc_path" }],
    [[{ doc_path: "a.md", content: "x".repeat(8 * 1024 * 1024) }], 413, { reason: "too_large" }],
    [many, 422, { reason: "collection_limit", what: "documents", limit: 10_000 }],
  ];
  for (const [given, status, details] of refused) {
    const answer = await ingest(collection, given, { headers: key });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-run-id")).toBeNull();
    expect(answer.lines).toMatchObject([{ schema_version: "error.v1", details }]);
  }
  expect((await kebab.call("GET", `/collections/${collection}`)).status).toBe(404);
  // The key is as good as unused.
  expect((await ingest(collection, entries, { headers: key })).lines.at(-1)).toMatchObject({ new: 2 });
});

test("R-KB-54 what only the collection knows ends the run, and nothing is kept", async () => {
  const collection = newCollection();
  const ingested = await ingest(collection, [...entries, { doc_path: "many.md", content: "# H\n\n".repeat(20_001) }]);
  expect(ingested.status).toBe(200);
  expect(ingested.lines.at(-2)).toMatchObject({ kind: "aborted", counts: { scanned: 3, new: 0, errors: 1 } });
  expect(ingested.lines.at(-1)).toMatchObject({
    schema_version: "error.v1",
    code: "generic",
    details: {
      reason: "too_many_chunks",
      doc_path: "many.md",
      limit: 20_000,
      run_id: runOf(ingested),
      retryable: false,
    },
    sequence: expect.any(Number),
  });
  expect((await kebab.call("GET", `/collections/${collection}`)).status).toBe(404);
});

test("R-KB-55 a cancel that comes too late answers with the report", async () => {
  const ingested = await ingest(newCollection());
  const answer = await kebab.call("POST", `/runs/${runOf(ingested)}/cancel`);
  expect(answer.body).toEqual(ingested.lines.at(-1));
});

test("R-DELETE-1 R-KB-50 a run that is deleted while its documents are written tells its reader the end", async () => {
  const name = newCollection();
  const many = Array.from({ length: 1500 }, (_, index) => ({
    doc_path: `a/long/path/of/a/document/${index}.md`,
    content: `# ${index}\n\n${"many words ".repeat(60)}`,
  }));
  const response = await fetch(`${kebab.base}/collections/${name}/documents`, {
    method: "POST",
    headers: { "content-type": NDJSON, accept: NDJSON },
    body: many.map((entry) => JSON.stringify(entry)).join("\n"),
  });
  const run = new URL((response.headers.get("location") ?? "").replace("/kebab/", "/v1/"), kebab.base);
  let text = "";
  let deleted: Promise<Response> | undefined;
  for await (const part of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes('"fraction_completed":0.9')) deleted ??= fetch(run, { method: "DELETE" });
  }
  expect((await deleted)?.status).toBe(204);
  const last: unknown = JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");
  const { status } = await kebab.call("GET", `/collections/${name}`);
  const whole = { schema_version: "ingest_report.v1", new: many.length };
  expect(last).toMatchObject(status === 200 ? whole : { schema_version: "error.v1", details: { reason: "cancelled" } });
});

test("R-KB-57 a key and the same documents are the same run; other documents are a conflict", async () => {
  const collection = newCollection();
  const headers = { "idempotency-key": randomUUID() };
  const first = await ingest(collection, entries, { headers });
  const again = await ingest(collection, entries, { headers });
  expect(again.text).toBe(first.text);
  expect(runOf(again)).toBe(runOf(first));
  const after = await ingest(collection, entries, { headers, query: "?after=2" });
  expect(first.text.endsWith(after.text)).toBe(true);
  const other = await ingest(collection, entries.slice(1), { headers });
  expect(other.lines).toMatchObject([{ details: { reason: "conflict", field: "header:Idempotency-Key" } }]);
  const ahead = await ingest(collection, entries, { headers: { "idempotency-key": randomUUID() }, query: "?after=2" });
  expect(ahead.status).toBe(400);
});
