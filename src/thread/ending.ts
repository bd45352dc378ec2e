// How a run's end reads in its thread: the word, the finer word, what is told of a failure, and what waits. Pure.
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import { ROLLBACK, type Interrupt, type ThreadRunEnd } from "../../schemas/thread.ts";
import type { Called } from "./messages.ts";

const stopReasons: Record<StopReason, string | null> = {
  stop: null,
  tool_calls: null,
  continue: null,
  length: "model_length_capped",
  max_steps: "loop_capped",
  content_filter: "safety_capped",
};

/** `pending`: the calls that the outcome leaves open, with their inputs. */
export function endingOf(outcome: Outcome, pending: readonly Called[]): ThreadRunEnd {
  const { titles = [] } = outcome;
  const title = titles.at(-1);
  const rest = { interrupts: pending.map(interruptOf), ...(title !== undefined && { title }) };
  switch (outcome.outcome) {
    case "completed": {
      const stopReason = outcome.stopReason === undefined ? null : stopReasons[outcome.stopReason];
      return { status: pending.length > 0 ? "interrupted" : "success", stopReason, error: null, ...rest };
    }
    case "cancelled":
      return outcome.reason === ROLLBACK.reason
        ? { status: "error", stopReason: null, error: ROLLBACK.error, ...rest }
        : { status: "interrupted", stopReason: null, error: null, ...rest };
    case "error": {
      const { details = {}, message } = outcome.error;
      const { failureClass, code } = details;
      const stopReason = failureClass === "interrupted" || code === "damaged_log" ? "orphan_recovered" : null;
      return { status: failureClass === "timeout_total" ? "timeout" : "error", stopReason, error: message, ...rest };
    }
  }
}

/** `needs`: what a run that goes on from here is to be given for the call. */
function interruptOf({ toolCallId, toolName, input, execution, confirmation }: Called): Interrupt {
  const needs = execution === "server" || confirmation !== undefined ? "decision" : "result";
  return { id: toolCallId, value: { type: "tool_call", needs, tool_call_id: toolCallId, name: toolName, args: input } };
}
