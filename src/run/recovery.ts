// How a run that was found live goes on: voids what was lost, restates what holds, and opens its target again. No storage in it.
import { continuation, decideAgain, isShown, open, openFirst } from "./chain.ts";
import { fail, failAttempt, supersede } from "./endings.ts";
import { damagedOutcome, failedOutcome } from "./outcome.ts";
import { interrupted, isResearching, researchAgain } from "./research.ts";
import { logRetrieval, refuse } from "./retrieval.ts";
import { liveAttempts, onMidStreamFailure, speaker, stepAttempts, stepChain } from "./state.ts";
import { emit, retract, type Step } from "./step.ts";
import { isOver, resumeSteps } from "./steps.ts";

/** Voids what may have been seen and was lost, and restates what a reader must show instead. */
export function recover(step: Step, at: number, reservedTo: number, damaged: boolean): void {
  const releasedFrom = step.state.nextSequence;
  while (step.state.nextSequence <= reservedTo) {
    emit(step, at, { type: "diagnostic", payload: { code: "sequence_released" } });
  }
  const { text, reasoning, committed } = step.state;
  if (damaged) fail(step, at, damagedOutcome(step.state, at));
  else if (committed && step.state.nextSequence > releasedFrom) {
    emit(step, at, { type: "content_snapshot", payload: { text, reasoning, releasedFrom } });
  }
}

/** The crash was ours, so the same target gets another try; what was shown decides as after any failure. */
export function resume(step: Step, at: number, recoveries: number): void {
  if (isResearching(step.state)) return researchAgain(step, at, recoveries);
  logRetrieval(step, at);
  if (refuse(step, at)) return;
  const { charter, calls, stepBegun, stepEnd } = step.state;
  const isAsked = charter.agent === undefined || (stepBegun && stepEnd === undefined);
  const mayGoOn = recoveries <= charter.maxRecoveries;
  if (!isAsked && (mayGoOn || isOver(step.state))) return resumeSteps(step, at);
  const policy = onMidStreamFailure(charter);
  const attempts = stepAttempts(step.state);
  const live = liveAttempts(step.state);
  const chain = stepChain(step.state);
  const target = chain.find(({ id }) => id === speaker(attempts)?.targetId) ?? chain[0];
  // Text may also stand from an attempt that failed, for another to go on from.
  const shown = isShown(step.state) || live.some(({ status }) => status === "committed");
  const lost = shown && (policy === "fail" || calls.length > 0);
  if (lost || !mayGoOn || target === undefined) {
    for (const { attempt } of live) failAttempt(step, at, attempt, interrupted);
    fail(step, at, failedOutcome(step.state, at, interrupted));
    return;
  }
  if (live.length === 0 && attempts.length > 0) return decideAgain(step, at);
  for (const { attempt } of live) supersede(step, at, attempt);
  const opening = shown && policy === "continue" ? continuation(step, at, target) : { target };
  if (shown && opening.prefill === undefined) retract(step, at);
  if (opening.prefill === undefined && !attempts.some(({ status }) => status === "failed")) openFirst(step, at, target);
  else open(step, at, opening);
}
