// How attempts and runs end: each ending is logged once, with what was used, and told to the operator. Decides nothing.
import type { Failure } from "../../schemas/failure.ts";
import type { Outcome, StopReason } from "../../schemas/outcome.ts";
import { errorClassOf } from "./fallback.ts";
import { attemptedProviderIds, cancelledOutcome, completedOutcome } from "./outcome.ts";
import { liveAttempt } from "./state.ts";
import { abort, emit, logUsage, telemetry, type Step } from "./step.ts";
import { stableMessages } from "./telemetry.ts";

export function complete(step: Step, at: number, stopReason: StopReason | undefined): void {
  logUsage(step, at);
  const outcome = completedOutcome(step.state, at, stopReason);
  emit(step, at, { type: "terminal", payload: outcome });
  const ids = attemptedProviderIds(step.state.attempts);
  telemetry(step, {
    type: "stream_completed",
    payload: {
      providerId: ids.at(-1) ?? "",
      durationMs: Math.max(0, at - step.state.charter.startedAt),
      attemptedProviderIds: ids,
    },
  });
}

/** Logs that the live attempt failed, with what it has used. */
export function failAttempt(step: Step, at: number, failure: Failure): void {
  const live = liveAttempt(step.state);
  if (live === undefined) return;
  logUsage(step, at);
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
  telemetry(step, {
    type: "stream_attempt_failed",
    payload: { providerId: live.targetId, errorClass, message: stableMessages[errorClass] },
  });
}

export function fail(step: Step, at: number, outcome: Outcome): void {
  if (outcome.outcome !== "error") return;
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
  logUsage(step, at);
  emit(step, at, { type: "terminal", payload: cancelledOutcome(step.state, at, reason) });
  const ids = attemptedProviderIds(step.state.attempts);
  const providerId = ids.at(-1);
  telemetry(step, {
    type: "stream_cancelled",
    payload: { ...(providerId !== undefined && { providerId }), attemptedProviderIds: ids },
  });
}
