// The seam of adapters that make embeddings: what is asked, and where in an answer the vectors are. Knows no collection and no clock.
import type { Target } from "../../schemas/config.ts";
import type { EmbedPurpose } from "../../schemas/embedding.ts";
import type { AdapterRequest } from "./provider.ts";

export interface EmbedAsk {
  texts: readonly string[];
  purpose: EmbedPurpose;
  /** Left out: what the model makes by itself. */
  dimensions?: number;
}

export interface Embedder {
  /** Builds the POST to one target. `key` is the target's secret, if it has one. */
  request(ask: EmbedAsk, target: Target, key: string | undefined): AdapterRequest;
  /** The lists of numbers in an answer, in the order of the texts; `undefined` when it is none of this format. */
  vectors(answer: unknown): readonly unknown[] | undefined;
}
