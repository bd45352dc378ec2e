// What a provider's events make of a run: its output is shown, its verdict ends the attempt. Commit and final texts are decided here, what comes next is not.
import type { ProviderEvent, ProviderOutput, Verdict } from "../../schemas/provider.ts";
import { loggedId } from "./calls.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { failed, giveUpOthers } from "./chain.ts";
import { complete } from "./endings.ts";
import { attemptedProviderIds } from "./outcome.ts";
import { fitOutput } from "./output-limit.ts";
import { closeSeam, join, joinWhole, type Joined } from "./seam.ts";
import { liveAttempt, liveAttempts, type RunState } from "./state.ts";
import { abort, emit, logTexts, logUsage, remember, telemetry, type Step } from "./step.ts";
import { endStep } from "./steps.ts";
import { askForTitle } from "./titles.ts";
import { begunBefore } from "./turns.ts";
import { noted } from "./volatile.ts";

/** What an attempt's provider has said, in order. What comes when the attempt is over is dropped. */
export function hear(step: Step, attempt: number, events: readonly ProviderEvent[], at: number): void {
  for (let index = 0; index < events.length;) {
    if (!isLive(step, attempt)) break;
    const texts = textsFrom(step.state, attempt, events, index);
    if (texts.length > 1) logTexts(step, texts, at);
    else provider(step, attempt, events[index], at);
    index += Math.max(1, texts.length);
  }
}

const isLive = ({ state }: Step, attempt: number): boolean => liveAttempt(state, attempt) !== undefined;

/** The texts from `index` on that need no decision: the attempt is committed, its seam is settled, and they fit whatever they hold. */
function textsFrom(state: RunState, attempt: number, events: readonly ProviderEvent[], index: number): string[] {
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
      settleSeam(step, attempt, at);
      if (isLive(step, attempt)) restate(step, attempt, step.state.stepText + event.text, at);
      break;
    case "tool_call_delta":
    case "tool_call":
      settleSeam(step, attempt, at);
      if (isLive(step, attempt)) call(step, attempt, event, at);
      break;
    case "model":
      remember(step, noted(step.state.volatile, attempt, { model: event.model.toWellFormed() }));
      break;
    case "usage":
      remember(step, noted(step.state.volatile, attempt, { usage: event.usage, apart: event.apart ?? 0 }));
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

/** A tool call, or a piece of one. */
function call(
  step: Step,
  attempt: number,
  event: Extract<ProviderOutput, { type: "tool_call" | "tool_call_delta" }>,
  at: number,
): void {
  if (event.type === "tool_call" && depthOf(event.input, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    step.effects.push({ type: "abort", attempt });
    failed(step, at, attempt, { failureClass: "malformed", message: "A tool call's input is nested too deeply." });
    return;
  }
  const from = event.toolCallId;
  const to = loggedId(step.state, from);
  const others = step.state.volatile.renamed.filter((renamed) => renamed.from !== from);
  remember(step, { renamed: event.type === "tool_call" ? others : [...others, { from, to }] });
  const toolName = event.toolName?.toWellFormed();
  output(step, attempt, { ...event, toolCallId: to, ...(toolName !== undefined && { toolName }) }, at);
}

/** The whole text is stated: what is shown comes to say the same, where it can be replaced. */
function restate(step: Step, attempt: number, whole: string, at: number): void {
  const { text, charter } = step.state;
  if (charter.replaces) return output(step, attempt, { type: "snapshot", text: whole }, at);
  if (!whole.startsWith(text)) emit(step, at, { type: "diagnostic", payload: { code: "final_text_differs" } });
  else if (whole !== text) output(step, attempt, { type: "text", text: whole.slice(text.length) }, at);
}

function output(step: Step, attempt: number, event: ProviderOutput, at: number): void {
  const { draft, whole } = fitOutput(step.state, event);
  if (draft !== undefined) {
    commit(step, attempt, at);
    emit(step, at, draft);
  }
  if (!whole) stopAtLimit(step, at);
}

/** What the run's text is when this attempt's is `stated`: of an answer in two parts a provider states its own. */
function wholeText(state: RunState, stated: string): string {
  const { stepText, charter, volatile } = state;
  const { continued } = volatile;
  if (continued === undefined) return stepText + stated;
  return stepText + joinWhole(continued, stated, charter.asks.json, begunBefore(state));
}

/** The first output of an attempt: from here on a change of target can no longer go unseen. */
export function commit(step: Step, attempt: number, at: number): void {
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
  if (!step.state.announced) {
    emit(step, at, { type: "lifecycle", payload: { phase: "started" } });
    askForTitle(step);
  }
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
  if (step.state.charter.agent === undefined) complete(step, at, "length");
  else endStep(step, at, "length");
}

function verdict(step: Step, attempt: number, event: Verdict, at: number): void {
  switch (event.verdict) {
    case "complete":
      settleSeam(step, attempt, at);
      if (isLive(step, attempt)) settleComplete(step, attempt, event, at);
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
    restate(step, attempt, whole, at);
    if (!isLive(step, attempt)) return;
  }
  const shown = liveAttempt(step.state, attempt)?.status === "committed";
  if (event.stopReason === "content_filter" && !shown) {
    failed(step, at, attempt, { failureClass: "content_policy", message: "The provider withheld its answer." });
    return;
  }
  // A provider that is done without a word ends the others, too.
  giveUpOthers(step, at, attempt);
  if (step.state.charter.agent !== undefined) return endStep(step, at, event.stopReason);
  // What was delivered counts, not the provider's word for it.
  const called = step.state.calls.length > 0;
  const ordinary = event.stopReason === "stop" || event.stopReason === "tool_calls";
  complete(step, at, ordinary ? (called ? "tool_calls" : "stop") : event.stopReason);
}
