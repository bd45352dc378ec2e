// IndeRun TelemetryEvents (contract a.8): the operator's channel. Messages are the class's stable text; no prompt, model text, reason or upstream message ever.
import type { ErrorClass } from "../../schemas/failure.ts";
import type { RouteDecision } from "../../schemas/plan.ts";

export const stableMessages: Record<ErrorClass, string> = {
  CapabilityMismatch: "Provider capability mismatch.",
  Offline: "Device is offline.",
  AuthError: "Authentication failed.",
  RateLimited: "Rate limit exceeded.",
  Timeout: "Execution timed out.",
  Unavailable: "Provider is unavailable.",
  Internal: "An internal engine error occurred.",
};

export type Telemetry =
  | { type: "route_decided"; payload: RouteDecision }
  | { type: "stream_attempt_started"; payload: { providerId: string; fallbackOccurred: boolean } }
  | { type: "stream_attempt_succeeded"; payload: { providerId: string; attemptedProviderIds: string[] } }
  | { type: "stream_attempt_failed"; payload: { providerId: string; errorClass: ErrorClass; message: string } }
  | {
      type: "stream_completed";
      payload: { providerId: string; durationMs: number; attemptedProviderIds: string[] };
    }
  | {
      type: "stream_failed";
      payload: { providerId?: string; errorClass: ErrorClass; message: string; attemptedProviderIds: string[] };
    }
  | { type: "stream_cancelled"; payload: { providerId?: string; attemptedProviderIds: string[] } };
