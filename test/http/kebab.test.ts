// The kebab family over sockets: collections, their documents, searches, and everything that is refused.
import { createHash, randomUUID } from "node:crypto";
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  bulkResponseSchema,
  kebabErrorSchema,
  searchResponseSchema,
  selfSchema,
  type SearchResponse,
} from "../../schemas/dialects/kebab.ts";
import { collectionSchema, fetchResultSchema, ingestReportSchema } from "../../schemas/dialects/kebab-documents.ts";
import { newCollection, openKebab, type Answered, type Kebab } from "../support/kebab-house.ts";
import { publishedFault } from "../support/kebab-schemas.ts";
import { exchange } from "./house.ts";

const MIB = 1024 * 1024;
let kebab: Kebab;

beforeAll(async () => {
  kebab = await openKebab({ limits: { maxBodyBytes: 2 * MIB }, cors: { origins: ["https://app.example"] } });
});
afterAll(() => kebab.server.stop());

const page = `---
title: Handbook
tags: [ops, public]
lang: en
---
Preface of the handbook.

# Runs

A run is one execution.

## Cursors

The cursor is the last sequence that a reader has seen.

# Storage

Each object has its own database.
`;

function reportOf(answer: Answered, status: number) {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  return v.parse(ingestReportSchema, answer.body);
}

function hitsOf(answer: Answered): SearchResponse {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const response = v.parse(searchResponseSchema, answer.body);
  expect(publishedFault("search_response", answer.body)).toBeUndefined();
  for (const hit of response.hits) {
    expect(publishedFault("search_hit", hit)).toBeUndefined();
    expect(publishedFault("citation", hit.citation)).toBeUndefined();
  }
  return response;
}

function errorOf(answer: Answered, status: number) {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(publishedFault("error", answer.body)).toBeUndefined();
  return v.parse(kebabErrorSchema, answer.body);
}

async function revisionOf(collection: string): Promise<number> {
  const answer = await kebab.call("GET", `/schema?collection=${collection}`);
  return v.parse(selfSchema, answer.body).models.corpus_revision;
}

test("R-KB-1 a document is new, then unchanged and nothing is written, then updated", async () => {
  const name = newCollection();
  const first = reportOf(await kebab.put(name, "notes/hand book.md", page), 201);
  expect(first).toMatchObject({
    scope: { collection: name },
    scanned: 1,
    new: 1,
    items: [{ kind: "new", doc_path: "notes/hand book.md" }],
  });
  expect(await revisionOf(name)).toBe(1);
  const again = reportOf(await kebab.put(name, "notes/hand%20book.md", page), 200);
  expect(again).toMatchObject({ unchanged: 1, items: [{ kind: "unchanged", doc_id: first.items[0]?.doc_id }] });
  expect(await revisionOf(name)).toBe(1);
  const changed = reportOf(await kebab.put(name, "notes/hand book.md", page.replace("database", "store")), 200);
  expect(changed).toMatchObject({ updated: 1, items: [{ kind: "updated" }] });
  expect(changed.items[0]?.doc_id).not.toBe(first.items[0]?.doc_id);
  expect(await revisionOf(name)).toBe(2);
  expect(hitsOf(await kebab.search({ collection: name, query: "database" })).hits).toEqual([]);
  expect(hitsOf(await kebab.search({ collection: name, query: "store" })).hits).toHaveLength(1);
});

test("R-KB-1 the same document put many times at once is written once", async () => {
  const name = newCollection();
  const answers = await Promise.all(Array.from({ length: 8 }, () => kebab.put(name, "a.md", page)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200, 200, 200, 200, 200, 200, 200, 201,
  ]);
  expect(await revisionOf(name)).toBe(1);
});

test("R-KB-1 what is said of a document in the query comes before what it says itself", async () => {
  const name = newCollection();
  reportOf(await kebab.put(name, "a.md?title=Mine&tags=x,%20y&trust_level=secondary", page), 201);
  const { document } = v.parse(
    fetchResultSchema,
    (await kebab.call("GET", `/collections/${name}/documents/a.md`)).body,
  );
  expect(document).toMatchObject({
    title: "Mine",
    tags: ["x", "y"],
    lang: "en",
    trust_level: "secondary",
    source_type: "markdown",
  });
  reportOf(await kebab.put(name, "a.md?title=Other", page), 200);
  const error = errorOf(await kebab.put(name, "a.md?trust_level=high", page), 400);
  expect(error.details).toMatchObject({ reason: "invalid_input", field: "query:trust_level" });
});

