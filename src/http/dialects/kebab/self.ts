// `GET /kebab/schema`: what this server can do, and what a collection of it holds.
import type { KebabSelf } from "../../../../schemas/dialects/kebab.ts";
import { CHUNKER_VERSION, INDEX_VERSION, PARSER_VERSIONS, PROMPT_VERSION } from "../../../kebab/versions.ts";
import { API_VERSION } from "../../describe.ts";
import {
  collectionStub,
  dateText,
  DEFAULT_COLLECTION,
  isCollectionName,
  json,
  staleMs,
  type KebabContext,
} from "./context.ts";
import { invalidInput, kebabProblemResponse } from "./problem.ts";

const schemas = [
  "answer.v1",
  "answer_event.v1",
  "bulk_search_item.v1",
  "bulk_search_response.v1",
  "chunk_inspection.v1",
  "citation.v1",
  "collection.v1",
  "doc_summary.v1",
  "error.v1",
  "fetch_result.v1",
  "ingest_progress.v1",
  "ingest_report.v1",
  "schema.v1",
  "search_hit.v1",
  "search_response.v1",
];

const capabilities = {
  json_mode: true,
  ingest_progress: true,
  ingest_cancellation: true,
  rag_multi_turn: true,
  search_cache: false,
  incremental_ingest: true,
  streaming_ask: true,
  http_daemon: true,
  mcp_server: false,
  single_file_ingest: true,
  bulk_search: true,
  multi_hop: true,
};

/** Of the collection `?collection=`, else of the one named `default`; one that is not there holds nothing. */
export async function readSelf({ request, env, config, tenant }: KebabContext): Promise<Response> {
  const collection = new URL(request.url).searchParams.get("collection") ?? DEFAULT_COLLECTION;
  if (!isCollectionName(collection)) {
    return kebabProblemResponse(invalidInput("query:collection", "This names no collection."));
  }
  const held = await collectionStub(env, tenant, collection).breakdown(staleMs(config));
  return json({
    schema_version: "schema.v1",
    kebab_version: `holdfast ${API_VERSION}`,
    wire: { schemas },
    capabilities,
    models: {
      parser_version: PARSER_VERSIONS.markdown,
      chunker_version: CHUNKER_VERSION,
      active_parsers: held.parsers,
      active_chunkers: held.chunkers,
      embedding_version: held.embedding ?? "none",
      prompt_template_version: PROMPT_VERSION,
      index_version: INDEX_VERSION,
      corpus_revision: held.revision,
    },
    stats: {
      doc_count: held.documents,
      chunk_count: held.chunks,
      asset_count: held.documents,
      last_ingest_at: held.lastIngestAt === undefined ? null : dateText(held.lastIngestAt),
      media_breakdown: {
        markdown: held.media.markdown,
        pdf: 0,
        image: 0,
        audio: 0,
        other: held.media.text + held.media.html,
      },
      lang_breakdown: held.langs,
      index_bytes: { sqlite: held.indexBytes, lancedb: 0 },
      stale_doc_count: held.stale,
    },
  } satisfies KebabSelf);
}
