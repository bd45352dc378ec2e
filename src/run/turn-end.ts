// How a turn of a chat ended, as its visitor's object keeps it. Pure; read off a sealed run.
import type { ChatRef } from "../../schemas/plan.ts";
import type { TurnEnd } from "../../schemas/chat.ts";
import type { CallableTool, CallRecord, CarriedCall } from "../../schemas/tool.ts";
import { withTool } from "./call-tools.ts";
import { presentStep, type FinishedStep, type RunState } from "./state.ts";

/** `undefined` while the run is live. `tools`: what its calls may have called. Steps that have shown and called nothing are left out. */
export function turnEnd(
  state: RunState,
  { chatId }: Pick<ChatRef, "chatId">,
  tools: readonly CallableTool[] = [],
): TurnEnd | undefined {
  const { outcome } = state;
  if (outcome === undefined) return undefined;
  const stopReason = outcome.outcome === "completed" ? outcome.stopReason : undefined;
  const steps = [...state.finished, presentStep(state)].filter(hasSomething);
  return {
    runId: state.charter.runId,
    chatId,
    at: state.lastAt,
    outcome: outcome.outcome,
    ...(stopReason !== undefined && { stopReason }),
    text: state.text,
    reasoning: state.reasoning,
    carried: state.carried.map(withoutDecision),
    steps: steps.map(({ text, reasoning, calls }) => ({
      text,
      reasoning,
      calls: calls.map((call) => withTool(call, tools)),
    })),
    titles: [...state.titles],
    ...(outcome.usage !== undefined && { usage: outcome.usage }),
  };
}

const hasSomething = ({ text, reasoning, calls }: FinishedStep): boolean =>
  text !== "" || reasoning !== "" || calls.length > 0;

function withoutDecision(carried: CarriedCall): CallRecord {
  const { toolCallId, toolName, input, inputJson, execution, confirmation, echo, result } = carried;
  return {
    toolCallId,
    toolName,
    input,
    ...(inputJson !== undefined && { inputJson }),
    execution,
    ...(confirmation !== undefined && { confirmation }),
    ...(echo !== undefined && { echo }),
    ...(result !== undefined && { result }),
  };
}