test("R-KB-2 R-KB-9 a byte order mark makes no other document, one by one or in a batch", async () => {
  const name = newCollection();
  const content = "\ufeff---\ntitle: Own\n---\ntext";
  await kebab.put(name, "a.md", content);
  const before = await kebab.call("GET", `/collections/${name}/documents/a.md`);
  expect(before.body).toMatchObject({ text: content.slice(1), document: { title: "Own" } });
  const again = await kebab.batch(name, [{ doc_path: "a.md", content }]);
  expect(again.body).toMatchObject({ unchanged: 1, updated: 0 });
  expect((await kebab.call("GET", `/collections/${name}/documents/a.md`)).body).toEqual(before.body);
});

test("R-KB-2 ids are the same in every collection, and others for another path or content", async () => {
  const names = [newCollection(), newCollection()];
  const found = await Promise.all(
    names.map(async (name) => {
      await kebab.put(name, "a.md", page);
      await kebab.put(name, "b.md", page);
      const { hits } = hitsOf(await kebab.search({ collection: name, query: "cursor sequence" }));
      return hits.map(({ chunk_id, doc_id }) => [chunk_id, doc_id]);
    }),
  );
  expect(found[0]).toHaveLength(2);
  expect(found[1]).toEqual(found[0]);
  expect(new Set(found.flat(2)).size).toBe(4);
});

test("R-KB-7 a batch is kept whole, or not at all", async () => {
  const name = newCollection();
  const good = [
    { doc_path: "a.md", content: "# A\nalpha" },
    { doc_path: "b.txt", content: "beta", tags: ["t"], lang: null },
    { doc_path: "c", content: "<h1>C</h1>gamma", content_type: "text/html" },
  ];
  const bad: [unknown, string][] = [
    [{ doc_path: "a.md", content: "twice" }, "line 4: doc_path"],
    [{ doc_path: "x#y", content: "" }, "line 4: doc_path"],
    [{ doc_path: "../x", content: "" }, "line 4: doc_path"],
    [{ doc_path: "x", content: "a\0b" }, "line 4: content"],
    [{ doc_path: "x", content: "%PDF-1.7" }, "line 4: content"],
    [{ doc_path: "x" }, "line 4: content"],
    [{ doc_path: "x", content: "y", content_type: "application/pdf" }, "line 4: content_type"],
    [[], "line 4"],
  ];
  for (const [entry, field] of bad) {
    const { details } = errorOf(await kebab.batch(name, [...good, entry]), 400);
    expect(details).toEqual({ reason: "invalid_input", field });
  }
  errorOf(await kebab.batch(name, []), 400);
  errorOf(await kebab.call("GET", `/collections/${name}`), 404);
  const report = reportOf(await kebab.batch(name, good), 201);
  expect(report).toMatchObject({ scanned: 3, new: 3, unchanged: 0 });
  expect(report.items.map(({ doc_path, parser_version }) => [doc_path, parser_version])).toEqual([
    ["a.md", "markdown-v2"],
    ["b.txt", "text-v1"],
    ["c", "html-v1"],
  ]);
  expect(await revisionOf(name)).toBe(1);
  const mixed = reportOf(await kebab.batch(name, [...good.slice(0, 2), { doc_path: "d.md", content: "delta" }]), 201);
  expect(mixed).toMatchObject({ new: 1, unchanged: 2 });
  expect(await revisionOf(name)).toBe(2);
});

test("R-KB-8 what is no document is refused, and nothing of it is kept", async () => {
  const name = newCollection();
  const refused = async (answer: Promise<Answered>, status: number, details: Record<string, unknown>) =>
    expect(errorOf(await answer, status)).toMatchObject({ code: "generic", details });
  const body = { reason: "invalid_input", field: "body" };
  await refused(kebab.put(name, "a.md", new Uint8Array([0xc3, 0x28])), 400, body);
  await refused(kebab.put(name, "a.md", new Uint8Array([80, 75, 3, 4, 0, 0])), 400, body);
  await refused(kebab.put(name, "a.md", "%PDF-1.7"), 400, body);
  await refused(kebab.put(name, "a.md", "x", "application/pdf"), 415, { reason: "unsupported_media_type" });
  await refused(kebab.put(name, "a.md", "x", "text/plain; charset=latin1"), 415, {});
  await refused(kebab.put(name, "a%23b.md", "x"), 400, { reason: "invalid_input", field: "docId" });
  await refused(kebab.put(name, "a%00b.md", "x"), 400, { field: "docId" });
  expect(errorOf(await kebab.put(name, "a%5Cb.md", "x"), 400).message).toContain("backslash");
  await refused(kebab.put(name, "a//b.md", "x"), 400, { field: "docId" });
  for (const encoded of ["%ff", "%", "a/%zz.md", "%c3", "%ed%a0%80"]) {
    await refused(kebab.put(name, encoded, "x"), 400, { reason: "invalid_input", field: "docId" });
    await refused(kebab.call("GET", `/collections/${name}/documents/${encoded}`), 400, { field: "docId" });
  }
  await refused(kebab.put(name, "x".repeat(600), "x"), 400, { field: "docId" });
  await refused(kebab.put("no%20name", "a.md", "x"), 400, { field: "collection" });
  await refused(kebab.put(name, "a.md", "y".repeat(9 * MIB)), 413, { reason: "too_large" });
  await refused(kebab.put(name, "a.md", "# a\n".repeat(30_000)), 422, { reason: "too_many_chunks", doc_path: "a.md" });
  const pieces = Array.from({ length: 9 }, () => "z".repeat(MIB));
  const unannounced = await exchange(kebab.server.port, `/kebab/collections/${name}/documents/a.md`, {
    method: "PUT",
    headers: { "content-type": "text/plain" },
    body: pieces,
  });
  expect([unannounced.status, JSON.parse(unannounced.text)]).toMatchObject([413, { schema_version: "error.v1" }]);
  errorOf(await kebab.call("GET", `/collections/${name}`), 404);
  errorOf(await kebab.call("GET", `/collections/${name}/documents/a.md`), 404);
});

