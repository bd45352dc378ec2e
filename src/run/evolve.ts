// The fold: what one event makes of a run's state. What it makes of the whole log is all that a restarted object needs. Pure.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { LogEntry, LogEvent, Payload } from "../../schemas/event.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { CallRecord } from "../../schemas/tool.ts";
import { callOf, resultOf } from "./call-payload.ts";
import { onMidStreamFailure, presentStep, settleAttempts, type RunState } from "./state.ts";
import { utf8Length } from "./utf8.ts";
import { nothingVolatile, withoutUsage } from "./volatile.ts";

/** One event applied. Events must come in sequence; unknown types only move the number. */
export function evolve(state: RunState, event: LogEvent): RunState {
  const next: RunState = {
    ...state,
    phase: "running",
    nextSequence: event.sequence + 1,
    lastAt: event.at,
  };
  switch (event.type) {
    case "content_delta":
      next.text += event.payload.text;
      grow(next, utf8Length(event.payload.text));
      break;
    case "content_snapshot":
      next.text = event.payload.text;
      next.reasoning = event.payload.reasoning ?? next.reasoning;
      replaced(next, state.text, next.text);
      replaced(next, state.reasoning, next.reasoning);
      break;
    case "reasoning_delta":
      next.reasoning += event.payload.text;
      grow(next, utf8Length(event.payload.text));
      break;
    case "lifecycle":
      if (event.payload.phase === "started") next.announced = true;
      break;
    case "attempt":
      evolveAttempt(next, event.payload, event.at);
      break;
    case "usage": {
      const { attempt, ...usage } = event.payload;
      heap(next, event.payload);
      if (attempt === undefined) {
        next.asides = [...next.asides, usage];
        break;
      }
      next.attempts = patch(next.attempts, attempt, { usage });
      next.volatile = withoutUsage(next.volatile, attempt);
      break;
    }
    case "tool_call": {
      const { toolCallId } = event.payload;
      next.calls = [...next.calls, callOf(event.payload)];
      grow(next, utf8Length(event.payload.inputJson ?? JSON.stringify(event.payload.input)));
      // The whole input stands for its pieces.
      dropOpenInputs(next, (open) => open.toolCallId === toolCallId);
      break;
    }
    case "terminal":
      next.phase = "sealed";
      next.outcome = event.payload;
      next.attempts = settleAttempts(next.attempts, event.payload.outcome);
      next.reportedModel = event.payload.provenance?.reportedModel;
      next.volatile = nothingVolatile;
      break;
    case "tool_call_delta": {
      const { toolCallId, inputText } = event.payload;
      const bytes = utf8Length(inputText);
      const before = next.openInputs.find((open) => open.toolCallId === toolCallId)?.bytes ?? 0;
      const others = next.openInputs.filter((open) => open.toolCallId !== toolCallId);
      next.openInputs = [...others, { toolCallId, bytes: before + bytes }];
      grow(next, bytes);
      break;
    }
    case "tool_result":
      heap(next, event.payload);
      next.calls = settle(next.calls, event.payload);
      next.carried = settle(next.carried, event.payload);
      break;
    case "title":
      heap(next, event.payload);
      next.titles = [...next.titles, event.payload.title];
      break;
    case "step":
      if (event.payload.implied !== true) heap(next, event.payload);
      if (event.payload.phase === "started") beginStep(next, event.payload.step);
      else endStep(next, event.payload.finishReason);
      break;
    case "max_steps":
      heap(next, event.payload);
      next.capped = true;
      break;
    case "retrieval":
      heap(next, event.payload);
      next.retrieved = true;
      break;
    case "tool_progress":
    case "preparation_progress":
    case "context_usage":
      heap(next, event.payload);
      break;
    case "diagnostic":
      // What a crash has voided says nothing of the producer's.
      if (event.payload.code !== "sequence_released") heap(next, event.payload);
      break;
  }
  return next;
}

/** An event of a type that this version does not know, with its payload as JSON text: it moves the number, and counts. */
export function passOver(state: RunState, { sequence, at, payload }: Omit<LogEntry, "type">): RunState {
  const bytes = state.charter.isPushed === true ? utf8Length(payload) : 0;
  return {
    ...state,
    phase: "running",
    nextSequence: sequence + 1,
    lastAt: at,
    outputBytes: state.outputBytes + bytes,
  };
}

/** The same as `evolve` for each of these texts at one time: a flood of tokens copies the state once, not once per token. */
export function evolveTexts(state: RunState, texts: readonly string[], at: number): RunState {
  const next: RunState = { ...state, phase: "running", lastAt: at };
  next.nextSequence += texts.length;
  // One piece, not one per token, for as long as the run lives.
  next.text += texts.join("");
  for (const text of texts) grow(next, utf8Length(text));
  return next;
}

