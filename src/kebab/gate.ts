// Whether what was found for a question is good enough for a model to be asked.
import type { AskRefusal } from "../../schemas/ask.ts";
import type { KebabHit } from "../../schemas/dialects/kebab.ts";
import { NEAR_MISSES, refusalText } from "./answer.ts";

/** The answer that is given without a model; `undefined` when the first hit passes. `words`: those for too little evidence. */
export function refusalOf(hits: readonly KebabHit[], scoreGate: number, words: string): AskRefusal | undefined {
  const [best] = hits;
  if (best === undefined) return { reason: "no_chunks", text: refusalText(words, []) };
  if (best.retrieval.fusion_score >= scoreGate) return undefined;
  return { reason: "score_gate", text: refusalText(words, hits.slice(0, NEAR_MISSES)) };
}