test("R-KB-9 a document of 8 MiB is kept and read back as it came", { timeout: 60_000 }, async () => {
  const name = newCollection();
  const text = "Words of a long document, one after the other.\n".repeat(200_000).slice(0, 8 * MIB);
  const report = reportOf(await kebab.put(name, "long.txt", text, "text/plain; charset=utf-8"), 201);
  expect(report.items[0]).toMatchObject({ byte_len: 8 * MIB });
  const { body } = await kebab.call("GET", `/collections/${name}/documents/long.txt`);
  expect(body["text"] === text).toBe(true);
  expect(hitsOf(await kebab.search({ collection: name, query: "long document" })).hits).toHaveLength(10);
});

test("R-KB-10 a document is read whole, or by lines of its source", async () => {
  const name = newCollection();
  await kebab.put(name, "a/b c.md", "\uFEFFone\r\ntwo\rthree\n");
  const path = `/collections/${name}/documents/a/b%20c.md`;
  const read = async (query: string) => v.parse(fetchResultSchema, (await kebab.call("GET", `${path}${query}`)).body);
  expect(await read("")).toMatchObject({
    kind: "doc",
    doc_path: "a/b c.md",
    text: "one\r\ntwo\rthree\n",
    line_start: 1,
    line_end: 4,
    effective_end: null,
    truncated: false,
  });
  expect(await read("?lines=2-3")).toMatchObject({
    kind: "span",
    text: "two\rthree",
    line_start: 2,
    line_end: 3,
    effective_end: null,
  });
  expect(await read("?lines=3")).toMatchObject({ text: "three" });
  expect(await read("?lines=3-90")).toMatchObject({ text: "three\n", line_end: 90, effective_end: 4, truncated: true });
  expect(await read("?lines=50-90")).toMatchObject({ text: "", truncated: true });
  for (const lines of ["0", "3-2", "x", "", "1-", "1-99999999999"]) {
    expect(errorOf(await kebab.call("GET", `${path}?lines=${lines}`), 400).details).toMatchObject({
      field: "query:lines",
    });
  }
});

test("R-KB-10 the lines of a citation are the chunk", async () => {
  const name = newCollection();
  await kebab.put(name, "a.md", page);
  const { hits } = hitsOf(await kebab.search({ collection: name, query: "cursor", snippet_chars: 4000 }));
  const [{ citation, snippet } = { citation: undefined, snippet: "" }] = hits;
  expect(citation).toMatchObject({
    uri: "a.md#L12-L14",
    start: 12,
    end: 14,
    section: "Cursors",
    line: { start: 12, end: 14 },
  });
  const { body } = await kebab.call(
    "GET",
    `/collections/${name}/documents/a.md?lines=${citation?.start}-${citation?.end}`,
  );
  expect(String(body["text"]).replaceAll(/\s+/g, " ")).toBe(snippet);
});

