// A run's outcome as answer.v1: the one place that says whether an answer is grounded, and if not, why. Derived from the outcome and what was found, and kept nowhere.
import type { AskPlan } from "../../schemas/ask.ts";
import type { AnswerHop, KebabAnswer } from "../../schemas/dialects/kebab-answer.ts";
import type { KebabHit } from "../../schemas/dialects/kebab.ts";
import type { Outcome } from "../../schemas/outcome.ts";
import { groundingOf } from "./grounding.ts";
import { hop } from "./research.ts";

/** Hits that a question below the gate is shown. */
export const NEAR_MISSES = 3;

export type Ended = Exclude<Outcome, { outcome: "error" }>;

type Judged = Pick<KebabAnswer, "answer" | "citations" | "grounded" | "refusal_reason">;

/** `at`: when the run ended, Unix epoch, milliseconds; `createdAt`: the same as RFC 3339 writes it. */
export function answerOf(ask: AskPlan, outcome: Ended, at: number, createdAt: string): KebabAnswer {
  const { usage, telemetry, provenance } = outcome;
  const isAsked = ask.refusal === undefined;
  return {
    schema_version: "answer.v1",
    ...judged(ask, outcome),
    model: {
      id: provenance?.reportedModel ?? provenance?.configuredModel ?? provenance?.targetId ?? "",
      provider: provenance?.targetId ?? "",
      dimensions: null,
    },
    embedding: ask.embedding ?? null,
    prompt_template_version: ask.promptVersion,
    retrieval: {
      trace_id: ask.traceId,
      mode: ask.mode,
      k: ask.k,
      score_gate: ask.scoreGate,
      top_score: ask.hits[0]?.retrieval.fusion_score ?? 0,
      chunks_returned: ask.hits.length,
      chunks_used: ask.used,
    },
    usage: {
      prompt_tokens: isAsked ? (usage?.inputTokens ?? 0) : 0,
      completion_tokens: isAsked ? (usage?.outputTokens ?? 0) : 0,
      latency_ms: Math.round(telemetry?.totalMs ?? 0),
    },
    ...(ask.hops !== undefined && { hops: hopsOf(ask.hops, outcome, at) }),
    created_at: createdAt,
    conversation_id: ask.conversation?.id ?? null,
    turn_index: ask.conversation?.turnIndex ?? null,
    run_id: outcome.runId,
  };
}

/** Those of the research, and the answer itself when a model was asked for it. */
function hopsOf(hops: readonly AnswerHop[], { provenance }: Ended, at: number): AnswerHop[] {
  const [first] = provenance?.attempts ?? [];
  if (first === undefined) return [...hops];
  const llm_call_ms = Math.max(0, at - first.startedAt);
  return [...hops, hop(hops.length, "synthesize", { llm_call_ms })];
}

function judged(ask: AskPlan, outcome: Ended): Judged {
  const answer = outcome.outcome === "completed" ? outcome.finalText : outcome.partialText;
  if (outcome.outcome === "completed" && ask.refusal !== undefined) {
    const near = ask.refusal.reason === "score_gate" ? ask.hits.slice(0, NEAR_MISSES) : [];
    const citations = near.map((hit) => citationOf(hit, null));
    return { answer, citations, grounded: false, refusal_reason: ask.refusal.reason };
  }
  const { grounded, cited } = groundingOf(answer, ask.used);
  const citations = cited.flatMap((number) => {
    const hit = ask.hits[number - 1];
    return hit === undefined ? [] : [citationOf(hit, `[${number}]`)];
  });
  // Of a text that is not all that the model had to say, nobody knows whether it stands.
  if (!isWhole(outcome)) return { answer, citations, grounded: false, refusal_reason: "llm_stream_aborted" };
  return { answer, citations, grounded, refusal_reason: grounded ? null : "llm_self_judge" };
}

/** The model came to its end by itself. */
function isWhole(outcome: Ended): boolean {
  if (outcome.outcome !== "completed") return false;
  return outcome.stopReason === undefined || outcome.stopReason === "stop";
}

const citationOf = ({ citation, indexed_at, stale }: KebabHit, marker: string | null) => ({
  marker,
  citation,
  indexed_at,
  stale,
});

/** The words for too little evidence; of hits below the gate the nearest ones, a line each. */
export function refusalText(words: string, near: readonly KebabHit[]): string {
  const lines = near.map(({ citation, retrieval }) => `${citation.uri} ${retrieval.fusion_score.toFixed(2)}`);
  return [words, ...lines].join("\n");
}
