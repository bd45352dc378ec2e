// What was found for a question before its run began, and how the run is to take it. Kept with the plan, so that recovery and readers find the same.
import type { KebabHit, SearchTrace } from "./dialects/kebab.ts";

export interface AskPlan {
  mode: "lexical";
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
  trace?: SearchTrace;
  /** No model is asked: this is the answer. */
  refusal?: AskRefusal;
}

export interface AskRefusal {
  reason: "score_gate" | "no_chunks";
  text: string;
}
