// What the kebab family says about searches, itself and faults. Objects hold the flat fields that older readers know beside those of the published schemas. Shapes only.
import * as v from "valibot";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const line = v.pipe(v.number(), v.integer(), v.minValue(1));
const dateTime = v.pipe(v.string(), v.isoTimestamp());
const id = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/));
export const trustSchema = v.picklist(["primary", "secondary", "generated"]);
const nullableText = v.nullable(v.string());

const MAX_QUERY = 8192;
const words = v.pipe(v.array(v.pipe(v.string(), v.maxLength(256))), v.maxLength(64));

/** `collection`: left out, the one named `default`. `null` is as good as nothing. */
export const searchRequestSchema = v.object({
  query: v.pipe(v.string(), v.maxLength(MAX_QUERY)),
  collection: v.nullish(v.string()),
  mode: v.nullish(v.picklist(["lexical", "vector", "hybrid"])),
  k: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
  /** What the answer may take; four characters are a token. */
  max_tokens: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
  snippet_chars: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4000))),
  cursor: v.nullish(v.pipe(v.string(), v.maxLength(256))),
  tags: v.nullish(words),
  lang: v.nullish(v.pipe(v.string(), v.maxLength(64))),
  /** `*` is any text, `?` one character. */
  path_glob: v.nullish(v.pipe(v.string(), v.maxLength(256))),
  trust_min: v.nullish(trustSchema),
  media: v.nullish(words),
  ingested_after: v.nullish(
    v.pipe(
      dateTime,
      v.check((text) => !Number.isNaN(Date.parse(text)), "must be a time with a date, and an offset as +02:00"),
    ),
  ),
  doc_id: v.nullish(v.pipe(v.string(), v.maxLength(256))),
  trace: v.nullish(v.boolean()),
});
export type SearchRequest = v.InferOutput<typeof searchRequestSchema>;

const lineSchema = v.object({ start: line, end: line, section: nullableText });
export const citationSchema = v.object({
  schema_version: v.literal("citation.v1"),
  kind: v.literal("line"),
  path: v.string(),
  uri: v.string(),
  ...lineSchema.entries,
  line: lineSchema,
  indexed_at: dateTime,
  stale: v.boolean(),
});

export const hitSchema = v.object({
  schema_version: v.literal("search_hit.v1"),
  rank: line,
  score: v.number(),
  score_kind: v.picklist(["rrf", "bm25", "cosine"]),
  chunk_id: id,
  doc_id: id,
  doc_path: v.string(),
  heading_path: v.array(v.string()),
  section_label: nullableText,
  snippet: v.string(),
  snippet_full_text: v.boolean(),
  citation: citationSchema,
  retrieval: v.object({
    method: v.picklist(["lexical", "vector", "hybrid"]),
    fusion_score: v.number(),
    lexical_score: v.nullable(v.number()),
    vector_score: v.nullable(v.number()),
    lexical_rank: v.nullable(line),
    vector_rank: v.nullable(line),
  }),
  index_version: v.string(),
  embedding_model: nullableText,
  chunker_version: v.string(),
  indexed_at: dateTime,
  stale: v.boolean(),
  repo: nullableText,
  code_lang: nullableText,
  source_id: nullableText,
  trust_level: v.nullable(trustSchema),
});
export type KebabHit = v.InferOutput<typeof hitSchema>;

const ranked = v.object({ chunk_id: id, doc_id: id, doc_path: v.string(), rank: line, score: v.number() });
export const traceSchema = v.object({
  lexical: v.array(ranked),
  vector: v.array(ranked),
  rrf_inputs: v.array(
    v.object({
      chunk_id: id,
      lexical_rank: v.nullable(line),
      vector_rank: v.nullable(line),
      fusion_score: v.number(),
    }),
  ),
  /** Milliseconds. */
  timing: v.object({ lexical_ms: count, vector_ms: count, fusion_ms: count, total_ms: count }),
});
export type SearchTrace = v.InferOutput<typeof traceSchema>;

export const searchResponseSchema = v.object({
  schema_version: v.literal("search_response.v1"),
  hits: v.array(hitSchema),
  next_cursor: nullableText,
  truncated: v.boolean(),
  trace: v.exactOptional(traceSchema),
});
export type SearchResponse = v.InferOutput<typeof searchResponseSchema>;

const errorCodes = [
  "config_invalid",
  "not_indexed",
  "model_unreachable",
  "model_not_pulled",
  "timeout",
  "io_error",
  "generic",
  "multi_hop_decompose_failed",
  "nli_verification_failed",
  "nli_model_unavailable",
] as const;
export const kebabErrorSchema = v.object({
  schema_version: v.literal("error.v1"),
  code: v.picklist(errorCodes),
  message: v.string(),
  details: v.record(v.string(), v.unknown()),
  hint: v.exactOptional(nullableText),
});
export type KebabError = v.InferOutput<typeof kebabErrorSchema>;

/** `query` is the line as it came. Either `response` or `error` is there. */
export const bulkItemSchema = v.object({
  schema_version: v.literal("bulk_search_item.v1"),
  query: v.record(v.string(), v.unknown()),
  response: v.nullable(searchResponseSchema),
  error: v.nullable(kebabErrorSchema),
});
export type BulkItem = v.InferOutput<typeof bulkItemSchema>;

export const bulkResponseSchema = v.object({
  schema_version: v.literal("bulk_search_response.v1"),
  /** In the order of the lines. */
  results: v.array(bulkItemSchema),
  summary: v.object({ total: count, succeeded: count, failed: count }),
});
export type BulkResponse = v.InferOutput<typeof bulkResponseSchema>;

const schemaName = v.pipe(v.string(), v.regex(/^[a-z_]+\.v[0-9]+$/));
const counts = v.record(v.string(), count);
export const selfSchema = v.object({
  schema_version: v.literal("schema.v1"),
  kebab_version: v.string(),
  wire: v.object({ schemas: v.array(schemaName) }),
  capabilities: v.record(v.string(), v.boolean()),
  models: v.object({
    parser_version: v.string(),
    chunker_version: v.string(),
    active_parsers: v.array(v.string()),
    active_chunkers: v.array(v.string()),
    embedding_version: v.string(),
    prompt_template_version: v.string(),
    index_version: v.string(),
    corpus_revision: count,
  }),
  stats: v.object({
    doc_count: count,
    chunk_count: count,
    asset_count: count,
    last_ingest_at: v.nullable(dateTime),
    media_breakdown: counts,
    lang_breakdown: counts,
    index_bytes: v.object({ sqlite: count, lancedb: count }),
    stale_doc_count: count,
  }),
});
export type KebabSelf = v.InferOutput<typeof selfSchema>;
