// Why a collection keeps none of the documents that were handed in, in words. Pure; picks no status.
import type { PutAnswer } from "../../schemas/collection.ts";

export interface PutRefusal {
  reason: "too_many_chunks" | "collection_limit";
  message: string;
  details: Record<string, unknown>;
}

type Refused = Exclude<Extract<PutAnswer, { put: false }>, { refused: "embedding_failed" }>;

/** Of a model that was to embed the documents, its failure says why. */
export function putRefusal(answer: Refused): PutRefusal {
  switch (answer.refused) {
    case "too_many_chunks":
      return {
        reason: "too_many_chunks",
        message: `A document makes more than ${answer.limit} chunks.`,
        details: { doc_path: answer.path, limit: answer.limit },
      };
    case "collection_full":
      return collectionFull(answer.what, answer.limit);
  }
}

export const collectionFull = (what: "documents" | "bytes" | "chunks", limit: number): PutRefusal => ({
  reason: "collection_limit",
  message: `The collection would have more than ${limit} ${what}.`,
  details: { what, limit },
});
