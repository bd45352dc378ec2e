// What a producer's events make of a pushed run: they are logged as they are. Steps and attempts that it does not tell are put in between, and the run's limit of output holds. Judges no event.
import type { Failure } from "../../schemas/failure.ts";
import type { Draft, Payload } from "../../schemas/event.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderOutput } from "../../schemas/provider.ts";
import { PUSHED, type PushedEnd, type PushedEvent } from "../../schemas/push.ts";
import { commit } from "./answer.ts";
import { callOf } from "./call-payload.ts";
import { cancelAs, complete, completeAs, fail, failAttempt } from "./endings.ts";
import { lostOutcome, pushedOutcome } from "./outcome.ts";
import { fitOutput } from "./output-limit.ts";
import { giveUpCalls } from "./results.ts";
import { isStepOpen, liveAttempts, nextStep } from "./state.ts";
import { emit, emitOther, remember, type Step } from "./step.ts";
import { utf8Length } from "./utf8.ts";
import { noted } from "./volatile.ts";

/** Events after the one that ended the run, which can only be its limit of output, are dropped. */
export function takePushed(step: Step, at: number, events: readonly PushedEvent[]): void {
  for (const event of events) {
    if (step.state.phase === "sealed") return;
    take(step, at, event);
  }
}

const lost: Failure = { failureClass: "interrupted", message: "The run's producer was not heard of any more." };

/** The producer said nothing for longer than it may. */
export function loseProducer(step: Step, at: number): void {
  for (const { attempt } of liveAttempts(step.state)) failAttempt(step, at, attempt, lost);
  fail(step, at, lostOutcome(step.state, at, lost));
}

function take(step: Step, at: number, event: PushedEvent): void {
  switch (event.type) {
    case "content_delta":
    case "reasoning_delta":
    case "content_snapshot":
    case "tool_call_delta":
    case "tool_call":
      return show(step, at, event);
    case "usage": {
      if (!fits(step, at, event.payload)) return;
      if (step.state.attempts.length === 0) beginStep(step, at);
      return emit(step, at, { type: "usage", payload: { ...event.payload, attempt: step.state.attempts.length - 1 } });
    }
    case "step":
      if (!fits(step, at, event.payload)) return;
      if (event.payload.phase === "started") beginStep(step, at, event.payload);
      else emit(step, at, event);
      return;
    case "tool_result":
      if (!fits(step, at, event.payload)) return;
      endStep(step, at, "tool_calls");
      return emit(step, at, event);
    case "terminal":
      return end(step, at, event.payload);
    case "other":
      if (fits(step, at, event.payload)) emitOther(step, at, event.name, event.payload);
      return;
    case "diagnostic":
    case "retrieval":
    case "tool_progress":
    case "preparation_progress":
    case "context_usage":
    case "title":
    case "max_steps":
      if (fits(step, at, event.payload)) emit(step, at, event);
      return;
  }
}

/** A step is one attempt at what carries the run out. `given`: as the producer said it. */
function beginStep(step: Step, at: number, given?: Payload<"step">): void {
  endStep(step, at, undefined);
  const number = nextStep(step.state);
  emit(step, at, { type: "step", payload: given ?? { step: number, phase: "started", implied: true } });
  const attempt = step.state.attempts.length;
  emit(step, at, { type: "attempt", payload: { attempt, step: number, targetId: PUSHED, phase: "started" } });
  const model = given?.["model"];
  if (typeof model === "string" && model !== "") remember(step, noted(step.state.volatile, attempt, { model }));
}

/** A step that is open ends. */
function endStep(step: Step, at: number, finishReason: StopReason | undefined): void {
  if (!isStepOpen(step.state)) return;
  const reason = finishReason === undefined ? {} : { finishReason };
  emit(step, at, { type: "step", payload: { step: step.state.step, phase: "finished", implied: true, ...reason } });
}

type Output = Extract<
  Draft,
  { type: "content_delta" | "reasoning_delta" | "content_snapshot" | "tool_call_delta" | "tool_call" }
>;

/** Output that fits is logged as it came; of a text that does not, what fits. */
function show(step: Step, at: number, event: Output): void {
  const { draft, whole } = fitOutput(step.state, outputOf(event));
  if (draft !== undefined) {
    if (!isStepOpen(step.state)) beginStep(step, at);
    for (const { attempt } of liveAttempts(step.state)) commit(step, attempt, at);
    emit(step, at, whole ? event : draft);
  }
  if (!whole) stopAtLimit(step, at);
}

/** What is no output counts as its JSON; what does not fit ends the run. */
function fits(step: Step, at: number, payload: object): boolean {
  const { charter, outputBytes } = step.state;
  if (outputBytes + utf8Length(JSON.stringify(payload)) <= charter.maxOutputBytes) return true;
  stopAtLimit(step, at);
  return false;
}

function stopAtLimit(step: Step, at: number): void {
  const { maxOutputBytes } = step.state.charter;
  emit(step, at, { type: "diagnostic", payload: { code: "output_limit", maxOutputBytes } });
  endStep(step, at, "length");
  complete(step, at, "length");
}

/** The same as a provider would have said it. */
function outputOf(event: Output): ProviderOutput {
  switch (event.type) {
    case "content_delta":
      return { type: "text", text: event.payload.text };
    case "reasoning_delta":
      return { type: "reasoning", text: event.payload.text };
    case "content_snapshot":
      return { type: "snapshot", text: event.payload.text };
    case "tool_call_delta": {
      const { toolCallId, toolName, inputText } = event.payload;
      return { type: "tool_call_delta", toolCallId, ...(toolName !== undefined && { toolName }), inputText };
    }
    case "tool_call": {
      const { toolCallId, toolName, input, inputJson } = callOf(event.payload);
      return { type: "tool_call", toolCallId, toolName, input, ...(inputJson !== undefined && { inputJson }) };
    }
  }
}

function end(step: Step, at: number, given: PushedEnd): void {
  const text = given.outcome === "completed" ? given.finalText : given.partialText;
  if (text !== undefined && text !== step.state.text) show(step, at, { type: "content_snapshot", payload: { text } });
  if (step.state.phase === "sealed") return;
  switch (given.outcome) {
    case "completed": {
      const outcome = pushedOutcome(step.state, at, given);
      endStep(step, at, outcome.outcome === "completed" ? outcome.stopReason : undefined);
      return completeAs(step, at, pushedOutcome(step.state, at, given));
    }
    case "error":
      giveUpCalls(step, at);
      return fail(step, at, pushedOutcome(step.state, at, given));
    case "cancelled":
      giveUpCalls(step, at);
      return cancelAs(step, at, pushedOutcome(step.state, at, given));
  }
}
