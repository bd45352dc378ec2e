// A chunk that was found, as search_hit.v1. Beside the fields of the published schema a citation has those that older readers look for.
import type { TrustLevel } from "../../schemas/collection.ts";
import type { KebabHit } from "../../schemas/dialects/kebab.ts";
import { INDEX_VERSION } from "./versions.ts";

export interface FoundChunk {
  chunkId: string;
  docId: string;
  path: string;
  headings: string[];
  first: number;
  last: number;
  trust: TrustLevel;
  chunkerVersion: string;
  /** When its document was updated, as RFC 3339 writes it. */
  indexedAt: string;
}

interface Placed {
  rank: number;
  score: number;
  snippet: string;
  /** The snippet is all of the chunk. */
  whole: boolean;
  stale: boolean;
}

export function lexicalHit(chunk: FoundChunk, { rank, score, snippet, whole, stale }: Placed): KebabHit {
  const { chunkId, docId, path, headings, first, last, indexedAt } = chunk;
  const section = headings.at(-1) ?? null;
  const span = { start: first, end: last, section };
  return {
    schema_version: "search_hit.v1",
    rank,
    score,
    score_kind: "bm25",
    chunk_id: chunkId,
    doc_id: docId,
    doc_path: path,
    heading_path: headings,
    section_label: section,
    snippet,
    snippet_full_text: whole,
    citation: {
      schema_version: "citation.v1",
      kind: "line",
      path,
      uri: lineUri(path, first, last),
      ...span,
      line: span,
      indexed_at: indexedAt,
      stale,
    },
    retrieval: {
      method: "lexical",
      fusion_score: score,
      lexical_score: score,
      vector_score: null,
      lexical_rank: rank,
      vector_rank: null,
    },
    index_version: INDEX_VERSION,
    embedding_model: null,
    chunker_version: chunk.chunkerVersion,
    indexed_at: indexedAt,
    stale,
    repo: null,
    code_lang: null,
    source_id: "default",
    trust_level: chunk.trust,
  };
}

/** `path#L10`, or `path#L10-L24`. */
const lineUri = (path: string, first: number, last: number): string =>
  first === last ? `${path}#L${first}` : `${path}#L${first}-L${last}`;
