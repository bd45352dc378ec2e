// Builds the one outcome of a run from its state. Pure; writes nothing, numbers nothing.
import type { AttemptRecord, Provenance } from "../../schemas/attempt.ts";
import type { ErrorClass, Failure } from "../../schemas/failure.ts";
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import { PUSHED, type PushedEnd } from "../../schemas/push.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { errorClassOf, failurePolicies } from "./fallback.ts";
import { pendingCalls } from "./calls.ts";
import { damagedLog } from "./reader-faults.ts";
import { settleAttempts, speaker, stepAttempts, type RunState } from "./state.ts";

const finishReasons: Record<StopReason, "stop" | "length" | "error"> = {
  stop: "stop",
  tool_calls: "stop",
  length: "length",
  content_filter: "error",
  max_steps: "stop",
  continue: "stop",
};

export function completedOutcome(state: RunState, at: number, stopReason: StopReason | undefined): Outcome {
  return {
    schemaVersion: "1.0",
    runId: state.charter.runId,
    outcome: "completed",
    finalText: state.text,
    ...(stopReason !== undefined && { finishReason: finishReasons[stopReason], stopReason }),
    ...(stopReason === "tool_calls" && { pending: pendingCalls(state) }),
    ...accounts(state, at, "completed"),
  };
}

export function cancelledOutcome(state: RunState, at: number, reason: string | undefined): Outcome {
  return {
    schemaVersion: "1.0",
    runId: state.charter.runId,
    outcome: "cancelled",
    partialText: state.text,
    ...(reason !== undefined && { reason }),
    ...accounts(state, at, "cancelled"),
  };
}

/** The run ends with this failure's own class. `targetId`: of the target that failed, when that is not the last attempt's. */
export function failedOutcome(
  state: RunState,
  at: number,
  failure: Failure,
  targetId = state.attempts.at(-1)?.targetId,
): Outcome {
  const policy = failurePolicies[failure.failureClass];
  return errorOutcome(state, at, {
    errorClass: errorClassOf(failure, state.committed),
    message: failure.message,
    ...(targetId !== undefined && { providerId: targetId }),
    retryable: policy.retryable,
    ...(failure.retryAfterMs !== undefined && { retryAfterMs: failure.retryAfterMs }),
    details: {
      ...(failure.failureClass === "interrupted" && { code: "interrupted" }),
      failureClass: failure.failureClass,
      ...(failure.httpStatus !== undefined && { httpStatus: failure.httpStatus }),
      ...(failure.providerCode !== undefined && { providerCode: failure.providerCode }),
      ...(failure.floor !== undefined && { floor: failure.floor }),
    },
  });
}

/** The producer of a pushed run was not heard of for as long as it may be silent. */
export function lostOutcome(state: RunState, at: number, failure: Failure): Outcome {
  return errorOutcome(state, at, {
    errorClass: "Unavailable",
    message: failure.message,
    retryable: true,
    details: { code: "producer_lost", failureClass: failure.failureClass },
  });
}

/** How a pushed run ends in its producer's words: text, open calls and provenance are the log's, all else is the producer's where it says it. */
export function pushedOutcome(state: RunState, at: number, end: PushedEnd): Outcome {
  const { usage = end.usage, ...accounted } = accounts(state, at, end.outcome);
  const written = {
    schemaVersion: "1.0" as const,
    runId: state.charter.runId,
    ...accounted,
    ...(usage !== undefined && { usage: end.usage ?? usage }),
  };
  switch (end.outcome) {
    case "completed": {
      const open = pendingCalls(state);
      const stopReason = end.stopReason ?? reasonOf(end.finishReason) ?? (open.length > 0 ? "tool_calls" : undefined);
      return {
        ...end,
        ...written,
        finalText: state.text,
        ...(stopReason !== undefined && { stopReason, finishReason: end.finishReason ?? finishReasons[stopReason] }),
        pending: stopReason === "tool_calls" ? open : undefined,
      };
    }
    case "error": {
      const { runId } = written;
      const error = { retryable: false, ...end.error, schemaVersion: "1.0" as const, runId };
      return { ...end, ...written, error, partialText: state.text };
    }
    case "cancelled":
      return { ...end, ...written, partialText: state.text };
  }
}

/** The finer word, where there is only one. */
const reasonOf = (finishReason: string | undefined): StopReason | undefined =>
  finishReason === "length" ? "length" : undefined;

/** The run ends because its log cannot be read whole; the text is what could be read. */
export function damagedOutcome(state: RunState, at: number): Outcome {
  const { errorClass, message, details } = damagedLog(state.charter.runId);
  return errorOutcome(state, at, { errorClass, message, retryable: false, details: { ...details } });
}

/**
 * Every target failed with a class that falls back: one Unavailable that still says what each did. `tried`: how each of them
 * failed. It is told by the last that may do better next time, or else by the last.
 */
