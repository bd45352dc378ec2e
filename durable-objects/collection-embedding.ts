// The embeddings of documents on their way into a collection, and of questions to it. Keeps nothing.
import type { EmbedPlan } from "../schemas/embedding.ts";
import type { Failure } from "../schemas/failure.ts";
import { batchesOf, cutToModel, embedText } from "../src/kebab/embed-text.ts";
import type { Vectors } from "../src/providers/embed-answer.ts";
import type { Prepared } from "./collection-prepare.ts";
import { askEmbeddings } from "./embed-call.ts";

/** Chunks of a collection that is searched by vectors. */
export const MAX_VECTORS = 5000;

export interface EmbedWatch {
  embedding(chunks: number): void;
  embedded(chunks: number): void;
  isCancelled(): boolean;
}

export type Embedded =
  | { embedded: true; vectors: Map<string, Vectors> }
  | { embedded: false; failure: Failure | "cancelled" };

export interface CollectionEmbedding {
  /** The vectors of all chunks of these documents, by path. */
  documents(plan: EmbedPlan, prepared: readonly Prepared[], watch: EmbedWatch): Promise<Embedded>;
  query(plan: EmbedPlan, query: string): Promise<Vectors | Failure>;
}

export function collectionEmbedding(env: Env): CollectionEmbedding {
  const asked = ({ dimensions }: EmbedPlan) => (dimensions === undefined ? {} : { dimensions });

  return {
    async documents(plan, prepared, watch) {
      const until = Date.now() + plan.totalMs;
      const texts = prepared.flatMap(({ ownTitle, chunks }) =>
        chunks.map((chunk) => cutToModel(embedText(ownTitle, chunk), plan.target.contextTokens)),
      );
      let all: Vectors | undefined;
      let filled = 0;
      for (const batch of batchesOf(texts)) {
        if (watch.isCancelled()) return { embedded: false, failure: "cancelled" };
        watch.embedding(batch.length);
        const answer = await askEmbeddings(env, plan, { texts: batch, purpose: "document", ...asked(plan) }, until);
        if ("failureClass" in answer) return { embedded: false, failure: answer };
        const { dimensions, numbers } = answer;
        // Held once: those of a large batch are half of what an object may hold.
        all ??= { dimensions, numbers: new Float32Array(texts.length * dimensions) };
        if (dimensions !== all.dimensions) return { embedded: false, failure: otherDimensions };
        all.numbers.set(numbers, filled);
        filled += numbers.length;
        watch.embedded(batch.length);
      }
      return { embedded: true, vectors: byPath(prepared, all) };
    },
    async query(plan, query) {
      const texts = [cutToModel(query, plan.target.contextTokens)];
      return askEmbeddings(env, plan, { texts, purpose: "query", ...asked(plan) }, Date.now() + plan.totalMs);
    },
  };
}

/** Of one version, and yet not to be compared. */
export const otherDimensions: Failure = {
  failureClass: "malformed",
  message: "The provider's embeddings have another number of dimensions than those before them.",
};

function byPath(prepared: readonly Prepared[], all: Vectors | undefined): Map<string, Vectors> {
  const { dimensions, numbers } = all ?? { dimensions: 0, numbers: new Float32Array() };
  let from = 0;
  return new Map(
    prepared.map(({ given, chunks }) => {
      const own = numbers.subarray(from, (from += chunks.length * dimensions));
      return [given.path, { dimensions, numbers: own }];
    }),
  );
}
