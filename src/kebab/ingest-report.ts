// What became of the documents that were handed in, as ingest_report.v1. Pure.
import type { PutAnswer } from "../../schemas/collection.ts";
import type { IngestReport } from "../../schemas/dialects/kebab-documents.ts";

export type KeptDocuments = Extract<PutAnswer, { put: true }>["documents"];

export function reportOf(collection: string, documents: KeptDocuments, durationMs: number): IngestReport {
  const counted = (kind: string): number => documents.filter(({ result }) => result === kind).length;
  return {
    schema_version: "ingest_report.v1",
    scope: { collection },
    scanned: documents.length,
    new: counted("new"),
    updated: counted("updated"),
    skipped: 0,
    unchanged: counted("unchanged"),
    errors: 0,
    duration_ms: durationMs,
    skipped_by_extension: {},
    items: documents.map(({ result, document }) => ({
      kind: result,
      doc_path: document.path,
      doc_id: document.docId,
      asset_id: null,
      byte_len: document.bytes,
      block_count: null,
      chunk_count: document.chunks,
      parser_version: document.parserVersion,
      chunker_version: document.chunkerVersion,
      error: null,
      warnings: [],
    })),
  };
}
