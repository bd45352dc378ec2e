// Collections and their documents as they are read and forgotten. Another tenant's collection is not there.
import type { CollectionStats, DocumentText, KeptDocument } from "../../../../schemas/collection.ts";
import type { DocSummary, FetchResult, KebabCollection } from "../../../../schemas/dialects/kebab-documents.ts";
import type { Config } from "../../../../schemas/config.ts";
import { sourceLines } from "../../../kebab/blocks.ts";
import { collectionStub, dateText, isStale, json, type KebabContext } from "./context.ts";
import { invalidInput, kebabProblemResponse, noCollection, noDocument } from "./problem.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

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

/** `GET /kebab/collections/{collection}/documents/{docId}`: its text, or `?lines=10-24` of it. */
export async function readDocument({ request, env, config, tenant, ...path }: KebabContext): Promise<Response> {
  const lines = linesOf(new URL(request.url).searchParams.get("lines"));
  if (lines === undefined) {
    return kebabProblemResponse(invalidInput("query:lines", "lines must be a line, or two with - between, from 1 on."));
  }
  const read = await collectionStub(env, tenant, path.collection).read(path.docPath);
  if (read === undefined) return kebabProblemResponse(noCollection(path.collection));
  if (read === null) return kebabProblemResponse(noDocument(path.docPath));
  return json(fetched(read, lines === "all" ? undefined : lines, config));
}

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
    schema_version: "fetch_result.v1",
    kind: asked === undefined ? "doc" : "span",
    doc_id: document.docId,
    doc_path: document.path,
    indexed_at: dateText(document.updatedAt),
    stale: isStale(document.updatedAt, config),
    truncated: end < last,
    text: source.slice(lines.startOf(first), asked === undefined ? source.length : lines.endOf(end)),
    line_start: first,
    line_end: last,
    effective_end: end < last ? end : null,
    document: summaryOf(document),
  };
}

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