export function exhaustedOutcome(
  state: RunState,
  at: number,
  tried: readonly Partial<Pick<AttemptRecord, "targetId" | "failureClass" | "retryAfterMs">>[] = stepAttempts(state),
): Outcome {
  const passing = tried.filter(
    ({ failureClass }) => failureClass !== undefined && failurePolicies[failureClass].retryable,
  );
  const failed = tried.filter(({ failureClass }) => failureClass !== undefined);
  const { targetId, failureClass } = passing.at(-1) ?? failed.at(-1) ?? {};
  const hints = passing.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
  return errorOutcome(state, at, {
    errorClass: "Unavailable",
    message: "All eligible streaming providers failed.",
    ...(targetId !== undefined && { providerId: targetId }),
    retryable: passing.length > 0,
    ...(hints.length > 0 && { retryAfterMs: Math.min(...hints) }),
    details: { ...(failureClass !== undefined && { failureClass }) },
  });
}

interface ErrorFacts {
  errorClass: ErrorClass;
  message: string;
  providerId?: string | undefined;
  retryable: boolean;
  retryAfterMs?: number;
  details: Record<string, unknown>;
}

function errorOutcome(state: RunState, at: number, error: ErrorFacts): Outcome {
  const ids = attemptedProviderIds(state.attempts);
  return {
    schemaVersion: "1.0",
    runId: state.charter.runId,
    outcome: "error",
    error: {
      schemaVersion: "1.0",
      ...error,
      runId: state.charter.runId,
      details: { ...error.details, attemptedProviderIds: ids, attempts: settleAttempts(state.attempts, "error") },
    },
    partialText: state.text,
    ...accounts(state, at, "error"),
  };
}

/** Target ids in the order first tried. */
export function attemptedProviderIds(attempts: readonly AttemptRecord[]): string[] {
  return [...new Set(attempts.map(({ targetId }) => targetId))];
}

/**
 * Usage of all attempts, and of what was asked beside them, added up; a field appears when some part has it, a total when all
 * have one, and `estimated` when some part is.
 */
export function totalUsage(
  attempts: readonly AttemptRecord[],
  asides: readonly AccountedUsage[] = [],
): AccountedUsage | undefined {
  const reports = [...asides, ...attempts.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))];
  if (reports.length === 0) return undefined;
  const total: Record<string, number> = {};
  for (const report of reports) {
    for (const [key, value] of Object.entries(report)) {
      const isPart = key === "totalTokens" && reports.some(({ totalTokens }) => totalTokens === undefined);
      if (typeof value === "number" && !isPart) total[key] = (total[key] ?? 0) + value;
    }
  }
  return { ...total, ...(reports.some(({ estimated }) => estimated === true) && { estimated: true }) };
}

/** Which target ran and how it came to it. `undefined` only for an empty chain, which no accepted run has. */
export function provenanceOf(state: RunState): Provenance | undefined {
  const answering = speaker(state.attempts);
  const targetId = answering?.targetId;
  const planned = state.charter.chain.find(({ id }) => id === targetId) ?? state.charter.chain[0];
  const ids = attemptedProviderIds(state.attempts);
  if (planned === undefined) return state.charter.isPushed === true ? elsewhere(state, ids) : undefined;
  const noted = answering === undefined ? undefined : state.volatile.notes[answering.attempt]?.model;
  const reportedModel = noted ?? state.reportedModel;
  return {
    targetId: planned.id,
    locality: planned.locality,
    ...(planned.target.model !== undefined && { configuredModel: planned.target.model }),
    ...(reportedModel !== undefined && { reportedModel }),
    fallbackOccurred: hasFallenBack(state),
    attemptedProviderIds: ids,
    attempts: [...state.attempts],
  };
}

/** Nothing of ours was asked, and no fallback is known. */
function elsewhere(state: RunState, attemptedProviderIds: string[]): Provenance {
  const { reportedModel } = state;
  return {
    targetId: PUSHED,
    locality: "cloud",
    ...(reportedModel !== undefined && { reportedModel }),
    fallbackOccurred: false,
    attemptedProviderIds,
    attempts: [...state.attempts],
  };
}

/** Some other target than the selected one was needed; one that was only asked in case does not count. */
function hasFallenBack({ charter, attempts }: RunState): boolean {
  return attempts.some(({ targetId, status }) => status !== "superseded" && targetId !== charter.chain[0]?.id);
}

/** Titles, usage, telemetry and provenance as they will stand once the terminal is applied. */
function accounts(state: RunState, at: number, outcome: Outcome["outcome"]) {
  const settled = { ...state, attempts: settleAttempts(state.attempts, outcome) };
  const usage = totalUsage(settled.attempts, settled.asides);
  const provenance = provenanceOf(settled);
  return {
    ...(state.titles.length > 0 && { titles: [...state.titles] }),
    ...(usage !== undefined && { usage }),
    ...(provenance !== undefined && {
      telemetry: { providerUsed: provenance.targetId, totalMs: Math.max(0, at - state.charter.startedAt) },
      provenance,
    }),
  };
}
