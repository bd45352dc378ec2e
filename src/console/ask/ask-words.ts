// The words of the ask view for where a question stands and how it ended, for a reader who knows none of the terms. Pure.
import { countWords, durationWords, isolated, lostWords, stoppingWords } from "../wording.ts";
import { explain } from "./ask-problem.ts";
import type { AskView, Ending } from "./answer-view.ts";
import { markersIn } from "./cited-text.ts";

export const phaseWords = (view: AskView): string => {
  switch (view.phase) {
    case "asking":
      return "Looking in your documents…";
    case "open":
      return openWords(view);
    case "lost":
      return lostWords(view.retryInMs);
    case "stopping":
      return stoppingWords(view.retryInMs);
    case "idle":
      return view.ending === null ? "" : endingStatus(view.ending);
  }
};

const openWords = ({ sources, text }: AskView): string => {
  if (sources === null) return "Looking in your documents…";
  return text === "" ? `${countWords(sources.length, "passage")} found. Waiting for the model…` : "Answering…";
};

const endingStatus = (ending: Ending): string => {
  switch (ending.kind) {
    case "judged":
      if (ending.reason === null) return `Answered from ${countWords(ending.citations.length, "passage")}.`;
      return stopped(ending) ? "Stopped." : "Not answered from your documents.";
    case "failed":
      return "Failed.";
    case "given_up":
      return "Stopped.";
  }
};

const stopped = ({ reason, final }: Extract<Ending, { kind: "judged" }>): boolean =>
  reason === "llm_stream_aborted" && !final;

export type Notice = {
  readonly kind: "quiet" | "warn" | "bad";
  readonly heading: string;
  readonly words: readonly string[];
  /** The term that the wire has for it. */
  readonly facts: string;
};

/** What must be said about the end; null where the answer speaks for itself. */
export const noticeOf = (view: AskView): Notice | null => {
  const { ending } = view;
  switch (ending?.kind) {
    case undefined:
      return null;
    case "given_up":
      return {
        kind: "quiet",
        heading: "Stopped",
        words: ["The server had not said that it took the question."],
        facts: "",
      };
    case "failed": {
      const { problem } = ending;
      const { heading, advice } = explain(problem);
      const facts = [problem.status === null ? "" : `HTTP ${problem.status}`, problem.code ?? ""];
      return {
        kind: "bad",
        heading,
        words: [problem.message, advice].filter((line) => line !== ""),
        facts: facts.filter((fact) => fact !== "").join(" · "),
      };
    }
    case "judged":
      return ending.reason === null ? null : { ...refusalOf(view, ending), facts: ending.reason };
  }
};

const refusalOf = (view: AskView, ending: Extract<Ending, { kind: "judged" }>): Omit<Notice, "facts"> => {
  const { facts } = ending;
  const where = `“${isolated(view.collection)}”`;
  switch (ending.reason) {
    case "no_chunks":
      return {
        kind: "warn",
        heading: "Nothing was found",
        words: [
          `No passage in ${where} ${facts.lexical ? "has a word of your question" : "is near your question"}, so no model was asked.`,
          facts.lexical
            ? "Use words that stand in your documents, or add documents about it."
            : "Add documents about it.",
        ],
      };
    case "score_gate":
      return {
        kind: "warn",
        heading: "Nothing fits well enough",
        words: [
          `The nearest passage has a score of ${facts.topScore.toFixed(2)}, and ${facts.scoreGate.toFixed(2)} is asked for: ${facts.lexical ? "it has too few words of your question" : "it says too little of what you asked"}. So no model was asked, for it would have to guess.`,
          "The nearest passages are marked below. Ask with more of their words, or add documents about it.",
        ],
      };
    case "llm_self_judge":
      return {
        kind: "warn",
        heading: "The answer does not stand on your documents",
        words: selfJudged(view, facts.used),
      };
    case "llm_stream_aborted":
      return stopped(ending)
        ? {
            kind: "quiet",
            heading: "Stopped",
            words: ["What came before is kept. An answer that is not whole does not count as one."],
          }
        : {
            kind: "warn",
            heading: "The answer was cut off",
            words: [
              "The model’s provider ended it before it was whole, by its length or a filter.",
              "Whether all of it stands on your documents cannot be said. Ask for less at once.",
            ],
          };
    case "multi_hop_decompose_failed":
      return {
        kind: "warn",
        heading: "The question could not be taken apart",
        words: [
          "“Several steps” asks the model to split a hard question into simpler ones, and what it said could not be used.",
          "Ask without “Several steps”, or put the question more simply.",
        ],
      };
    case "nli_verification_failed":
    case "nli_model_unavailable":
      return {
        kind: "warn",
        heading: "The answer was withdrawn",
        words: ["A second model was to check it against your documents, and did not confirm it."],
      };
    case null:
    default:
      return { kind: "warn", heading: "There is no answer from your documents", words: [] };
  }
};

const selfJudged = ({ text }: AskView, used: number): readonly string[] => {
  const markers = markersIn(text);
  const strange = markers.filter((number) => number < 1 || number > used);
  const given = `The model was given ${countWords(used, "passage")}`;
  const advice = "Do not take it for what your documents say. Ask otherwise, or add documents about it.";
  if (text.trim() === "") return [`${given} and said nothing.`, "Ask again, or ask otherwise."];
  if (strange.length === 0)
    return [`${given}, but its answer cites none of them: mostly because they do not say it.`, advice];
  return [
    `${given}, and its answer cites ${strange.map((number) => `[${number}]`).join(", ")}, which it was not given.`,
    advice,
  ];
};

/** What an answer took, on one line; empty where no model was asked. */
export const factsWords = ({ ending }: AskView): string => {
  if (ending?.kind !== "judged") return "";
  const { model, tokens, latencyMs, used, turnIndex } = ending.facts;
  const turn = turnIndex === null ? "" : `question ${turnIndex + 1} of the conversation`;
  const isAsked = model !== "" && used > 0;
  const answered = [
    model,
    `${countWords(used, "passage")} read`,
    `${tokens.toLocaleString("en")} tokens`,
    durationWords(latencyMs),
  ];
  return [...(isAsked ? answered : []), turn].filter((fact) => fact !== "").join(" · ");
};

/** The page's title: what matters in a tab that is not looked at. */
export const pageTitle = (view: AskView): string => {
  const name = view.question ?? (view.runId === null ? "Ask your documents" : "Answer");
  return `${view.phase === "idle" ? "" : "… "}${isolated(name)} · Holdfast console`;
};
