// Collections and their documents as they are read and forgotten. Another tenant's collection is not there.
import type { ChunkText, CollectionStats, DocumentText, KeptDocument } from "../../../../schemas/collection.ts";
import type {
  ChunkInspection,
  DocSummary,
  FetchResult,
  KebabCollection,
} from "../../../../schemas/dialects/kebab-documents.ts";
import type { Config } from "../../../../schemas/config.ts";
import { sourceLines } from "../../../kebab/blocks.ts";
import { utf8Length } from "../../../run/utf8.ts";
import { collectionStub, dateText, isStale, json, type KebabContext } from "./context.ts";
import { invalidInput, kebabProblemResponse, noChunk, noCollection, noDocument } from "./problem.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
/** Chunks on each side of one that is read. */
const MAX_AROUND = 20;
/** Bytes of UTF-8, as the chunker counts. */
const TOKEN_BYTES = 3;

/** `GET /kebab/collections/{collection}`: what is in it, and a page of its documents. */
export async function readCollection({ request, env, tenant, collection }: KebabContext): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const asked = query.get("limit");
  const limit = asked === null ? DEFAULT_LIMIT : Number(/^\d{1,4}$/.test(asked) ? asked : Number.NaN);
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return kebabProblemResponse(invalidInput("query:limit", `limit must be a whole number from 1 to ${MAX_LIMIT}.`));
  }
  const page = await collectionStub(env, tenant, collection).page(query.get("after") ?? "", limit);
  if (page === undefined) return kebabProblemResponse(noCollection(collection));
  const { stats, documents, more } = page;
  return json({
    schema_version: "collection.v1",
    collection,
    ...countsOf(stats),
    documents: documents.map(summaryOf),
    next_after: more ? (documents.at(-1)?.path ?? null) : null,
  } satisfies KebabCollection);
}

/** `DELETE /kebab/collections/{collection}`: with all of its documents. */
export async function deleteCollection({ env, tenant, collection }: KebabContext): Promise<Response> {
  const existed = await collectionStub(env, tenant, collection).forget();
  return existed ? gone() : kebabProblemResponse(noCollection(collection));
}

/** `GET /kebab/collections/{collection}/documents/{docId}`: its text, or `?lines=10-24` of it, or `?chunk=` with what is around it. */
export async function readDocument(context: KebabContext): Promise<Response> {
  const { request, env, config, tenant, ...path } = context;
  const query = new URL(request.url).searchParams;
  const chunkId = query.get("chunk");
  if (chunkId !== null) return readChunk(context, chunkId, query);
  const lines = linesOf(query.get("lines"));
  if (lines === undefined) {
    return kebabProblemResponse(invalidInput("query:lines", "lines must be a line, or two with - between, from 1 on."));
  }
  const read = await collectionStub(env, tenant, path.collection).read(path.docPath);
  if (read === undefined) return kebabProblemResponse(noCollection(path.collection));
  if (read === null) return kebabProblemResponse(noDocument(path.docPath));
  return json(fetched(read, lines === "all" ? undefined : lines, config));
}

async function readChunk(context: KebabContext, chunkId: string, query: URLSearchParams): Promise<Response> {
  const { env, config, tenant, collection, docPath } = context;
  if (query.has("lines")) {
    return kebabProblemResponse(invalidInput("query:lines", "lines and chunk cannot be asked for together."));
  }
  const around = query.get("context") ?? "0";
  if (!/^\d{1,2}$/.test(around) || Number(around) > MAX_AROUND) {
    return kebabProblemResponse(
      invalidInput("query:context", `context must be a whole number from 0 to ${MAX_AROUND}.`),
    );
  }
  const read = await collectionStub(env, tenant, collection).chunk(docPath, chunkId, Number(around));
  if (read === undefined) return kebabProblemResponse(noCollection(collection));
  if (read === "no_document") return kebabProblemResponse(noDocument(docPath));
  if (read === "no_chunk") return kebabProblemResponse(noChunk(docPath, chunkId));
  const { document, chunk, before, after } = read;
  const inspected = (one: ChunkText): ChunkInspection => inspectionOf(document, one);
  return json({
    ...fetchedFrom(document, config),
    kind: "chunk",
    truncated: false,
    chunk: inspected(chunk),
    context_before: before.map(inspected),
    context_after: after.map(inspected),
  } satisfies FetchResult);
}

const inspectionOf = (
  document: KeptDocument,
  { chunkId, headings, text, first, last }: ChunkText,
): ChunkInspection => ({
  schema_version: "chunk_inspection.v1",
  chunk_id: chunkId,
  doc_id: document.docId,
  doc_path: document.path,
  heading_path: headings,
  text,
  source_spans: [{ kind: "line", start: first, end: last }],
  block_ids: [],
  token_estimate: Math.ceil(utf8Length(text) / TOKEN_BYTES),
  chunker_version: document.chunkerVersion,
});

export async function deleteDocument({ env, tenant, collection, docPath }: KebabContext): Promise<Response> {
  const removed = await collectionStub(env, tenant, collection).remove(docPath);
  if (removed === undefined) return kebabProblemResponse(noCollection(collection));
  return removed ? gone() : kebabProblemResponse(noDocument(docPath));
}

const gone = (): Response => new Response(null, { status: 204, headers: { "cache-control": "no-store" } });

interface Lines {
  first: number;
  last: number;
}

/** `undefined` when it says no lines. */
function linesOf(asked: string | null): Lines | "all" | undefined {
  if (asked === null) return "all";
  const [, from = "", to] = /^([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/.exec(asked) ?? [];
  if (from === "") return undefined;
  const lines = { first: Number(from), last: Number(to ?? from) };
  return lines.last >= lines.first ? lines : undefined;
}

/** Where fewer lines are there than were asked for, those that are. */
function fetched({ document, source }: DocumentText, asked: Lines | undefined, config: Config): FetchResult {
  const lines = sourceLines(source);
  const { first, last } = asked ?? { first: 1, last: lines.count };
  const end = Math.min(last, lines.count);
  return {
    ...fetchedFrom(document, config),
    kind: asked === undefined ? "doc" : "span",
    truncated: end < last,
    text: source.slice(lines.startOf(first), asked === undefined ? source.length : lines.endOf(end)),
    line_start: first,
    line_end: last,
    effective_end: end < last ? end : null,
  };
}

const fetchedFrom = (document: KeptDocument, config: Config) => ({
  schema_version: "fetch_result.v1" as const,
  doc_id: document.docId,
  doc_path: document.path,
  indexed_at: dateText(document.updatedAt),
  stale: isStale(document.updatedAt, config),
  document: summaryOf(document),
});

const countsOf = ({ revision, documents, chunks, bytes, lastIngestAt }: CollectionStats) => ({
  corpus_revision: revision,
  doc_count: documents,
  chunk_count: chunks,
  byte_len: bytes,
  last_ingest_at: lastIngestAt === undefined ? null : dateText(lastIngestAt),
});

function summaryOf(document: KeptDocument): DocSummary {
  return {
    schema_version: "doc_summary.v1",
    doc_id: document.docId,
    doc_path: document.path,
    title: document.title,
    lang: document.lang ?? null,
    tags: document.tags,
    trust_level: document.trust,
    source_type: document.media,
    byte_len: document.bytes,
    chunk_count: document.chunks,
    created_at: dateText(document.createdAt),
    updated_at: dateText(document.updatedAt),
    parser_version: document.parserVersion,
    chunker_version: document.chunkerVersion,
  };
}
