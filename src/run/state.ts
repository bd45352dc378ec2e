// The run's state is the fold of its log: what `evolve` makes of the events is all a restarted object needs. Pure.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { LogEvent, Payload } from "../../schemas/event.ts";
import type { Outcome, PendingTool } from "../../schemas/outcome.ts";
import type { Asks, PlannedTarget, RouteDecision } from "../../schemas/plan.ts";
import { nothingVolatile, withoutUsage, type Volatile } from "./volatile.ts";
import { utf8Length } from "./utf8.ts";

/** What a run was accepted with, as far as its rules depend on it. */
export interface Charter {
  runId: string;
  /** Unix epoch, milliseconds. */
  startedAt: number;
  chain: readonly PlannedTarget[];
  onMidStreamFailure: "fail" | "retract" | "continue";
  /** UTF-8 bytes of text, reasoning and tool input. */
  maxOutputBytes: number;
  maxRecoveries: number;
  /** Milliseconds that the run may spend waiting between attempts, and in all, from accept. */
  retryBudgetMs: number;
  totalMs: number;
  /** A second target starts when the first has shown nothing for so many milliseconds; `undefined`: none does. */
  hedgeAfterMs: number | undefined;
  asks: Asks;
  decision: RouteDecision;
}

export interface RunState {
  charter: Charter;
  phase: "accepted" | "running" | "sealed";
  nextSequence: number;
  /** Time of the last event: times of a log never go back. */
  lastAt: number;
  /** The text a reader of all events shows now, and the reasoning. */
  text: string;
  reasoning: string;
  outputBytes: number;
  attempts: readonly AttemptRecord[];
  /** Some output was delivered; a retraction does not undo it. */
  committed: boolean;
  /** `lifecycle started` was logged. */
  announced: boolean;
  /** Text and reasoning at the start of the present step: what a retraction goes back to. */
  stepText: string;
  /** Tool calls delivered in the present step. */
  toolCalls: readonly PendingTool[];
  /** Bytes of tool input shown in pieces whose `tool_call` is still to come. */
  openInputs: readonly { toolCallId: string; bytes: number }[];
  /** UTF-8 bytes that the committed attempt has shown. */
  shownBytes: number;
  reportedModel: string | undefined;
  /** The last failure of an attempt, and when each failed one ended: Unix epoch, milliseconds, by attempt. */
  lastFailure: Failure | undefined;
  failedAt: Readonly<Record<number, number>>;
  /** Why the first attempt broke off that had shown something, when the run was to go on from its text. */
  cause: Failure | undefined;
  /** Milliseconds between a failed attempt and the next one, added up. */
  waitedMs: number;
  outcome: Outcome | undefined;
  volatile: Volatile;
}

export function initialState(charter: Charter): RunState {
  return {
    charter,
    phase: "accepted",
    nextSequence: 0,
    lastAt: 0,
    text: "",
    reasoning: "",
    outputBytes: 0,
    attempts: [],
    committed: false,
    announced: false,
    stepText: "",
    toolCalls: [],
    openInputs: [],
    shownBytes: 0,
    reportedModel: undefined,
    lastFailure: undefined,
    failedAt: {},
    cause: undefined,
    waitedMs: 0,
    outcome: undefined,
    volatile: nothingVolatile,
  };
}

/** The attempts whose providers may still speak: more than one only while a hedge runs. */
export function liveAttempts(state: RunState): AttemptRecord[] {
  return state.attempts.filter(isLive);
}

/** The attempt of this number, while its provider may still speak. */
export function liveAttempt(state: RunState, attempt: number): AttemptRecord | undefined {
  const record = state.attempts[attempt];
  return record !== undefined && isLive(record) ? record : undefined;
}

/** The attempt that speaks for the run: the one that has shown something, else the latest. */
export function speaker(attempts: readonly AttemptRecord[]): AttemptRecord | undefined {
  return attempts.findLast(({ status }) => status === "committed" || status === "completed") ?? attempts.at(-1);
}

/** The attempts once the run has ended: the live one shares the run's fate. */
export function settleAttempts(
  attempts: readonly AttemptRecord[],
  outcome: Outcome["outcome"],
): readonly AttemptRecord[] {
  const status = outcome === "completed" ? ("completed" as const) : ("cancelled" as const);
  return attempts.map((record) => (isLive(record) ? { ...record, status } : record));
}

const isLive = ({ status }: AttemptRecord): boolean => status === "started" || status === "committed";

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
      next.attempts = patch(next.attempts, attempt, { usage });
      next.volatile = withoutUsage(next.volatile, attempt);
      break;
    }
    case "tool_call": {
      const { toolCallId, toolName, execution } = event.payload;
      next.toolCalls = [...next.toolCalls, { toolCallId, toolName, execution }];
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
    case "tool_progress":
    case "context_usage":
    case "title":
    case "step":
    case "max_steps":
    case "diagnostic":
      break;
  }
  return next;
}

/** The same as `evolve` for each of them: a flood of tokens copies the state once, not once per token. */
export function evolveTexts(
  state: RunState,
  events: readonly Extract<LogEvent, { type: "content_delta" }>[],
): RunState {
  const next: RunState = { ...state, phase: "running" };
  for (const { sequence, at, payload } of events) {
    next.nextSequence = sequence + 1;
    next.lastAt = at;
    next.text += payload.text;
    grow(next, utf8Length(payload.text));
  }
  return next;
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
      next.waitedMs += Math.max(0, at - (next.failedAt[attempt - 1] ?? at));
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
  if (shown && next.charter.onMidStreamFailure === "continue") next.cause ??= failure;
}

function dropOpenInputs(next: RunState, covered: (open: RunState["openInputs"][number]) => boolean): void {
  for (const open of next.openInputs) if (covered(open)) grow(next, -open.bytes);
  next.openInputs = next.openInputs.filter((open) => !covered(open));
}

function patch(attempts: readonly AttemptRecord[], index: number, change: Partial<AttemptRecord>): AttemptRecord[] {
  return attempts.map((record) => (record.attempt === index ? { ...record, ...change } : record));
}
