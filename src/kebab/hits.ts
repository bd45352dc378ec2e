// A chunk that was found, as search_hit.v1. Beside the fields of the published schema a citation has those that older readers look for.
import type { SearchMode, TrustLevel } from "../../schemas/collection.ts";
import type { KebabHit } from "../../schemas/dialects/kebab.ts";
import type { Found } from "./fusion.ts";
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

interface Shown {
  mode: SearchMode;
  /** The model whose vectors were compared. */
  model?: string | undefined;
  rank: number;
  found: Pick<Found, "score" | "lexical" | "vector">;
  snippet: string;
  /** The snippet is all of the chunk. */
  whole: boolean;
  stale: boolean;
}

const scoreKinds = { lexical: "bm25", vector: "cosine", hybrid: "rrf" } as const;

export function hitOf(chunk: FoundChunk, { mode, model, rank, found, snippet, whole, stale }: Shown): KebabHit {
  const { chunkId, docId, path, headings, first, last, indexedAt } = chunk;
  const section = headings.at(-1) ?? null;
  const span = { start: first, end: last, section };
  return {
    schema_version: "search_hit.v1",
    rank,
    score: found.score,
    score_kind: scoreKinds[mode],
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
      method: mode,
      fusion_score: found.score,
      lexical_score: found.lexical?.score ?? null,
      vector_score: found.vector?.score ?? null,
      lexical_rank: found.lexical?.rank ?? null,
      vector_rank: found.vector?.rank ?? null,
    },
    index_version: INDEX_VERSION,
    embedding_model: model ?? null,
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
