// The calls of a conversation that wait for their results, and what came instead of a run's. Pure.
import type { WaitingRun } from "../../schemas/continuation.ts";
import type { LangMessage, ThreadWaiting } from "../../schemas/thread.ts";
import { callIdsOf, modelMessages } from "./model-messages.ts";

/** From the last message with calls on: no other can be open, for a model reads the results of its calls before it goes on. */
const tailOf = (state: readonly LangMessage[]): LangMessage[] => {
  const from = state.findLastIndex((message) => callIdsOf([message]).length > 0);
  return from < 0 ? [] : state.slice(from);
};

/** Calls without a result. */
export function openCallsOf(state: readonly LangMessage[]): string[] {
  const tail = tailOf(state);
  const answered = new Set(tail.map((message) => message["tool_call_id"]));
  return callIdsOf(tail).filter((id) => !answered.has(id));
}

/** What a model reads as the results of the calls that do not wait. */
export function settledCalls(state: readonly LangMessage[], waiting: readonly string[]): ThreadWaiting["settled"] {
  return modelMessages(tailOf(state), () => false).flatMap((message) =>
    message.role === "tool" && !waiting.includes(message.toolCallId) ? [message] : [],
  );
}

/** What is left of the run's open calls in the thread. Those that do not wait there any more have the results of the thread. */
export function stillOpen(run: WaitingRun, { callIds, settled }: ThreadWaiting): WaitingRun {
  const isOpen = ({ toolCallId }: { toolCallId: string }): boolean => callIds.includes(toolCallId);
  const closed = new Set(run.open.filter((call) => !isOpen(call)).map(({ toolCallId }) => toolCallId));
  return {
    ...run,
    open: run.open.filter(isOpen),
    turns: [...run.turns, ...settled.filter(({ toolCallId }) => closed.has(toolCallId))],
  };
}