test("R-KB-76 a chunk is read by its id, with those around it", async () => {
  const name = newCollection();
  await kebab.put(name, "a.md", ["# A", "## B", "é", "## C", "c", "## D", "d"].join("\n\n"));
  await kebab.put(name, "other.md", "# Other\n\nc");
  const { hits } = hitsOf(await kebab.search({ collection: name, query: "c" }));
  const idIn = (path: string): string => hits.find(({ doc_path }) => doc_path === path)?.chunk_id ?? "";
  const fetched = (query: string) => kebab.call("GET", `/collections/${name}/documents/a.md?${query}`);
  const read = async (query: string) => v.parse(fetchResultSchema, (await fetched(query)).body);
  const ofLines = (start: number, end: number) => [{ kind: "line", start, end }];
  expect(await read(`chunk=${idIn("a.md")}`)).toMatchObject({
    kind: "chunk",
    doc_path: "a.md",
    truncated: false,
    chunk: { chunk_id: idIn("a.md"), heading_path: ["A", "C"], text: "## C\n\nc", source_spans: ofLines(7, 9) },
    context_before: [],
    context_after: [],
    document: { chunk_count: 4 },
  });
  expect(await read(`chunk=${idIn("a.md")}&context=1`)).toMatchObject({
    context_before: [{ text: "## B\n\né", token_estimate: 3, source_spans: ofLines(3, 5) }],
    context_after: [{ heading_path: ["A", "D"] }],
  });
  const wide = await read(`chunk=${idIn("a.md")}&context=20`);
  expect("chunk" in wide ? [wide.context_before.length, wide.context_after.length] : []).toEqual([2, 1]);
  for (const chunk of [idIn("other.md"), "0".repeat(32), "", "x' OR 1=1"]) {
    const error = errorOf(await fetched(`chunk=${encodeURIComponent(chunk)}`), 404);
    expect(error.details).toMatchObject({ reason: "chunk_not_found", doc_path: "a.md", chunk_id: chunk });
  }
  for (const context of ["21", "-1", "x", ""]) {
    const error = errorOf(await fetched(`chunk=${idIn("a.md")}&context=${context}`), 400);
    expect(error.details).toMatchObject({ field: "query:context" });
  }
  expect(errorOf(await fetched(`chunk=${idIn("a.md")}&lines=1`), 400).details).toMatchObject({ field: "query:lines" });
  const elsewhere = await kebab.call("GET", `/collections/${name}/documents/no.md?chunk=${idIn("a.md")}`);
  expect(errorOf(elsewhere, 404).details).toMatchObject({ reason: "doc_not_found" });
});

test("R-KB-75 many searches are answered at once, each with its hits or its error", async () => {
  const name = newCollection();
  await kebab.put(name, "a.md", page);
  const bulk = (lines: readonly string[], headers: Record<string, string> = {}) =>
    kebab.call("POST", "/search", lines.join("\n"), {
      "content-type": "application/x-ndjson; charset=utf-8",
      ...headers,
    });
  const asked = (fields: Record<string, unknown>) => JSON.stringify({ collection: name, ...fields });
  const answered = await bulk([
    asked({ query: "cursor", k: 1 }),
    "",
    "{not json",
    "[1]",
    asked({ query: "" }),
    asked({ query: "cursor", k: 0 }),
    asked({ query: "cursor", collection: "nobody" }),
    asked({ query: "cursor", cursor: "x" }),
    asked({ query: "zebra", own: 1 }),
  ]);
  expect(answered.status).toBe(200);
  const { results, summary } = v.parse(bulkResponseSchema, answered.body);
  expect(summary).toEqual({ total: 8, succeeded: 2, failed: 6 });
  expect(results.map(({ query, error }) => [query["query"], error?.code, error?.details["field"]])).toEqual([
    ["cursor", undefined, undefined],
    [undefined, "generic", "body"],
    [undefined, "generic", "body"],
    ["", "generic", "query"],
    ["cursor", "generic", "k"],
    ["cursor", "not_indexed", undefined],
    ["cursor", "generic", "cursor"],
    ["zebra", undefined, undefined],
  ]);
  expect(results.every(({ response, error }) => (response === null) !== (error === null))).toBe(true);
  expect(results[0]?.response).toEqual((await kebab.search({ collection: name, query: "cursor", k: 1 })).body);
  expect(results[7]).toMatchObject({ query: { collection: name, query: "zebra", own: 1 }, response: { hits: [] } });
  for (const { response, error } of results) {
    const fault = response === null ? publishedFault("error", error) : publishedFault("search_response", response);
    expect(fault).toBeUndefined();
  }
  const many = await bulk(Array.from({ length: 100 }, () => asked({ query: "cursor", k: 1 })));
  expect(many.body).toMatchObject({ summary: { total: 100, succeeded: 100 } });
  for (const lines of [Array.from({ length: 101 }, () => "{}"), [], [" "]]) {
    expect(errorOf(await bulk(lines), 400).details).toMatchObject({ field: "body" });
  }
  expect(errorOf(await bulk([asked({ query: "x".repeat(2_200_000) })]), 413).details).toMatchObject({
    reason: "too_large",
  });
  const broken = await kebab.call("POST", "/search", new Uint8Array([0x7b, 0xff]), {
    "content-type": "application/x-ndjson",
  });
  expect(errorOf(broken, 400).details).toMatchObject({ field: "body" });
});