function beginStep(next: RunState, number: number): void {
  if (next.stepBegun) next.finished = [...next.finished, presentStep(next)];
  next.step = number;
  next.stepBegun = true;
  next.stepEnd = undefined;
  next.stepText = next.text;
  next.stepReasoning = next.reasoning;
  next.calls = [];
  // How the last step came by its answer says nothing about this one.
  next.cause = undefined;
}

function endStep(next: RunState, stopReason: StopReason | undefined): void {
  next.stepEnd = { stopReason };
  next.attempts = settleAttempts(next.attempts, "completed");
}

/** What differs from before was generated, whatever it replaces. */
function replaced(next: RunState, before: string, after: string): void {
  const bytes = utf8Length(after) - utf8Length(before);
  let same = 0;
  while (same < after.length && after[same] === before[same]) same++;
  next.outputBytes += bytes;
  next.shownBytes += utf8Length(after.slice(same));
}

/** Bytes that are shown count for the run's limit; what is taken back has been generated all the same. */
function grow(next: RunState, bytes: number): void {
  next.outputBytes += bytes;
  next.shownBytes += Math.max(0, bytes);
}

function evolveAttempt(next: RunState, payload: Payload<"attempt">, at: number): void {
  const { attempt, step = 0, targetId, phase, errorClass, failureClass, httpStatus, providerCode } = payload;
  const { retryAfterMs } = payload;
  switch (phase) {
    case "started":
      if (next.attempts.at(-1)?.step === step) next.waitedMs += Math.max(0, at - (next.failedAt[attempt - 1] ?? at));
      next.attempts = [...next.attempts, { attempt, step, targetId, status: "started", startedAt: at }];
      next.reportedModel = undefined;
      // What an earlier attempt left unfinished is void.
      dropOpenInputs(next, () => true);
      break;
    case "committed": {
      const startedAt = next.attempts[attempt]?.startedAt ?? at;
      const firstOutputMs = Math.max(0, at - startedAt);
      next.attempts = patch(next.attempts, attempt, { status: "committed", firstOutputMs });
      next.committed = true;
      next.shownBytes = 0;
      next.reportedModel = payload.reportedModel;
      break;
    }
    case "failed":
    case "superseded":
      if (phase === "failed") evolveFailure(next, payload, at);
      next.attempts = patch(next.attempts, attempt, {
        status: phase,
        ...(errorClass !== undefined && { errorClass }),
        ...(failureClass !== undefined && { failureClass }),
        ...(httpStatus !== undefined && { httpStatus }),
        ...(providerCode !== undefined && { providerCode }),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
      break;
  }
}

function evolveFailure(next: RunState, payload: Payload<"attempt">, at: number): void {
  const { attempt, failureClass, message = "", httpStatus, providerCode, retryAfterMs } = payload;
  next.failedAt = { ...next.failedAt, [attempt]: at };
  if (failureClass === undefined) return;
  const failure: Failure = {
    failureClass,
    message,
    ...(httpStatus !== undefined && { httpStatus }),
    ...(providerCode !== undefined && { providerCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  next.lastFailure = failure;
  const shown = next.attempts[attempt]?.firstOutputMs !== undefined;
  if (shown && onMidStreamFailure(next.charter) === "continue") next.cause ??= failure;
}

/** Nobody else bounds what a producer pushes beside its output: all of it counts for the run's limit. */
function heap(next: RunState, payload: object): void {
  if (next.charter.isPushed === true) next.outputBytes += utf8Length(JSON.stringify(payload));
}

function dropOpenInputs(next: RunState, covered: (open: RunState["openInputs"][number]) => boolean): void {
  for (const open of next.openInputs) if (covered(open)) grow(next, -open.bytes);
  next.openInputs = next.openInputs.filter((open) => !covered(open));
}

/** The call that this result is of has it. */
function settle<C extends CallRecord>(calls: readonly C[], payload: Payload<"tool_result">): readonly C[] {
  if (!calls.some(({ toolCallId }) => toolCallId === payload.toolCallId)) return calls;
  const result = resultOf(payload);
  return calls.map((call) => (call.toolCallId === payload.toolCallId ? { ...call, result } : call));
}

function patch(attempts: readonly AttemptRecord[], index: number, change: Partial<AttemptRecord>): AttemptRecord[] {
  return attempts.map((record) => (record.attempt === index ? { ...record, ...change } : record));
}
