// What was found for a question, and how the run is to take it. Kept with the plan, so that recovery and readers find the same.
import type { SearchAsk, SearchMode } from "./collection.ts";
import type { AnswerHop } from "./dialects/kebab-answer.ts";
import type { KebabHit, SearchTrace } from "./dialects/kebab.ts";
import type { EmbeddingUsed } from "./embedding.ts";

export interface AskPlan {
  mode: SearchMode;
  /** Hits that were asked for. */
  k: number;
  /** Score of the best hit below which no model is asked. */
  scoreGate: number;
  traceId: string;
  /** Best first; of several searches in the order in which they came. */
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
  /** What the run does first to find its hits. Gone as soon as they, and all that follows from them, stand here. */
  research?: ResearchPlan;
  /** How the research went. */
  hops?: AnswerHop[];
}

export interface AskRefusal {
  reason: "score_gate" | "no_chunks" | "multi_hop_decompose_failed";
  text: string;
}

/** A question that is split into others, each looked for by itself. */
export interface ResearchPlan {
  collection: string;
  question: string;
  /** How the question itself was looked for: the others are looked for likewise. */
  search: SearchAsk;
  /** The words for too little evidence. */
  noEvidence: string;
  /** The beginning of the conversation's turn before, which the question may refer to. */
  before?: { question: string; answer: string };
}
