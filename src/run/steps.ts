// The agent loop: decisions carried over, a step's end, its tool calls, and what follows. Of a run without an agent it knows nothing.
import type { Payload } from "../../schemas/event.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { ToolResult } from "../../schemas/tool.ts";
import { isCarriedOut, pendingCalls, runningCalls } from "./calls.ts";
import { openFirst } from "./chain.ts";
import { answered } from "./endings.ts";
import { cutCalls, logResult, makeCalls, makeCallsAgain, settleDenied } from "./results.ts";
import { liveAttempts, speaker, stepChain, type Agent, type RunState } from "./state.ts";
import { emit, estimate, remember, type Step } from "./step.ts";
import { completeWithTitle } from "./titles.ts";

/** Tokens that a target whose configuration does not say takes in all. */
const CONTEXT_TOKENS = 128_000;

/** The run begins with what was decided about the conversation's open calls; only then is a model asked. */
export function startSteps(step: Step, at: number): void {
  settleDenied(step, at);
  makeCalls(step, at);
  goOn(step, at);
}

/** The model has answered, or was stopped: the step's calls are made, or it is the last one. */
export function endStep(step: Step, at: number, reason: StopReason | undefined): void {
  const called = step.state.calls.length > 0;
  // What was delivered counts, not the provider's word for it.
  const ordinary = reason === "stop" || reason === "tool_calls" || (reason === undefined && called);
  const finishReason = ordinary ? (called ? "tool_calls" : "stop") : reason;
  const live = speaker(liveAttempts(step.state));
  answered(step, at);
  if (live !== undefined) emit(step, at, { type: "context_usage", payload: contextUsage(step.state, live.attempt) });
  emit(step, at, {
    type: "step",
    payload: {
      step: step.state.step,
      phase: "finished",
      ...(finishReason !== undefined && { finishReason }),
    },
  });
  // What a target has refused in this step it may take in the next.
  remember(step, { refusal: undefined });
  makeCalls(step, at);
  goOn(step, at);
}

/** A tool has come to its end. What was not called for, or has a result already, changes nothing. */
export function toolDone(step: Step, at: number, toolCallId: string, result: ToolResult): void {
  const call = runningCalls(step.state).find((running) => running.toolCallId === toolCallId);
  if (call === undefined) return;
  logResult(step, at, call, result);
  goOn(step, at);
}

export function toolProgress(
  step: Step,
  at: number,
  tasks: Payload<"tool_progress">["tasks"],
  phase: string | undefined,
): void {
  if (runningCalls(step.state).length === 0) return;
  const known = tasks.map(({ id, label, status, detail }) => ({
    id,
    label,
    status,
    ...(detail !== undefined && { detail }),
  }));
  const carried = step.state.stepBegun ? {} : { carried: true as const };
  emit(step, at, {
    type: "tool_progress",
    payload: { ...(phase !== undefined && { phase }), ...carried, tasks: known },
  });
}

/** After a restart while no model was asked. */
export function resumeSteps(step: Step, at: number): void {
  makeCallsAgain(step, at);
  goOn(step, at);
}

/** What follows, once no call is being carried out. */
function goOn(step: Step, at: number): void {
  const { agent } = step.state.charter;
  if (agent === undefined || runningCalls(step.state).length > 0) return;
  const next = following(step.state, agent);
  if (next.type === "step") return beginStep(step, at, next.step);
  cutCalls(step, at, next.stopReason);
  if (next.stopReason === "max_steps" && !step.state.capped) {
    emit(step, at, { type: "max_steps", payload: { maxSteps: agent.maxSteps, canContinue: true } });
  }
  completeWithTitle(step, at, next.stopReason);
}

/** All that is left of a run that stands between two model calls is its end. */
export function isOver(state: RunState): boolean {
  const { agent } = state.charter;
  return agent !== undefined && runningCalls(state).length === 0 && following(state, agent).type === "end";
}

type Following = { type: "step"; step: number } | { type: "end"; stopReason: StopReason | undefined };

function following(state: RunState, { maxSteps }: Agent): Following {
  const { stepBegun, stepEnd, step } = state;
  const stopReason = stepEnd?.stopReason;
  if (stepBegun && !isCarriedOut(stopReason)) return { type: "end", stopReason };
  if (pendingCalls(state).length > 0) return { type: "end", stopReason: "tool_calls" };
  if (!stepBegun) return { type: "step", step: 0 };
  if (step + 1 >= maxSteps) return { type: "end", stopReason: "max_steps" };
  return { type: "step", step: step + 1 };
}

function beginStep(step: Step, at: number, number: number): void {
  emit(step, at, { type: "step", payload: { step: number, phase: "started" } });
  const [first] = stepChain(step.state);
  if (first !== undefined) openFirst(step, at, first);
}

/** How much of what the model can take in at once the step has filled. */
function contextUsage(state: RunState, attempt: number): Payload<"context_usage"> {
  const { targetId, status, usage = {} } = state.attempts[attempt] ?? {};
  const { inputTokens, outputTokens, totalTokens } = usage;
  const { apart = 0 } = state.volatile.notes[attempt] ?? {};
  const isCounted = inputTokens !== undefined && outputTokens !== undefined;
  const both = isCounted ? inputTokens + apart + outputTokens : totalTokens;
  const own = estimate(state, status === "committed");
  const usedTokens = both ?? own.inputTokens + own.outputTokens;
  const planned = state.charter.chain.find(({ id }) => id === targetId);
  const maxTokens = planned?.target.contextTokens ?? CONTEXT_TOKENS;
  const percent = Math.min(100, Math.round((usedTokens / maxTokens) * 1000) / 10);
  const isEstimate = both === undefined || usage.estimated === true;
  return { usedTokens, maxTokens, percent, ...(isEstimate && { estimated: true }) };
}
