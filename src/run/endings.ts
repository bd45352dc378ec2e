// How attempts and runs end: each ending is logged once, with what was used, and told to the operator. Decides nothing.
import type { Failure } from "../../schemas/failure.ts";
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import { errorClassOf } from "./fallback.ts";
import { attemptedProviderIds, cancelledOutcome, completedOutcome } from "./outcome.ts";
import { giveUpCalls } from "./results.ts";
import { liveAttempt, liveAttempts, speaker } from "./state.ts";
import { abort, emit, logUsage, telemetry, type Step } from "./step.ts";
import { stableMessages } from "./telemetry.ts";

/** Every attempt that still speaks has answered. */
export function answered(step: Step, at: number): void {
  for (const live of liveAttempts(step.state)) {
    logUsage(step, at, live, "omit");
    const { targetId, startedAt } = live;
    step.effects.push({ type: "report", report: { targetId, result: "answered", startedAt } });
  }
}

export function complete(step: Step, at: number, stopReason: StopReason | undefined): void {
  answered(step, at);
  completeAs(step, at, completedOutcome(step.state, at, stopReason));
}

/** Every attempt is over. */
export function completeAs(step: Step, at: number, outcome: Outcome): void {
  emit(step, at, { type: "terminal", payload: outcome });
  const ids = attemptedProviderIds(step.state.attempts);
  telemetry(step, {
    type: "stream_completed",
    payload: {
      providerId: speaker(step.state.attempts)?.targetId ?? "",
      durationMs: Math.max(0, at - step.state.charter.startedAt),
      attemptedProviderIds: ids,
    },
  });
}

/** Logs that a live attempt failed, with what it has used. */
export function failAttempt(step: Step, at: number, attempt: number, failure: Failure): void {
  const live = liveAttempt(step.state, attempt);
  if (live === undefined) return;
  logUsage(step, at, live, "estimate");
  const errorClass = errorClassOf(failure, live.status === "committed");
  const { failureClass, message, httpStatus, providerCode, retryAfterMs } = failure;
  emit(step, at, {
    type: "attempt",
    payload: {
      attempt: live.attempt,
      step: live.step,
      targetId: live.targetId,
      phase: "failed",
      errorClass,
      failureClass,
      message,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(providerCode !== undefined && { providerCode }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  });
  step.effects.push({
    type: "report",
    report: {
      targetId: live.targetId,
      result: "failed",
      startedAt: live.startedAt,
      failureClass,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  });
  telemetry(step, {
    type: "stream_attempt_failed",
    payload: { providerId: live.targetId, errorClass, message: stableMessages[errorClass] },
  });
}

/** Gives a live attempt up, for another that answers in its place. Its request was worked on, so it is charged. */
export function supersede(step: Step, at: number, attempt: number): void {
  const live = liveAttempt(step.state, attempt);
  if (live === undefined) return;
  step.effects.push({ type: "abort", attempt });
  logUsage(step, at, live, "estimate what was sent");
  emit(step, at, {
    type: "attempt",
    payload: { attempt, step: live.step, targetId: live.targetId, phase: "superseded" },
  });
}

export function fail(step: Step, at: number, outcome: Outcome): void {
  if (outcome.outcome !== "error") return;
  giveUpCalls(step, at);
  emit(step, at, { type: "terminal", payload: outcome });
  const { errorClass } = outcome.error;
  const ids = attemptedProviderIds(step.state.attempts);
  const providerId = ids.at(-1);
  telemetry(step, {
    type: "stream_failed",
    payload: {
      ...(providerId !== undefined && { providerId }),
      errorClass,
      message: stableMessages[errorClass],
      attemptedProviderIds: ids,
    },
  });
}

export function cancel(step: Step, at: number, reason: string | undefined): void {
  abort(step);
  for (const live of liveAttempts(step.state)) logUsage(step, at, live, "estimate");
  giveUpCalls(step, at);
  cancelAs(step, at, cancelledOutcome(step.state, at, reason));
}

/** No attempt speaks and no call is made any more. */
export function cancelAs(step: Step, at: number, outcome: Outcome): void {
  emit(step, at, { type: "terminal", payload: outcome });
  const ids = attemptedProviderIds(step.state.attempts);
  const providerId = ids.at(-1);
  telemetry(step, {
    type: "stream_cancelled",
    payload: { ...(providerId !== undefined && { providerId }), attemptedProviderIds: ids },
  });
}