test("R-KB-11 a collection lists its documents by path, page by page, and is forgotten with them", async () => {
  const name = newCollection();
  await kebab.batch(
    name,
    ["c", "a", "b/x", "b"].map((doc_path) => ({ doc_path, content: doc_path })),
  );
  const read = async (query: string) =>
    v.parse(collectionSchema, (await kebab.call("GET", `/collections/${name}${query}`)).body);
  const whole = await read("");
  expect(whole).toMatchObject({
    collection: name,
    corpus_revision: 1,
    doc_count: 4,
    chunk_count: 4,
    byte_len: 6,
    next_after: null,
  });
  expect(whole.documents.map(({ doc_path }) => doc_path)).toEqual(["a", "b", "b/x", "c"]);
  const first = await read("?limit=2");
  expect([first.documents.length, first.next_after]).toEqual([2, "b"]);
  expect((await read("?limit=2&after=b")).documents.map(({ doc_path }) => doc_path)).toEqual(["b/x", "c"]);
  for (const limit of ["0", "1001", "x", "1.5"])
    errorOf(await kebab.call("GET", `/collections/${name}?limit=${limit}`), 400);
  expect((await kebab.call("DELETE", `/collections/${name}`)).status).toBe(204);
  expect(errorOf(await kebab.call("GET", `/collections/${name}`), 404)).toMatchObject({
    code: "not_indexed",
    details: { expected: name, found: "none" },
  });
  errorOf(await kebab.call("DELETE", `/collections/${name}`), 404);
  reportOf(await kebab.put(name, "a", "anew", "text/plain"), 201);
  expect(hitsOf(await kebab.search({ collection: name, query: "anew" })).hits).toHaveLength(1);
});

test("R-ERR-3 R-KB-8 an address that its dots lead out of a collection deletes nothing", async () => {
  const name = newCollection();
  await kebab.put(name, "a.md", page);
  for (const docId of ["%2e%2e", "..", ".%2E", "%2e", "a/..", ""]) {
    const { status, body } = await kebab.call("DELETE", `/collections/${name}/documents/${docId}`);
    expect([404, 405], docId).toContain(status);
    expect(body).toMatchObject({ schema_version: "error.v1" });
  }
  expect((await kebab.call("GET", `/collections/${name}/documents/a.md`)).status).toBe(200);
});

test("R-KB-12 a document is forgotten with its chunks", async () => {
  const name = newCollection();
  await kebab.batch(name, [
    { doc_path: "a", content: "same words" },
    { doc_path: "b", content: "same words" },
  ]);
  expect((await kebab.call("DELETE", `/collections/${name}/documents/a`)).status).toBe(204);
  const { details } = errorOf(await kebab.call("DELETE", `/collections/${name}/documents/a`), 404);
  expect(details).toEqual({ reason: "doc_not_found", doc_path: "a" });
  expect(hitsOf(await kebab.search({ collection: name, query: "words" })).hits.map(({ doc_path }) => doc_path)).toEqual(
    ["b"],
  );
  await kebab.call("DELETE", `/collections/${name}/documents/b`);
  expect(hitsOf(await kebab.search({ collection: name, query: "words" })).hits).toEqual([]);
  const left = v.parse(collectionSchema, (await kebab.call("GET", `/collections/${name}`)).body);
  expect(left).toMatchObject({ doc_count: 0, chunk_count: 0, byte_len: 0, corpus_revision: 3 });
});

test.each([
  [{ query: "" }, "query"],
  [{ query: " \n" }, "query"],
  [{}, "query"],
  [{ query: 5 }, "query"],
  [{ query: "x", k: 0 }, "k"],
  [{ query: "x", k: 101 }, "k"],
  [{ query: "x", k: 1.5 }, "k"],
  [{ query: "x", mode: "magic" }, "mode"],
  [{ query: "x", collection: "" }, "collection"],
  [{ query: "x", collection: "a/b" }, "collection"],
  [{ query: "x", max_tokens: 0 }, "max_tokens"],
  [{ query: "x", ingested_after: "yesterday" }, "ingested_after"],
  [{ query: "x", ingested_after: "2020-01-01T00:00:00+02" }, "ingested_after"],
  [{ query: "x", trust_min: "high" }, "trust_min"],
  [{ query: "x", tags: "a" }, "tags"],
])("R-KB-14 the search %j is refused by its field", async (body, field) => {
  const error = errorOf(await kebab.search(body), 400);
  expect(error).toMatchObject({ code: "generic", details: { reason: "invalid_input", field } });
});

test("R-KB-14 a question of a megabyte is refused by its field", async () => {
  const { details } = errorOf(await kebab.search({ query: "x".repeat(MIB) }), 400);
  expect(details).toEqual({ reason: "invalid_input", field: "query" });
});

