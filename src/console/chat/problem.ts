// What a Sveda server refused or failed at, and the words for it. Pure; the server's own words are always shown beside ours.
import { type Fields, textIn } from "../fields.ts";
import { durationWords } from "../wording.ts";

export type ChatProblem = {
  /** HTTP status; null when no answer came, or when the answer failed after its start. */
  readonly status: number | null;
  /** The word of an `error` event, `no_answer`, or `wrong_key`: a key was sent, and the server does not know it. */
  readonly code: string | undefined;
  /** May be empty: some answers have no body. */
  readonly message: string;
  readonly retryAfterMs: number | undefined;
};

export type Explanation = {
  readonly heading: string;
  readonly advice: string;
  /** Sending the same again makes sense. */
  readonly retry: boolean;
};

export const noAnswer: ChatProblem = {
  status: null,
  code: "no_answer",
  message: "The server cannot be reached.",
  retryAfterMs: undefined,
};

/** A refusal's status, JSON object and `Retry-After` header, in whole seconds or absent. */
export const problemFrom = (status: number, body: Fields, retryAfter: string | null): ChatProblem => {
  const seconds = Number(retryAfter ?? Number.NaN);
  return {
    status,
    code: textIn(body, "error"),
    message: textIn(body, "message") ?? "",
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  };
};

export const explain = ({ status, code, retryAfterMs }: ChatProblem): Explanation => {
  const later = retryAfterMs === undefined ? "Try again in a moment." : `Try again in ${durationWords(retryAfterMs)}.`;
  if (status === null) return explainCode(code, later);
  const known = code === "wrong_key" ? wrongKey : byStatus[status];
  if (known !== undefined) return status === 429 ? { ...known, advice: later } : known;
  return { heading: `The server answered ${status}`, advice: later, retry: true };
};

const explainCode = (code: string | undefined, later: string): Explanation => {
  if (code === "no_answer") {
    return { heading: "No answer", advice: "Look at the connection, then try again.", retry: true };
  }
  if (code === "rate_limited") return { heading: "The model is busy: too many requests", advice: later, retry: true };
  if (code === "overloaded") return { heading: "The model is overloaded", advice: later, retry: true };
  if (code === "insufficient_credits") {
    return {
      heading: "The account at the provider is empty",
      advice: "Top it up, or choose another model.",
      retry: true,
    };
  }
  return { heading: "The answer failed", advice: "What came before the failure is kept.", retry: true };
};

const wrongKey: Explanation = {
  heading: "The server does not know this key",
  advice: "Look at the API key under “Connection”: it may be mistyped, or be none of this server’s.",
  retry: true,
};

const byStatus: Readonly<Record<number, Explanation>> = {
  401: {
    heading: "The server asks for a key",
    advice: "Enter an API key of this server under “Connection”.",
    retry: true,
  },
  403: { heading: "The server does not allow this", advice: "The policy of this visitor forbids it.", retry: false },
  404: {
    heading: "Not found",
    advice: "The chat was deleted, or chats are switched off on this server.",
    retry: false,
  },
  409: {
    heading: "The chat waits for something else",
    advice: "Decide about the open tool calls above. If none is there, open the chat again from the list.",
    retry: false,
  },
  410: { heading: "The answer can no longer be read", advice: "Open the chat again from the list.", retry: false },
  413: { heading: "Too long", advice: "Send less text, or begin a new chat.", retry: false },
  422: { heading: "The server refused the request", advice: "Choose another model, or begin a new chat.", retry: true },
  429: { heading: "Too much at once", advice: "", retry: true },
  503: { heading: "The server is not ready", advice: "Try again in a moment.", retry: true },
};
