// How a turn ended, as far as its reader must be told: read off its stream, or off the chat that is stored. Pure.
import { type Fields, fieldsIn, numberIn, textIn } from "../fields.ts";
import type { ChatProblem } from "./problem.ts";

export type Ending =
  | { readonly kind: "stopped" }
  | { readonly kind: "cut_at_length" }
  | { readonly kind: "max_steps"; readonly maxSteps: number; readonly canContinue: boolean }
  | { readonly kind: "failed"; readonly problem: ChatProblem }
  /** Nobody answers the newest message, and why is not known here. */
  | { readonly kind: "unanswered" };

/** Why an answer is not whole. */
export type Cut = "stopped" | "cut_at_length" | "failed";

/** Of a `message.end`, or of what a stored chat says of a turn. Null: there is nothing to say. */
export const endingFrom = (said: Fields): Ending | null => {
  const maxSteps = numberIn(said, "maxSteps");
  if (maxSteps !== undefined) return { kind: "max_steps", maxSteps, canContinue: true };
  switch (textIn(said, "finishReason") ?? "") {
    case "cancelled":
      return { kind: "stopped" };
    case "length":
      return { kind: "cut_at_length" };
    case "error":
      return failedWith(fieldsIn(said, "error") ?? { message: "The answer failed." });
    default:
      return null;
  }
};

/** By the code and the message of an `error` event. */
export const failedWith = (error: Fields): Ending => ({
  kind: "failed",
  problem: {
    status: null,
    code: textIn(error, "code") ?? "unknown",
    message: textIn(error, "message") ?? "",
    retryAfterMs: undefined,
  },
});

export const cutBy = (ending: Ending | null): Cut | undefined => {
  switch (ending?.kind) {
    case "stopped":
    case "cut_at_length":
    case "failed":
      return ending.kind;
    case "max_steps":
    case "unanswered":
    case undefined:
      return undefined;
  }
};
