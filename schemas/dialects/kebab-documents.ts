// What the kebab family says about documents and collections. Shapes only.
import * as v from "valibot";
import { objectOnly } from "../object-only.ts";
import { trustSchema } from "./kebab.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const line = v.pipe(v.number(), v.integer(), v.minValue(1));
const dateTime = v.pipe(v.string(), v.isoTimestamp());
const id = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/));
const mediaType = v.picklist(["text/markdown", "text/plain", "text/html"]);
const word = v.pipe(v.string(), v.maxLength(256), v.regex(/^\P{Cc}*$/u));

/** What may be said of a document that is handed in. `null` is as good as nothing. */
export const documentWordsSchema = v.object({
  title: v.nullish(word),
  tags: v.nullish(v.pipe(v.array(word), v.maxLength(64))),
  lang: v.nullish(word),
  trust_level: v.nullish(trustSchema),
});

/** A line of a batch. */
export const batchEntrySchema = objectOnly(
  v.object({
    doc_path: v.string(),
    content: v.string(),
    /** Left out: by the ending of the path, else plain text. */
    content_type: v.nullish(mediaType),
    ...documentWordsSchema.entries,
  }),
);

export const docSummarySchema = v.object({
  schema_version: v.literal("doc_summary.v1"),
  doc_id: id,
  doc_path: v.string(),
  title: v.string(),
  lang: v.nullable(v.string()),
  tags: v.array(v.string()),
  trust_level: trustSchema,
  source_type: v.picklist(["markdown", "text", "html"]),
  byte_len: count,
  chunk_count: count,
  created_at: dateTime,
  updated_at: dateTime,
  parser_version: v.string(),
  chunker_version: v.string(),
});
export type DocSummary = v.InferOutput<typeof docSummarySchema>;

export const chunkInspectionSchema = v.object({
  schema_version: v.literal("chunk_inspection.v1"),
  chunk_id: id,
  doc_id: id,
  doc_path: v.string(),
  heading_path: v.array(v.string()),
  text: v.string(),
  source_spans: v.array(v.object({ kind: v.literal("line"), start: line, end: line })),
  /** Blocks have no names here. */
  block_ids: v.array(v.string()),
  token_estimate: count,
  chunker_version: v.string(),
});
export type ChunkInspection = v.InferOutput<typeof chunkInspectionSchema>;

const fetched = {
  schema_version: v.literal("fetch_result.v1"),
  doc_id: id,
  doc_path: v.string(),
  indexed_at: dateTime,
  stale: v.boolean(),
  truncated: v.boolean(),
  document: docSummarySchema,
};

/** Text of a document, by lines of its source, or a chunk with those next to it. */
export const fetchResultSchema = v.variant("kind", [
  v.object({
    ...fetched,
    kind: v.picklist(["doc", "span"]),
    text: v.string(),
    line_start: line,
    line_end: line,
    /** Where the text ends, when that is before the line that was asked for. */
    effective_end: v.nullable(line),
  }),
  v.object({
    ...fetched,
    kind: v.literal("chunk"),
    chunk: chunkInspectionSchema,
    context_before: v.array(chunkInspectionSchema),
    context_after: v.array(chunkInspectionSchema),
  }),
]);
export type FetchResult = v.InferOutput<typeof fetchResultSchema>;

const reportItemSchema = v.object({
  kind: v.picklist(["new", "updated", "unchanged"]),
  doc_path: v.string(),
  doc_id: id,
  asset_id: v.null(),
  byte_len: count,
  block_count: v.null(),
  chunk_count: count,
  parser_version: v.string(),
  chunker_version: v.string(),
  error: v.null(),
  warnings: v.array(v.string()),
});

export const ingestReportSchema = v.object({
  schema_version: v.literal("ingest_report.v1"),
  scope: v.object({ collection: v.string() }),
  scanned: count,
  new: count,
  updated: count,
  skipped: count,
  unchanged: count,
  errors: count,
  duration_ms: count,
  skipped_by_extension: v.record(v.string(), count),
  items: v.array(reportItemSchema),
});
export type IngestReport = v.InferOutput<typeof ingestReportSchema>;

const countsSchema = v.object({
  scanned: count,
  new: count,
  updated: count,
  skipped: count,
  errors: count,
  chunks_indexed: count,
  embeddings_indexed: count,
});
export type IngestCounts = v.InferOutput<typeof countsSchema>;

const place = { idx: line, total: count };

/** A line of an ingest's progress, without what every line has. Documents are counted from 1. */
export const progressLineSchema = v.variant("kind", [
  v.object({ kind: v.literal("scan_started"), root: v.string() }),
  v.object({ kind: v.literal("scan_completed"), total: count }),
  v.object({ kind: v.literal("asset_started"), ...place, path: v.string(), media: v.optional(v.string()) }),
  v.object({ kind: v.literal("asset_chunked"), ...place, n_chunks: count }),
  v.object({ kind: v.literal("embed_batch_started"), n_chunks: count }),
  v.object({ kind: v.literal("embed_batch_finished"), n_chunks: count, ms: count }),
  v.object({
    kind: v.literal("asset_finished"),
    ...place,
    result: v.picklist(["new", "updated", "skipped"]),
    chunks: count,
  }),
  v.object({ kind: v.literal("completed"), counts: countsSchema }),
  v.object({ kind: v.literal("aborted"), counts: countsSchema }),
]);
export type ProgressLine = v.InferOutput<typeof progressLineSchema>;

export const ingestProgressSchema = v.intersect([
  v.looseObject({ schema_version: v.literal("ingest_progress.v1"), ts: dateTime }),
  progressLineSchema,
]);
export type IngestProgress = ProgressLine & { schema_version: "ingest_progress.v1"; ts: string };

export const collectionSchema = v.object({
  schema_version: v.literal("collection.v1"),
  collection: v.string(),
  corpus_revision: count,
  doc_count: count,
  chunk_count: count,
  byte_len: count,
  last_ingest_at: v.nullable(dateTime),
  /** In the order of their paths. */
  documents: v.array(docSummarySchema),
  /** The `after` of the next page. */
  next_after: v.nullable(v.string()),
});
export type KebabCollection = v.InferOutput<typeof collectionSchema>;
