// What was found for a question before its run began, and how the run is to take it. Kept with the plan, so that recovery and readers find the same.
import type { SearchMode } from "./collection.ts";
import type { KebabHit, SearchTrace } from "./dialects/kebab.ts";
import type { EmbeddingUsed } from "./embedding.ts";

export interface AskPlan {
  mode: SearchMode;
  /** Hits that were asked for. */
  k: number;
  /** Score of the best hit below which no model is asked. */
  scoreGate: number;
  traceId: string;
  /** Best first. */
  hits: KebabHit[];
  /** The first so many hits are what the model reads: marker n is hit n. */
  used: number;
  promptVersion: string;
  /** By whom the vectors were made that were compared; not where nothing was found. */
  embedding?: EmbeddingUsed;
  trace?: SearchTrace;
  /** The conversation that the question is a turn of; turns count from 0. */
  conversation?: { id: string; turnIndex: number };
  /** No model is asked: this is the answer. */
  refusal?: AskRefusal;
}

export interface AskRefusal {
  reason: "score_gate" | "no_chunks";
  text: string;
}
