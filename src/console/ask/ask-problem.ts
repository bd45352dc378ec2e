// What a kebab server refused or failed at, and what a newcomer can do about it. Pure; the server's own words are always shown beside ours.
import { type Fields, fieldsIn, numberIn, textIn } from "../fields.ts";
import { durationWords } from "../wording.ts";

export type AskProblem = {
  /** HTTP status; null when no answer came, or when the stream failed after its start. */
  readonly status: number | null;
  /** The `code` of an error.v1, where that is `generic` its `reason` or how the model failed, or `no_answer`. */
  readonly code: string | undefined;
  readonly message: string;
  readonly hint: string | undefined;
  /** The field of the request that is at fault. */
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Undefined: the server does not say whether asking again may help. */
  readonly retryable: boolean | undefined;
};

export type Reached<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: AskProblem };

export const noAnswer: AskProblem = {
  status: null,
  code: "no_answer",
  message: "The server cannot be reached.",
  hint: undefined,
  field: undefined,
  retryAfterMs: undefined,
  retryable: undefined,
};

/** An error.v1, or whatever stands in its place. `retryAfter`: the header, in whole seconds or absent. */
export const problemFrom = (status: number | null, body: Fields, retryAfter: string | null = null): AskProblem => {
  const details = fieldsIn(body, "details");
  const code = textIn(body, "code");
  const seconds = Number(retryAfter ?? Number.NaN);
  return {
    status,
    code: (code === "generic" ? causeIn(details) : undefined) ?? code,
    message: textIn(body, "message") ?? (status === null ? "" : `The server answered ${status}.`),
    hint: textIn(body, "hint"),
    field: textIn(details, "field"),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : numberIn(details, "retry_after_ms"),
    retryable: typeof details?.["retryable"] === "boolean" ? details["retryable"] : undefined,
  };
};

/** That the embedding failed says less than how. */
const causeIn = (details: Fields | undefined): string | undefined => {
  const [reason, failure] = [textIn(details, "reason"), textIn(details, "failure_class")];
  return reason === "embedding_failed" ? (failure ?? reason) : (reason ?? failure);
};

export type Explanation = { readonly heading: string; readonly advice: string };

/** Of a question that was refused, or whose answer failed. */
export const explain = (problem: AskProblem): Explanation => {
  const { status, code, hint, field } = problem;
  const later = laterWords(problem);
  switch (code) {
    case "no_answer":
      return { heading: "No answer", advice: "Look at the connection, then ask again." };
    case "unauthorized":
      return { heading: "The server asks for a key", advice: "Enter an API key of this server under “Connection”." };
    case "not_indexed":
      // Without a hint it is the collection that is not there.
      return hint === undefined
        ? { heading: "The collection is empty", advice: "Add documents to it, or choose another collection." }
        : { heading: "The server cannot search like this", advice: wordsAdvice };
    case "vector_limit":
      return {
        heading: "The collection is too large for this search",
        advice: "Choose “by words” under “More options”.",
      };
    case "invalid_input":
      return { heading: "The question was refused", advice: hint ?? fieldAdvice[field ?? ""] ?? "" };
    case "conflict":
      return { heading: "The last question is still being answered", advice: "Wait for its answer, or stop it first." };
    case "too_large":
    case "context_length":
      return {
        heading: "There is too much of it",
        advice: "Ask less at once, or begin a new conversation: switch it off and on under “More options”.",
      };
    case "model_unreachable":
      return { heading: "The model cannot be reached", advice: `Your documents are fine. ${later}` };
    case "model_not_pulled":
      return {
        heading: "The model is not there",
        advice: "The server’s configuration names a model that does not exist.",
      };
    case "timeout":
      return { heading: "The model took too long", advice: later };
    case "rate_limited":
      return { heading: "Too much at once", advice: later };
    case "not_found":
      return { heading: "The answer is no longer kept", advice: "Ask the question again." };
    case "config_invalid":
      return { heading: "The server’s configuration is not valid", advice: serversMatter };
    case "auth":
    case "permission":
      return { heading: "The model’s provider refuses this server", advice: `Its key is not taken. ${serversMatter}` };
    case "quota":
      return { heading: "The model’s provider gives no more", advice: `Its credit is used up. ${serversMatter}` };
    case "content_policy":
      return { heading: "The model’s provider withholds an answer", advice: "Put the question in other words." };
    case "embedding_failed":
      return { heading: "The question could not be embedded", advice: later };
    case "io_error":
      return { heading: "The server is restarting", advice: later };
    case undefined:
    default:
      return status === null
        ? { heading: "The answer failed", advice: `What came before is kept. ${later}` }
        : { heading: `The server answered ${status}`, advice: hint ?? later };
  }
};

const wordsAdvice =
  "Choose “by words” under “More options”. Where the server makes embeddings, documents that were added before it did must be added again.";
const serversMatter = "Whoever runs the server can mend it.";

const laterWords = ({ retryAfterMs, retryable }: AskProblem): string => {
  if (retryable === false) return `Asking again will not help. ${serversMatter}`;
  return retryAfterMs === undefined ? "Ask again in a moment." : `Ask again in ${durationWords(retryAfterMs)}.`;
};

const fieldAdvice: Readonly<Record<string, string>> = {
  question: "Write a question of at most 8,192 characters.",
  collection: "A collection’s name has 1 to 64 letters, digits, dots, dashes or underscores.",
  k: "Choose from 1 to 100 passages under “More options”.",
  multi_hop: "Switch “Several steps” off under “More options”.",
  conversation: "Switch “Conversation” off under “More options”.",
};

/** Why a document was not taken, in plain words. */
export const refusalWords = ({ status, code, field, message, retryAfterMs }: AskProblem): string => {
  switch (code) {
    case "too_large":
      return "Too large: a document may have 8 MiB.";
    case "unsupported_media_type":
      return "Wrong type: only Markdown, plain text and HTML can be read.";
    case "too_many_chunks":
      return "Too many passages: split the document.";
    case "collection_limit":
      return "The collection is full. Remove documents, or use another collection.";
    case "unauthorized":
      return "The server asks for a key: enter it under “Connection”.";
    case "rate_limited":
      return `Too much at once. Try again${retryAfterMs === undefined ? "" : ` in ${durationWords(retryAfterMs)}`}.`;
    case "invalid_input":
      if (field === "body") return "No text: it is binary, or not UTF-8.";
      return field === "docId" ? `The file’s name cannot be used. ${message}` : message;
    case undefined:
    default:
      return message === "" ? `The server answered ${status ?? "nothing"}.` : message;
  }
};