test("R-KB-14 null is as good as nothing, the collection named default is searched, ten hits come", async () => {
  await kebab.batch(
    "default",
    Array.from({ length: 12 }, (_, index) => ({ doc_path: `d${index}`, content: "equal words" })),
  );
  const nothing = { mode: null, k: null, cursor: null, tags: null, lang: null, trace: null, collection: null };
  expect(hitsOf(await kebab.search({ query: "words", ...nothing })).hits).toHaveLength(10);
  expect(hitsOf(await kebab.search({ query: "words", k: 100, more: 1 })).hits).toHaveLength(12);
  expect(errorOf(await kebab.search({ query: "words", collection: newCollection() }), 404)).toMatchObject({
    code: "not_indexed",
  });
});

test.each([
  '"open',
  "*",
  "zz*",
  "NEAR(cursor, run)",
  "-cursor",
  "headings:cursor",
  "cursor AND",
  "NOT cursor OR (",
  "'cursor'",
  "^cursor",
  "{headings body}: cursor",
  "cursor + run",
  "\0cursor",
  "a'; DROP TABLE chunk; --",
])("R-KB-17 the question %j is text", async (query) => {
  await kebab.put("syntax", "a.md", page);
  const { hits } = hitsOf(await kebab.search({ query, collection: "syntax" }));
  expect(hits.length > 0).toBe(query.includes("ursor"));
});

test("R-KB-18 a hit has what the published schema and what older readers ask for", async () => {
  const name = newCollection();
  await kebab.put(name, "docs/a.md", page);
  const { hits, next_cursor, truncated } = hitsOf(await kebab.search({ collection: name, query: "What is a cursor?" }));
  expect([next_cursor, truncated]).toEqual([null, false]);
  expect(hits).toHaveLength(1);
  expect(hits[0]).toMatchObject({
    schema_version: "search_hit.v1",
    rank: 1,
    score_kind: "bm25",
    doc_path: "docs/a.md",
    heading_path: ["Runs", "Cursors"],
    section_label: "Cursors",
    snippet: "## Cursors The cursor is the last sequence that a reader has seen.",
    citation: {
      schema_version: "citation.v1",
      kind: "line",
      path: "docs/a.md",
      uri: "docs/a.md#L12-L14",
      stale: false,
    },
    retrieval: { method: "lexical", vector_score: null, lexical_rank: 1, vector_rank: null },
    embedding_model: null,
    stale: false,
    source_id: "default",
    trust_level: "primary",
  });
  const { score, retrieval } = hits[0] ?? {};
  expect(score).toBeGreaterThanOrEqual(0.6);
  expect([retrieval?.fusion_score, retrieval?.lexical_score]).toEqual([score, score]);
});

test("R-KB-16 a chunk with more of the question comes first, found by its headings and its document's title too", async () => {
  const name = newCollection();
  await kebab.batch(name, [
    { doc_path: "one.md", content: "# Lease\nrenewal renewal renewal renewal" },
    { doc_path: "two.md", content: "# Lease\n## Renewal\nA tenant has thirty days." },
    { doc_path: "three.md", content: "# Tenant\nthirty" },
    { doc_path: "four.md", content: "days", title: "Lease renewal tenant thirty" },
  ]);
  const { hits } = hitsOf(await kebab.search({ collection: name, query: "lease renewal tenant thirty days" }));
  expect(
    hits
      .slice(0, 2)
      .map(({ doc_path }) => doc_path)
      .toSorted(),
  ).toEqual(["four.md", "two.md"]);
  expect(hits[0]?.score).toBeGreaterThan(0.59);
});

test("R-KB-20 filters are about documents, and all of them must hold", async () => {
  const name = newCollection();
  await kebab.batch(name, [
    { doc_path: "docs/a.md", content: "word", tags: ["x", "y"], lang: "en", trust_level: "primary" },
    { doc_path: "docs/b.txt", content: "word", tags: ["y"], lang: "de", trust_level: "secondary" },
    { doc_path: "c.html", content: "<p>word", trust_level: "generated" },
  ]);
  const found = async (filters: Record<string, unknown>) =>
    hitsOf(await kebab.search({ collection: name, query: "word", ...filters }))
      .hits.map(({ doc_path }) => doc_path)
      .toSorted();
  expect(await found({ tags: ["x"] })).toEqual(["docs/a.md"]);
  expect(await found({ tags: ["x", "y"] })).toEqual(["docs/a.md", "docs/b.txt"]);
  expect(await found({ lang: "DE" })).toEqual(["docs/b.txt"]);
  expect(await found({ path_glob: "docs/*" })).toEqual(["docs/a.md", "docs/b.txt"]);
  expect(await found({ trust_min: "secondary" })).toEqual(["docs/a.md", "docs/b.txt"]);
  expect(await found({ media: ["md"] })).toEqual(["docs/a.md"]);
  expect(await found({ media: ["html", "text"] })).toEqual(["c.html", "docs/b.txt"]);
  expect(await found({ ingested_after: "2020-01-01T00:00:00Z" })).toHaveLength(3);
  expect(await found({ ingested_after: "2020-01-01T00:00:00+02:00" })).toHaveLength(3);
  expect(await found({ ingested_after: "2999-01-01T00:00:00Z" })).toEqual([]);
  expect(await found({ tags: ["y"], lang: "en" })).toEqual(["docs/a.md"]);
  const { documents } = v.parse(collectionSchema, (await kebab.call("GET", `/collections/${name}`)).body);
  expect(await found({ doc_id: documents[0]?.doc_id })).toEqual([documents[0]?.doc_path]);
});

