// The run's state is the fold of its log: what `evolve` makes of the events is all a restarted object needs. Pure.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { LogEvent, Payload } from "../../schemas/event.ts";
import type { Outcome, PendingTool } from "../../schemas/outcome.ts";
import type { PlannedTarget, RouteDecision } from "../../schemas/plan.ts";
import type { Usage } from "../../schemas/usage.ts";
import { utf8Length } from "./utf8.ts";

/** What a run was accepted with, as far as its rules depend on it. */
export interface Charter {
  runId: string;
  /** Unix epoch, milliseconds. */
  startedAt: number;
  chain: readonly PlannedTarget[];
  onMidStreamFailure: "fail" | "retract";
  /** UTF-8 bytes of text, reasoning and tool input. */
  maxOutputBytes: number;
  maxRecoveries: number;
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
  reportedModel: string | undefined;
  outcome: Outcome | undefined;
  /** What the live attempt has reported and the log does not hold yet: the only part a restart forgets. */
  unloggedUsage: Usage | undefined;
  unloggedModel: string | undefined;
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
    reportedModel: undefined,
    outcome: undefined,
    unloggedUsage: undefined,
    unloggedModel: undefined,
  };
}

/** The attempt whose provider may still speak, if any. */
export function liveAttempt(state: RunState): AttemptRecord | undefined {
  const last = state.attempts.at(-1);
  return last !== undefined && isLive(last) ? last : undefined;
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
      next.outputBytes += utf8Length(event.payload.text);
      break;
    case "content_snapshot":
      next.text = event.payload.text;
      next.reasoning = event.payload.reasoning ?? next.reasoning;
      next.outputBytes += utf8Length(next.text) - utf8Length(state.text);
      next.outputBytes += utf8Length(next.reasoning) - utf8Length(state.reasoning);
      break;
    case "reasoning_delta":
      next.reasoning += event.payload.text;
      next.outputBytes += utf8Length(event.payload.text);
      break;
    case "lifecycle":
      if (event.payload.phase === "started") next.announced = true;
      break;
    case "attempt":
      evolveAttempt(next, event.payload, event.at);
      break;
    case "usage": {
      const { attempt, estimated: _estimated, ...usage } = event.payload;
      next.attempts = patch(next.attempts, attempt, { usage });
      next.unloggedUsage = undefined;
      break;
    }
    case "tool_call": {
      const { toolCallId, toolName, execution } = event.payload;
      next.toolCalls = [...next.toolCalls, { toolCallId, toolName, execution }];
      next.outputBytes += utf8Length(event.payload.inputJson ?? JSON.stringify(event.payload.input));
      // The whole input stands for its pieces.
      dropOpenInputs(next, (open) => open.toolCallId === toolCallId);
      break;
    }
    case "terminal":
      next.phase = "sealed";
      next.outcome = event.payload;
      next.attempts = settleAttempts(next.attempts, event.payload.outcome);
      next.reportedModel = event.payload.provenance?.reportedModel;
      next.unloggedModel = undefined;
      break;
    case "tool_call_delta": {
      const { toolCallId, inputText } = event.payload;
      const bytes = utf8Length(inputText);
      const before = next.openInputs.find((open) => open.toolCallId === toolCallId)?.bytes ?? 0;
      const others = next.openInputs.filter((open) => open.toolCallId !== toolCallId);
      next.openInputs = [...others, { toolCallId, bytes: before + bytes }];
      next.outputBytes += bytes;
      break;
    }
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
    next.outputBytes += utf8Length(payload.text);
  }
  return next;
}

function evolveAttempt(next: RunState, payload: Payload<"attempt">, at: number): void {
  const { attempt, step = 0, targetId, phase, errorClass, failureClass, httpStatus, providerCode } = payload;
  const { retryAfterMs } = payload;
  switch (phase) {
    case "started":
      next.attempts = [...next.attempts, { attempt, step, targetId, status: "started", startedAt: at }];
      next.reportedModel = undefined;
      next.unloggedModel = undefined;
      // What an earlier attempt left unfinished is void.
      dropOpenInputs(next, () => true);
      break;
    case "committed": {
      const startedAt = next.attempts[attempt]?.startedAt ?? at;
      const firstOutputMs = Math.max(0, at - startedAt);
      next.attempts = patch(next.attempts, attempt, { status: "committed", firstOutputMs });
      next.committed = true;
      next.reportedModel = payload.reportedModel;
      next.unloggedModel = undefined;
      break;
    }
    case "failed":
    case "superseded":
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

function dropOpenInputs(next: RunState, covered: (open: RunState["openInputs"][number]) => boolean): void {
  for (const open of next.openInputs) if (covered(open)) next.outputBytes -= open.bytes;
  next.openInputs = next.openInputs.filter((open) => !covered(open));
}

function patch(attempts: readonly AttemptRecord[], index: number, change: Partial<AttemptRecord>): AttemptRecord[] {
  return attempts.map((record) => (record.attempt === index ? { ...record, ...change } : record));
}
