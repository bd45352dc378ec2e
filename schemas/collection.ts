// The words between the edge and a collection's object. Shapes only.
import type { KebabHit, SearchTrace } from "./dialects/kebab.ts";
import type { EmbeddingUsed, EmbedPlan } from "./embedding.ts";
import type { Failure } from "./failure.ts";

export type DocumentMedia = "markdown" | "text" | "html";
export type TrustLevel = "primary" | "secondary" | "generated";

/** What whoever hands a document in says of it. */
export interface DocumentWords {
  title?: string;
  tags?: string[];
  lang?: string;
  trust?: TrustLevel;
}

export interface NewDocument {
  path: string;
  docId: string;
  /** Equal for equal content, media, words and versions. */
  fingerprint: string;
  media: DocumentMedia;
  words: DocumentWords;
  source: string;
  /** Of the document as it came. */
  bytes: number;
}

export interface KeptDocument {
  path: string;
  docId: string;
  media: DocumentMedia;
  title: string;
  tags: string[];
  lang: string | undefined;
  trust: TrustLevel;
  bytes: number;
  chunks: number;
  /** Unix epoch, milliseconds. */
  createdAt: number;
  updatedAt: number;
  parserVersion: string;
  chunkerVersion: string;
}

export type PutResult = "new" | "updated" | "unchanged";
export type PutAnswer =
  | { put: true; documents: { result: PutResult; document: KeptDocument }[] }
  | { put: false; refused: "too_many_chunks"; path: string; limit: number }
  | { put: false; refused: "collection_full"; what: "documents" | "bytes" | "chunks"; limit: number }
  /** `targetId`: who was to embed the documents. */
  | { put: false; refused: "embedding_failed"; targetId: string; failure: Failure };

/** An ingest that is a run: its object's side. */
export interface IngestPlan {
  collection: string;
  /** How many were handed in. */
  documents: number;
}

/** The run of an ingest, as its collection knows it. */
export interface IngestRun {
  tenant: string;
  runId: string;
  collection: string;
  /** The run waits so long to hear of its collection. Milliseconds. */
  leaseMs: number;
}

/** `stopped`: nothing is kept of the ingest, and nothing will be. */
export type IngestWord = "kept" | "stopped";

export interface CollectionStats {
  /** One more with every change. */
  revision: number;
  documents: number;
  chunks: number;
  bytes: number;
  lastIngestAt: number | undefined;
}

export interface CollectionBreakdown extends CollectionStats {
  media: Record<DocumentMedia, number>;
  /** By language; `null` for documents that have none. */
  langs: Record<string, number>;
  stale: number;
  indexBytes: number;
  /** Of the vectors that are kept; `undefined` when there are none. */
  embedding: string | undefined;
  parsers: string[];
  chunkers: string[];
}

export interface CollectionPage {
  stats: CollectionStats;
  documents: KeptDocument[];
  /** Whether more documents follow. */
  more: boolean;
}

export interface DocumentText {
  document: KeptDocument;
  source: string;
}

/** A chunk as it is kept. */
export interface ChunkText {
  chunkId: string;
  headings: string[];
  text: string;
  /** Lines of the source, from 1, both included. */
  first: number;
  last: number;
}

export interface ChunkInContext {
  document: KeptDocument;
  chunk: ChunkText;
  /** Those next to it, in the order of the document. */
  before: ChunkText[];
  after: ChunkText[];
}

export interface SearchFilters {
  tags: string[] | undefined;
  lang: string | undefined;
  pathGlob: string | undefined;
  trustMin: TrustLevel | undefined;
  media: string[] | undefined;
  /** Unix epoch, milliseconds. */
  ingestedAfter: number | undefined;
  docId: string | undefined;
}

export type SearchMode = "lexical" | "vector" | "hybrid";

export interface SearchAsk {
  query: string;
  /** Left out: lexical. */
  mode?: SearchMode;
  /** Who embeds the question; a lexical search has no use for it. */
  embed?: EmbedPlan | undefined;
  k: number;
  snippetChars: number;
  maxTokens: number | undefined;
  cursor: { offset: number; revision: number; epoch: number } | undefined;
  filters: SearchFilters;
  trace: boolean;
  /** Documents that were not updated for longer are stale; 0: none ever is. */
  staleMs: number;
  /** The chunks' texts are wanted as well: the first ones, until they have more characters than this, at least one. */
  textChars?: number;
}

export type SearchAnswer =
  | {
      found: true;
      hits: KebabHit[];
      nextCursor: string | null;
      truncated: boolean;
      trace?: SearchTrace;
      texts?: string[];
      /** Of a search that compared vectors. */
      embedding?: EmbeddingUsed;
    }
  | SearchRefusal;

export type SearchRefusal =
  | { found: false; refused: "no_collection" | "stale_cursor" }
  /** Not all of the collection is embedded in this version; `kept`: in which it is, or how much of it. */
  | { found: false; refused: "not_embedded"; expected: string; kept: string }
  | { found: false; refused: "vector_limit"; limit: number }
  /** `targetId`: who was to embed the question. */
  | { found: false; refused: "embedding_failed"; targetId: string; failure: Failure };
