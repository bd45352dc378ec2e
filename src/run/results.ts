// How tool calls come to their results: carried out, refused, or given up. Logs each result once; decides nothing about steps.
import type { StopReason } from "../../schemas/outcome.ts";
import type { CallRecord, CarriedCall, ToolResult } from "../../schemas/tool.ts";
import { refusal, resultPayload } from "./call-payload.ts";
import { runningCalls, toolOf } from "./calls.ts";
import { emit, type Step } from "./step.ts";

const denied: ToolResult = {
  output: { success: false, denied: true, error: "The user denied this action and it was not executed." },
};
const cutOff = refusal("The answer was cut off before this call could be made.");
const interrupted = refusal("The run was interrupted while this tool ran; whether it took effect is not known.");
const abandoned = refusal("The run ended while this tool ran; whether it took effect is not known.");
const neverMade = refusal("The run ended before this call could be made.");
const undecided = refusal("The run ended before anybody decided on this call; it was not made.");
const unknownTool = (name: string): ToolResult => refusal(`Unknown tool ${name}.`);

export function logResult(step: Step, at: number, call: CallRecord | CarriedCall, result: ToolResult): void {
  const { toolCallId, toolName } = call;
  const decision = "decision" in call && call.decision !== "undecided" ? call.decision : undefined;
  const payload = { toolCallId, toolName, ...resultPayload(result), ...(decision !== undefined && { decision }) };
  emit(step, at, { type: "tool_result", payload });
}

/** What was denied is never made. */
export function settleDenied(step: Step, at: number): void {
  for (const call of step.state.carried) {
    if (call.decision === "deny" && call.result === undefined) logResult(step, at, call, denied);
  }
}

/** Carries out all calls that are to be carried out now; one to a tool that nobody has is answered instead. */
export function makeCalls(step: Step, at: number): void {
  for (const call of runningCalls(step.state)) {
    const { toolCallId, toolName, input, inputJson } = call;
    if (toolOf(step.state.charter, call) === undefined) logResult(step, at, call, unknownTool(toolName));
    else {
      const exact = inputJson === undefined ? {} : { inputJson };
      step.effects.push({ type: "call", toolCallId, toolName, input, ...exact });
    }
  }
}

/** After a restart nobody knows how far a call had come: only one that may be made twice is made again. */
export function makeCallsAgain(step: Step, at: number): void {
  for (const call of runningCalls(step.state)) {
    const tool = toolOf(step.state.charter, call);
    if (tool?.idempotent === false) logResult(step, at, call, interrupted);
  }
  makeCalls(step, at);
}

/** An answer that was cut off has none of its calls carried out, and leaves none of the server's open. */
export function cutCalls(step: Step, at: number, stopReason: StopReason | undefined): void {
  if (stopReason === "tool_calls") return;
  for (const call of step.state.calls) {
    if (call.execution === "server" && call.result === undefined) logResult(step, at, call, cutOff);
  }
}

/** The run ends, and nobody can go on from it: none of the server's calls of the present step stays open. */
export function giveUpCalls(step: Step, at: number): void {
  if (step.state.phase === "accepted") return;
  for (const call of runningCalls(step.state)) logResult(step, at, call, abandoned);
  const isPushed = step.state.charter.isPushed === true;
  for (const call of step.state.calls) {
    if (call.execution !== "server" || call.result !== undefined) continue;
    // What a producer has made of its calls only it knows.
    const unmade = call.confirmation === undefined ? neverMade : undecided;
    logResult(step, at, call, isPushed ? abandoned : unmade);
  }
}
