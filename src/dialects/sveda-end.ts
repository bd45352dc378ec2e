// How a run's end reads in Sveda's words: finish reason, usage, error code and message. Pure; writes no frames.
import type { TurnFinish } from "../../schemas/chat.ts";
import type { SvedaEvent } from "../../schemas/dialects/sveda.ts";
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import type { IndeRunError } from "../../schemas/problem.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";

type ErrorEvent = Extract<SvedaEvent, { type: "error" }>;
type EndEvent = Extract<SvedaEvent, { type: "message.end" }>;

export interface Finish {
  error: ErrorEvent | undefined;
  end: EndEvent & { finishReason: string };
  titles: readonly string[];
}

/** UTF-16 units of an error's message. */
const MAX_MESSAGE = 500;

const finishReasons: Record<StopReason, string> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  max_steps: "stop",
  continue: "stop",
  content_filter: "error",
};

export function finishOf(outcome: Outcome): Finish {
  const { titles = [] } = outcome;
  const usage = outcome.usage === undefined ? {} : { usage: usageOf(outcome.usage) };
  const end = (finishReason: string): Finish["end"] => ({ type: "message.end", finishReason, ...usage });
  switch (outcome.outcome) {
    case "completed": {
      const { stopReason = "stop" } = outcome;
      return {
        error: stopReason === "content_filter" ? withheld : undefined,
        end: end(finishReasons[stopReason]),
        titles,
      };
    }
    case "error":
      return { error: errorEvent(outcome.error), end: end("error"), titles };
    case "cancelled":
      return { error: undefined, end: end("cancelled"), titles };
  }
}

/** What a stored chat says of a turn's end. `maxSteps`: the run's limit. */
export function turnFinish(outcome: Outcome, maxSteps: number | undefined): TurnFinish {
  const { error, end } = finishOf(outcome);
  const capped = outcome.outcome === "completed" && outcome.stopReason === "max_steps";
  return {
    finishReason: end.finishReason,
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...(capped && maxSteps !== undefined && { maxSteps }),
  };
}

const withheld: ErrorEvent = {
  type: "error",
  code: "llm_error",
  message: "The provider's content filter ended the answer.",
};

/** The four codes that clients know, by the class that the error names. */
export function errorEvent({ message, details }: IndeRunError): ErrorEvent {
  switch (details?.["failureClass"]) {
    case "rate_limited":
      return { type: "error", code: "rate_limited", message: "rate limited" };
    case "quota":
      return { type: "error", code: "insufficient_credits", message: "insufficient credits" };
    case "overloaded":
      return { type: "error", code: "overloaded", message: "provider overloaded" };
  }
  return { type: "error", code: "llm_error", message: message.slice(0, MAX_MESSAGE) };
}

/** A provider that states no total is charged for what it was sent and what it wrote. */
function usageOf({ inputTokens = 0, outputTokens = 0, totalTokens }: AccountedUsage): NonNullable<EndEvent["usage"]> {
  return {
    promptTokens: inputTokens,
    completionTokens: outputTokens,
    totalTokens: totalTokens ?? inputTokens + outputTokens,
  };
}