test("R-KB-21 pages follow each other without gap and repeat; a cursor of another state is refused", async () => {
  const name = newCollection();
  await kebab.batch(
    name,
    Array.from({ length: 25 }, (_, index) => ({ doc_path: `d${index}`, content: `word number${index % 3}` })),
  );
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const answer = hitsOf(await kebab.search({ collection: name, query: "word number1", k: 10, cursor }));
    expect(answer.hits.map(({ rank }) => rank)).toEqual(answer.hits.map((_, index) => seen.length + index + 1));
    seen.push(...answer.hits.map(({ chunk_id }) => chunk_id));
    cursor = answer.next_cursor;
  } while (cursor !== null);
  expect([seen.length, new Set(seen).size]).toEqual([25, 25]);
  const { next_cursor } = hitsOf(await kebab.search({ collection: name, query: "word", k: 5 }));
  await kebab.put(name, "more", "word", "text/plain");
  const stale = errorOf(await kebab.search({ collection: name, query: "word", k: 5, cursor: next_cursor }), 400);
  expect(stale.details).toMatchObject({ reason: "stale_cursor" });
  errorOf(await kebab.search({ collection: name, query: "word", cursor: "broken" }), 400);
});

test("R-KB-21 a cursor of a collection that was forgotten is none of the next one with its name", async () => {
  const name = newCollection();
  const documents = Array.from({ length: 9 }, (_, index) => ({ doc_path: `d${index}`, content: "word" }));
  await kebab.batch(name, documents);
  const { next_cursor } = hitsOf(await kebab.search({ collection: name, query: "word", k: 5 }));
  await kebab.call("DELETE", `/collections/${name}`);
  await kebab.batch(name, documents.toReversed());
  const stale = errorOf(await kebab.search({ collection: name, query: "word", k: 5, cursor: next_cursor }), 400);
  expect(stale.details).toMatchObject({ reason: "stale_cursor" });
});

test("R-KB-22 an answer fits what it may take", async () => {
  const name = newCollection();
  await kebab.batch(
    name,
    Array.from({ length: 9 }, (_, index) => ({ doc_path: `d${index}`, content: "word ".repeat(200) })),
  );
  const ask = (max_tokens: number) => kebab.search({ collection: name, query: "word", k: 8, max_tokens });
  const whole = hitsOf(await ask(100_000));
  expect([whole.hits.length, whole.truncated]).toEqual([8, false]);
  const size = Math.ceil(JSON.stringify(whole.hits).length / 4);
  const shorter = hitsOf(await ask(size - 100));
  expect([shorter.hits.length, shorter.truncated]).toEqual([8, true]);
  const fewer = hitsOf(await ask(Math.floor(size / 3)));
  expect(fewer.truncated).toBe(true);
  expect(fewer.hits.length).toBeLessThan(4);
  const rest = hitsOf(await kebab.search({ collection: name, query: "word", k: 100, cursor: fewer.next_cursor }));
  expect(fewer.hits.length + rest.hits.length).toBe(9);
  expect(hitsOf(await ask(1)).hits).toHaveLength(1);
});

test("R-KB-23 a trace says how hits were found, and has no next page", async () => {
  const name = newCollection();
  await kebab.put(name, "a.md", page);
  const { hits, trace, next_cursor } = hitsOf(
    await kebab.search({ collection: name, query: "run", k: 1, trace: true }),
  );
  expect(next_cursor).toBeNull();
  expect(trace?.lexical).toEqual(
    hits.map(({ chunk_id, doc_id, doc_path, rank, score }) => ({ chunk_id, doc_id, doc_path, rank, score })),
  );
  expect([trace?.vector, trace?.rrf_inputs]).toEqual([[], []]);
});

