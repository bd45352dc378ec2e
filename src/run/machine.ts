// The run machine: (state, input) -> (state, events, effects). All exactly-once, commit and fallback rules live here. No clock, no I/O, no storage.
import type { Failure } from "../../schemas/failure.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import type { ProviderEvent, ProviderOutput, Verdict } from "../../schemas/provider.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { cancel, complete, fail, failAttempt } from "./endings.ts";
import { failurePolicies } from "./fallback.ts";
import { attemptedProviderIds, damagedOutcome, exhaustedOutcome, failedOutcome } from "./outcome.ts";
import { fitOutput } from "./output-limit.ts";
import { liveAttempt, type RunState } from "./state.ts";
import { abort, emit, logTexts, retract, telemetry, type Step } from "./step.ts";

/** What happens to a run. `at` is Unix epoch milliseconds. */
export type Input =
  | { type: "start"; at: number }
  | { type: "provider"; at: number; attempt: number; events: readonly ProviderEvent[] }
  | { type: "cancel"; at: number; reason?: string }
  /** The total clock ran out. */
  | { type: "deadline"; at: number }
  /**
   * The run was found live by an object that did not run it. Numbers up to `reservedTo` may have been seen and are not
   * stored; `damaged` says that what is stored cannot be read whole.
   */
  | { type: "recover"; at: number; reservedTo: number; damaged: boolean }
  /** A recovered run goes on. `recoveries` counts this one. */
  | { type: "resume"; at: number; recoveries: number };

/** Applies one input. A sealed run absorbs everything. */
export function transition(state: RunState, input: Input): Step {
  const step: Step = { state, events: [], effects: [] };
  if (state.phase === "sealed") return step;
  switch (input.type) {
    case "start":
      start(step, input.at);
      break;
    case "provider":
      for (let index = 0; index < input.events.length;) {
        // A sealed run, or one that went on to another attempt, drops what comes late.
        if (step.state.phase === "sealed" || liveAttempt(step.state)?.attempt !== input.attempt) break;
        const texts = textsFrom(step.state, input.events, index);
        if (texts.length > 1) logTexts(step, texts, input.at);
        else provider(step, input.events[index], input.at);
        index += Math.max(1, texts.length);
      }
      break;
    case "cancel":
      cancel(step, input.at, input.reason);
      break;
    case "deadline":
      abort(step);
      failAttempt(step, input.at, timeoutTotal);
      fail(step, input.at, failedOutcome(step.state, input.at, timeoutTotal));
      break;
    case "recover":
      // Of a damaged log it may be that nothing can be read.
      if (state.phase === "running" || input.damaged) recover(step, input);
      break;
    case "resume":
      if (state.phase === "running") resume(step, input.at, input.recoveries);
      break;
  }
  return step;
}

const timeoutTotal: Failure = {
  failureClass: "timeout_total",
  message: "The run took longer than its total clock allows.",
};
const interrupted: Failure = {
  failureClass: "interrupted",
  message: "The run was interrupted by a restart of the server.",
};

function start(step: Step, at: number): void {
  const [first] = step.state.charter.chain;
  if (step.state.phase !== "accepted" || first === undefined) return;
  telemetry(step, { type: "route_decided", payload: step.state.charter.decision });
  emit(step, at, { type: "lifecycle", payload: { phase: "provider_selected", providerId: first.id } });
  open(step, at, first);
}

function open(step: Step, at: number, target: PlannedTarget): void {
  const attempt = step.state.attempts.length;
  emit(step, at, { type: "attempt", payload: { attempt, step: 0, targetId: target.id, phase: "started" } });
  step.effects.push({ type: "open", attempt, target });
  telemetry(step, {
    type: "stream_attempt_started",
    payload: { providerId: target.id, fallbackOccurred: attempt > 0 },
  });
}

