// The run machine: (state, input) -> (state, events, effects). All exactly-once, commit and fallback rules live here. No clock, no I/O, no storage.
import type { Failure } from "../../schemas/failure.ts";
import type { ProviderEvent, ProviderOutput, Verdict } from "../../schemas/provider.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { failed, giveUpOthers, hedge, openFirst, retry } from "./chain.ts";
import { cancel, complete, fail, failAttempt } from "./endings.ts";
import { attemptedProviderIds, failedOutcome } from "./outcome.ts";
import { fitOutput } from "./output-limit.ts";
import { recover, resume } from "./recovery.ts";
import { closeSeam, join, joinWhole, type Joined } from "./seam.ts";
import { liveAttempt, liveAttempts, type RunState } from "./state.ts";
import { abort, emit, logTexts, logUsage, remember, telemetry, type Step } from "./step.ts";
import { noted } from "./volatile.ts";

/** What happens to a run. `at` is Unix epoch milliseconds. */
export type Input =
  | { type: "start"; at: number }
  | { type: "provider"; at: number; attempt: number; events: readonly ProviderEvent[] }
  | { type: "cancel"; at: number; reason?: string }
  /** A wait that the machine asked for is over. */
  | { type: "retry" | "hedge"; at: number }
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
        if (isSealed(step) || liveAttempt(step.state, input.attempt) === undefined) break;
        const texts = textsFrom(step.state, input, index);
        if (texts.length > 1) logTexts(step, texts, input.at);
        else provider(step, input.attempt, input.events[index], input.at);
        index += Math.max(1, texts.length);
      }
      break;
    case "cancel":
      cancel(step, input.at, input.reason);
      break;
    case "retry":
      retry(step, input.at);
      break;
    case "hedge":
      hedge(step, input.at);
      break;
    case "deadline":
      abort(step);
      for (const { attempt } of liveAttempts(step.state)) failAttempt(step, input.at, attempt, timeoutTotal);
      fail(step, input.at, failedOutcome(step.state, input.at, timeoutTotal));
      break;
    case "recover":
      // Of a damaged log it may be that nothing can be read.
      if (state.phase === "running" || input.damaged) recover(step, input.at, input.reservedTo, input.damaged);
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

const isSealed = ({ state }: Step): boolean => state.phase === "sealed";

function start(step: Step, at: number): void {
  const [first] = step.state.charter.chain;
  if (step.state.phase !== "accepted" || first === undefined) return;
  telemetry(step, { type: "route_decided", payload: step.state.charter.decision });
  emit(step, at, { type: "lifecycle", payload: { phase: "provider_selected", providerId: first.id } });
  openFirst(step, at, first);
}