test.each(["vector", "hybrid"])("R-KB-24 a %s search is refused", async (mode) => {
  const { code, details } = errorOf(await kebab.search({ query: "x", mode }), 404);
  expect([code, details]).toEqual(["not_indexed", { expected: "an embedding target", found: "none" }]);
});

test("R-KB-26 the server says what it can do and what a collection holds", async () => {
  const name = newCollection();
  const read = async () => {
    const { body } = await kebab.call("GET", `/schema?collection=${name}`);
    expect(publishedFault("schema", body)).toBeUndefined();
    return v.parse(selfSchema, body);
  };
  expect(await read()).toMatchObject({
    capabilities: {
      streaming_ask: true,
      rag_multi_turn: true,
      bulk_search: true,
      incremental_ingest: true,
      http_daemon: true,
    },
    models: { corpus_revision: 0, embedding_version: "none" },
    stats: { doc_count: 0, chunk_count: 0, last_ingest_at: null },
  });
  await kebab.batch(name, [
    { doc_path: "a.md", content: page },
    { doc_path: "b", content: "beta" },
  ]);
  expect(await read()).toMatchObject({
    models: { corpus_revision: 1, active_parsers: ["markdown-v2", "text-v1"], active_chunkers: ["heading-v1"] },
    stats: {
      doc_count: 2,
      chunk_count: 5,
      media_breakdown: { markdown: 1, pdf: 0, image: 0, audio: 0, other: 1 },
      lang_breakdown: { en: 1, null: 1 },
      stale_doc_count: 0,
    },
  });
  errorOf(await kebab.call("GET", "/schema?collection=a/b"), 400);
});

test("R-KB-27 errors have the family's shape at every door", async () => {
  expect(errorOf(await kebab.call("GET", "/nothing"), 404).details).toEqual({ reason: "not_found" });
  const method = await kebab.call("PATCH", "/search");
  expect(errorOf(method, 405).details).toEqual({ reason: "method_not_allowed" });
  expect(method.headers.get("allow")).toBe("POST");
  const raw = (body: string, type: string) => kebab.call("POST", "/search", body, { "content-type": type });
  expect(errorOf(await raw("{", "application/json"), 400).details).toMatchObject({ field: "body" });
  errorOf(await raw("[]", "application/json"), 400);
  errorOf(await raw("{}", "text/plain"), 415);
  errorOf(await raw("{}", "text/plain"), 415);
  errorOf(await raw(`"${"x".repeat(3 * MIB)}"`, "application/json"), 413);
  errorOf(await kebab.call("GET", "/schema?api_key=x"), 400);
});

test("R-KB-28 HEAD is GET without the body, and pages of configured origins may read", async () => {
  const head = await exchange(kebab.server.port, "/kebab/schema", {
    method: "HEAD",
    headers: { origin: "https://app.example" },
  });
  expect([head.status, head.text, head.headers["access-control-allow-origin"]]).toEqual([
    200,
    "",
    "https://app.example",
  ]);
  const preflight = await exchange(kebab.server.port, "/kebab/collections/a/documents/b", {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "PUT",
      "access-control-request-headers": "content-type",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers["access-control-allow-methods"]).toContain("PUT");
  const other = await exchange(kebab.server.port, "/kebab/schema", { headers: { origin: "https://other.example" } });
  expect(other.headers["access-control-allow-origin"]).toBeUndefined();
});

test("R-KB-13 a collection is its tenant's: another's is not there, and without a key nothing is", async () => {
  const keys = ["one", "two"].map((tenant) => ({ tenant, key: randomUUID() }));
  const vars = {
    API_KEYS: JSON.stringify(
      Object.fromEntries(keys.map(({ tenant, key }) => [createHash("sha256").update(key).digest("hex"), tenant])),
    ),
  };
  const house = await openKebab({}, { vars });
  try {
    const [one = "", two = ""] = keys.map(({ key }) => `Bearer ${key}`);
    const put = await house.call("PUT", "/collections/mine/documents/a", "word", {
      "content-type": "text/plain",
      authorization: one,
    });
    expect(put.status).toBe(201);
    const search = (authorization: string) =>
      house.call("POST", "/search", '{"query":"word","collection":"mine"}', {
        "content-type": "application/json",
        authorization,
      });
    expect(hitsOf(await search(one)).hits).toHaveLength(1);
    expect(errorOf(await search(two), 404)).toMatchObject({ code: "not_indexed" });
    errorOf(await house.call("DELETE", "/collections/mine", undefined, { authorization: two }), 404);
    const nobody = await house.call("GET", "/collections/mine");
    expect(errorOf(nobody, 401).details).toEqual({ reason: "unauthorized" });
    expect(nobody.headers.get("www-authenticate")).toBe("Bearer");
  } finally {
    await house.server.stop();
  }
});
