// What the page shows of one question: its passages, its text, and how it ended. Pure; all of it comes from the lines of the stream.
import { type Fields, fieldsIn, listIn, numberIn, textIn } from "../fields.ts";
import { type AskProblem, problemFrom } from "./ask-problem.ts";
import type { LineNotice } from "./follow-lines.ts";
import { type Source, sourceOf, sourcesIn } from "./sources.ts";

export type AskPhase =
  | "idle"
  /** Sent, and not taken yet. */
  | "asking"
  | "open"
  | "lost"
  | "stopping";

export type Ending =
  | {
      readonly kind: "judged";
      /** Null: the answer stands on its sources. */
      readonly reason: string | null;
      /** The model came to an end, whether by itself or by a limit. */
      readonly final: boolean;
      /** Cited ones; below the gate the nearest ones. */
      readonly citations: readonly Source[];
      readonly facts: AnswerFacts;
    }
  | { readonly kind: "failed"; readonly problem: AskProblem }
  /** Stopped before the server had said that it took the question. */
  | { readonly kind: "given_up" };

export type AnswerFacts = {
  readonly model: string;
  readonly tokens: number;
  readonly latencyMs: number;
  readonly topScore: number;
  readonly scoreGate: number;
  /** Passages that the model was given. */
  readonly used: number;
  /** The search went by words alone. */
  readonly lexical: boolean;
  /** Questions that the conversation had before; null: there is none. */
  readonly turnIndex: number | null;
  /** Questions that a hard one was taken apart into. */
  readonly subQueries: readonly string[];
};

export type AskView = {
  readonly phase: AskPhase;
  /** Null: this tab did not ask it. */
  readonly question: string | null;
  readonly collection: string;
  readonly runId: string | null;
  /** Null: not found yet. */
  readonly sources: readonly Source[] | null;
  readonly text: string;
  readonly final: boolean;
  readonly ending: Ending | null;
  readonly retryInMs: number | null;
};

export type Input =
  | Exclude<LineNotice, { kind: "ended" }>
  | { readonly kind: "stop_asked" }
  | { readonly kind: "stop_failed" }
  | { readonly kind: "given_up" };

export const newAskView = (collection: string): AskView => ({
  phase: "idle",
  question: null,
  collection,
  runId: null,
  sources: null,
  text: "",
  final: false,
  ending: null,
  retryInMs: null,
});

/** A question is on its way; `runId`: of one that was asked before. */
export const askedView = (collection: string, question: string | null, runId: string | null): AskView => ({
  ...newAskView(collection),
  phase: "asking",
  question,
  runId,
});

export const isLive = ({ phase }: AskView): boolean => phase !== "idle";

export const reduce = (view: AskView, input: Input): AskView => {
  if (view.phase === "idle") return view;
  switch (input.kind) {
    case "accepted":
      return { ...view, phase: goneOn(view), runId: input.runId ?? view.runId, retryInMs: null };
    case "line":
      return withLine(view, input.line);
    case "lost":
      return { ...view, phase: view.phase === "stopping" ? "stopping" : "lost", retryInMs: input.retryInMs };
    case "refused":
      return ended(view, { kind: "failed", problem: input.problem });
    case "stop_asked":
      return { ...view, phase: "stopping" };
    case "stop_failed":
      return { ...view, phase: "open" };
    case "given_up":
      return ended(view, { kind: "given_up" });
  }
};

const goneOn = ({ phase }: AskView): AskPhase => (phase === "stopping" ? "stopping" : "open");

const ended = (view: AskView, ending: Ending): AskView => ({ ...view, phase: "idle", ending, retryInMs: null });

const withLine = (view: AskView, line: Fields): AskView => {
  switch (textIn(line, "schema_version") ?? "") {
    case "answer_event.v1":
      return withEvent(view, line);
    case "answer.v1":
      return ended({ ...view, text: textIn(line, "answer") ?? view.text }, judgedFrom(view, line));
    case "error.v1":
      return ended(view, { kind: "failed", problem: problemFrom(null, line) });
    default:
      return view;
  }
};

const withEvent = (view: AskView, line: Fields): AskView => {
  switch (textIn(line, "kind") ?? "") {
    case "retrieval_done":
      return { ...view, sources: sourcesIn(line) };
    case "token":
      return { ...view, text: view.text + (textIn(line, "delta") ?? "") };
    case "final":
      return { ...view, final: true, text: textIn(fieldsIn(line, "answer"), "answer") ?? view.text };
    default:
      return view;
  }
};

const judgedFrom = ({ final, sources }: AskView, answer: Fields): Ending => {
  const retrieval = fieldsIn(answer, "retrieval");
  const usage = fieldsIn(answer, "usage");
  return {
    kind: "judged",
    reason: answer["grounded"] === true ? null : (textIn(answer, "refusal_reason") ?? "unknown"),
    final,
    citations: listIn(answer, "citations").flatMap((cited) => sourceOf(cited, sources ?? []) ?? []),
    facts: {
      model: textIn(fieldsIn(answer, "model"), "id") ?? "",
      tokens: (numberIn(usage, "prompt_tokens") ?? 0) + (numberIn(usage, "completion_tokens") ?? 0),
      latencyMs: numberIn(usage, "latency_ms") ?? 0,
      topScore: numberIn(retrieval, "top_score") ?? 0,
      scoreGate: numberIn(retrieval, "score_gate") ?? 0,
      used: numberIn(retrieval, "chunks_used") ?? 0,
      lexical: (textIn(retrieval, "mode") ?? "lexical") === "lexical",
      turnIndex: numberIn(answer, "turn_index") ?? null,
      subQueries: listIn(answer, "hops").flatMap((hop) => {
        const queries = hop["sub_queries"];
        return Array.isArray(queries) ? queries.filter((query) => typeof query === "string") : [];
      }),
    },
  };
};

/** The text to show: of a refusal the lines that name near passages are left out, for these are shown as sources. */
export const shownText = ({ text, ending }: AskView): string => {
  if (ending?.kind !== "judged" || ending.reason !== "score_gate") return text;
  const paths = ending.citations.map(({ docPath }) => `${docPath}#L`);
  return text
    .split("\n")
    .filter((line) => !paths.some((path) => line.startsWith(path)))
    .join("\n");
};
