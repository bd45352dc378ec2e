// The words about embeddings between the edge, the object of a collection and whoever asks a model for them. Shapes only.
import type { EmbedderId, Target } from "./config.ts";

/** Who makes a collection's embeddings, and what they are called there. Holds no secret. */
export interface EmbedPlan {
  /** Of target, model and dimensions: vectors of one version can be compared, those of two cannot. */
  version: string;
  /** What a model that can make several is asked for; left out: what it makes by itself. */
  dimensions?: number;
  target: Target;
  embedder: EmbedderId;
  /** Further tries after a failure that may pass by itself. */
  retries: number;
  /** Milliseconds to the headers of one answer. */
  headersMs: number;
  /** Milliseconds for all that is to be embedded at once. */
  totalMs: number;
}

/** A text that is kept, or one that asks for such: several models make different embeddings of them. */
export type EmbedPurpose = "document" | "query";

/** By whom the vectors of a search were made. */
export interface EmbeddingUsed {
  /** The model. */
  id: string;
  /** The target. */
  provider: string;
  dimensions: number | null;
}