/** Voids what may have been seen and was lost, and restates what a reader must show instead. */
function recover(step: Step, { at, reservedTo, damaged }: Extract<Input, { type: "recover" }>): void {
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
function resume(step: Step, at: number, recoveries: number): void {
  const { charter, attempts, toolCalls } = step.state;
  const live = liveAttempt(step.state);
  const last = attempts.at(-1);
  const target = charter.chain.find(({ id }) => id === last?.targetId) ?? charter.chain[0];
  const mayRetract = charter.onMidStreamFailure === "retract" && toolCalls.length === 0;
  const lost = live?.status === "committed" && !mayRetract;
  if (lost || recoveries > charter.maxRecoveries || target === undefined) {
    failAttempt(step, at, interrupted);
    fail(step, at, failedOutcome(step.state, at, interrupted));
    return;
  }
  if (live !== undefined) {
    const { attempt, step: ofStep, targetId } = live;
    emit(step, at, { type: "attempt", payload: { attempt, step: ofStep, targetId, phase: "superseded" } });
  }
  if (live?.status === "committed") retract(step, at);
  open(step, at, target);
}

/** The texts from `index` on that need no decision: the attempt is committed, and they fit whatever they hold. */
function textsFrom(state: RunState, events: readonly ProviderEvent[], index: number): string[] {
  const texts: string[] = [];
  if (liveAttempt(state)?.status !== "committed") return texts;
  let room = state.charter.maxOutputBytes - state.outputBytes;
  for (let next = index; next < events.length; next++) {
    const event = events[next];
    if (event?.type !== "text") break;
    room -= event.text.length * 3;
    if (room < 0) break;
    texts.push(event.text);
  }
  return texts;
}

function provider(step: Step, event: ProviderEvent | undefined, at: number): void {
  if (event === undefined) return;
  switch (event.type) {
    case "text":
    case "snapshot":
    case "reasoning":
    case "tool_call_delta":
    case "tool_call":
      output(step, event, at);
      break;
    case "model":
      step.state = { ...step.state, unloggedModel: event.model };
      break;
    case "usage":
      step.state = { ...step.state, unloggedUsage: event.usage };
      break;
    case "diagnostic": {
      const { code, parameter } = event;
      emit(step, at, { type: "diagnostic", payload: { code, ...(parameter !== undefined && { parameter }) } });
      break;
    }
    case "finishing":
      break;
    case "verdict":
      verdict(step, event, at);
      break;
  }
}

function output(step: Step, event: ProviderOutput, at: number): void {
  if (event.type === "tool_call" && depthOf(event.input, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    abort(step);
    failed(step, at, { failureClass: "malformed", message: "A tool call's input is nested too deeply." });
    return;
  }
  const { draft, whole } = fitOutput(step.state, event);
  if (draft !== undefined) {
    commit(step, at);
    emit(step, at, draft);
  }
  if (!whole) stopAtLimit(step, at);
}

/** The first output of an attempt: from here on a change of target can no longer go unseen. */
function commit(step: Step, at: number): void {
  const live = liveAttempt(step.state);
  if (live === undefined || live.status === "committed") return;
  const { attempt, targetId } = live;
  const { unloggedModel: reportedModel } = step.state;
  emit(step, at, {
    type: "attempt",
    payload: {
      attempt,
      step: live.step,
      targetId,
      phase: "committed",
      ...(reportedModel !== undefined && { reportedModel }),
    },
  });
  if (!step.state.announced) emit(step, at, { type: "lifecycle", payload: { phase: "started" } });
  telemetry(step, {
    type: "stream_attempt_succeeded",
    payload: { providerId: targetId, attemptedProviderIds: attemptedProviderIds(step.state.attempts) },
  });
}

function stopAtLimit(step: Step, at: number): void {
  const { maxOutputBytes } = step.state.charter;
  emit(step, at, { type: "diagnostic", payload: { code: "output_limit", maxOutputBytes } });
  abort(step);
  complete(step, at, "length");
}

function verdict(step: Step, event: Verdict, at: number): void {
  switch (event.verdict) {
    case "complete":
      settleComplete(step, event, at);
      break;
    case "truncated":
      failed(step, at, {
        failureClass: "truncated",
        message: `Provider '${liveAttempt(step.state)?.targetId ?? ""}' stream ended without a terminal event.`,
      });
      break;
    case "failed":
      failed(step, at, event.failure);
      break;
    case "aborted":
      failed(step, at, { failureClass: "reset", message: "The provider's stream was closed." });
      break;
  }
}

function settleComplete(step: Step, event: Extract<Verdict, { verdict: "complete" }>, at: number): void {
  const stated = event.finalText;
  if (stated !== undefined && step.state.stepText + stated !== step.state.text) {
    output(step, { type: "snapshot", text: step.state.stepText + stated }, at);
    if (step.state.phase === "sealed") return;
  }
  const shown = liveAttempt(step.state)?.status === "committed";
  if (event.stopReason === "content_filter" && !shown) {
    failed(step, at, { failureClass: "content_policy", message: "The provider withheld its answer." });
    return;
  }
  // What was delivered counts, not the provider's word for it.
  const called = step.state.toolCalls.length > 0;
  const ordinary = event.stopReason === "stop" || event.stopReason === "tool_calls";
  complete(step, at, ordinary ? (called ? "tool_calls" : "stop") : event.stopReason);
}

/** An attempt is over without an answer: the next target, or the end of the run. */
function failed(step: Step, at: number, failure: Failure): void {
  const live = liveAttempt(step.state);
  if (live === undefined) return;
  failAttempt(step, at, failure);
  const { charter, toolCalls } = step.state;
  const next = charter.chain[charter.chain.findIndex(({ id }) => id === live.targetId) + 1];
  const { fallsBack } = failurePolicies[failure.failureClass];
  if (live.status === "started") {
    if (!fallsBack) fail(step, at, failedOutcome(step.state, at, failure));
    else if (next === undefined) fail(step, at, exhaustedOutcome(step.state, at));
    else open(step, at, next);
    return;
  }
  const mayRetract = charter.onMidStreamFailure === "retract" && toolCalls.length === 0;
  if (!mayRetract || !fallsBack || next === undefined) {
    fail(step, at, failedOutcome(step.state, at, failure));
    return;
  }
  retract(step, at);
  open(step, at, next);
}