/** The texts from `index` on that need no decision: the attempt is committed, its seam is settled, and they fit whatever they hold. */
function textsFrom(state: RunState, { attempt, events }: ProviderInput, index: number): string[] {
  const texts: string[] = [];
  if (liveAttempt(state, attempt)?.status !== "committed" || state.volatile.seam !== undefined) return texts;
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

type ProviderInput = Extract<Input, { type: "provider" }>;

function provider(step: Step, attempt: number, event: ProviderEvent | undefined, at: number): void {
  if (event === undefined) return;
  switch (event.type) {
    case "text":
      said(step, attempt, event.text, at);
      break;
    case "reasoning":
      // A model may think before it goes on: that settles nothing about its text.
      output(step, attempt, event, at);
      break;
    case "snapshot":
    case "tool_call_delta":
    case "tool_call":
      settleSeam(step, attempt, at);
      if (!isSealed(step)) output(step, attempt, event, at);
      break;
    case "model":
      remember(step, noted(step.state.volatile, attempt, { model: event.model }));
      break;
    case "usage":
      remember(step, noted(step.state.volatile, attempt, { usage: event.usage }));
      break;
    case "diagnostic": {
      const { code, parameter } = event;
      emit(step, at, { type: "diagnostic", payload: { code, ...(parameter !== undefined && { parameter }) } });
      break;
    }
    case "finishing":
      break;
    case "verdict":
      verdict(step, attempt, event, at);
      break;
  }
}

/** Text of an attempt that goes on from what is shown is held back while it may be a repetition of it. */
function said(step: Step, attempt: number, text: string, at: number): void {
  const { seam } = step.state.volatile;
  if (seam === undefined) return output(step, attempt, { type: "text", text }, at);
  show(step, attempt, join(seam, text), at);
}

function settleSeam(step: Step, attempt: number, at: number): void {
  const { seam } = step.state.volatile;
  if (seam !== undefined) show(step, attempt, closeSeam(seam), at);
}

function show(step: Step, attempt: number, { seam, text, replaces }: Joined, at: number): void {
  remember(step, { seam });
  if (replaces) output(step, attempt, { type: "snapshot", text: step.state.stepText + text }, at);
  else if (text !== "") output(step, attempt, { type: "text", text }, at);
}

function output(step: Step, attempt: number, event: ProviderOutput, at: number): void {
  if (event.type === "tool_call" && depthOf(event.input, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    step.effects.push({ type: "abort", attempt });
    failed(step, at, attempt, { failureClass: "malformed", message: "A tool call's input is nested too deeply." });
    return;
  }
  const { draft, whole } = fitOutput(step.state, event);
  if (draft !== undefined) {
    commit(step, attempt, at);
    emit(step, at, draft);
  }
  if (!whole) stopAtLimit(step, at);
}

/** What the run's text is when this attempt's is `stated`: of an answer in two parts a provider states its own. */
function wholeText({ stepText, charter, volatile }: RunState, stated: string): string {
  const { continued } = volatile;
  return stepText + (continued === undefined ? stated : joinWhole(continued, stated, charter.asks.json));
}

/** The first output of an attempt: from here on a change of target can no longer go unseen. */
function commit(step: Step, attempt: number, at: number): void {
  const live = liveAttempt(step.state, attempt);
  if (live === undefined || live.status === "committed") return;
  giveUpOthers(step, at, attempt);
  const { targetId, startedAt } = live;
  const reportedModel = step.state.volatile.notes[attempt]?.model;
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
  const firstOutputMs = Math.max(0, at - startedAt);
  step.effects.push({ type: "report", report: { targetId, result: "shown", firstOutputMs } });
  telemetry(step, {
    type: "stream_attempt_succeeded",
    payload: { providerId: targetId, attemptedProviderIds: attemptedProviderIds(step.state.attempts) },
  });
}

function stopAtLimit(step: Step, at: number): void {
  const { maxOutputBytes } = step.state.charter;
  for (const live of liveAttempts(step.state)) logUsage(step, at, live, "estimate");
  emit(step, at, { type: "diagnostic", payload: { code: "output_limit", maxOutputBytes } });
  abort(step);
  complete(step, at, "length");
}

function verdict(step: Step, attempt: number, event: Verdict, at: number): void {
  switch (event.verdict) {
    case "complete":
      settleSeam(step, attempt, at);
      if (!isSealed(step)) settleComplete(step, attempt, event, at);
      break;
    case "truncated":
      failed(step, at, attempt, {
        failureClass: "truncated",
        message: `Provider '${step.state.attempts[attempt]?.targetId ?? ""}' stream ended without a terminal event.`,
      });
      break;
    case "failed":
      failed(step, at, attempt, event.failure);
      break;
    case "aborted":
      failed(step, at, attempt, { failureClass: "reset", message: "The provider's stream was closed." });
      break;
  }
}

function settleComplete(
  step: Step,
  attempt: number,
  event: Extract<Verdict, { verdict: "complete" }>,
  at: number,
): void {
  const whole = event.finalText === undefined ? undefined : wholeText(step.state, event.finalText);
  if (whole !== undefined && whole !== step.state.text) {
    output(step, attempt, { type: "snapshot", text: whole }, at);
    if (isSealed(step)) return;
  }
  const shown = liveAttempt(step.state, attempt)?.status === "committed";
  if (event.stopReason === "content_filter" && !shown) {
    failed(step, at, attempt, { failureClass: "content_policy", message: "The provider withheld its answer." });
    return;
  }
  // A provider that is done without a word ends the others, too.
  giveUpOthers(step, at, attempt);
  // What was delivered counts, not the provider's word for it.
  const called = step.state.toolCalls.length > 0;
  const ordinary = event.stopReason === "stop" || event.stopReason === "tool_calls";
  complete(step, at, ordinary ? (called ? "tool_calls" : "stop") : event.stopReason);
}
