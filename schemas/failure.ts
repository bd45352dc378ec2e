// How an attempt can fail, and the error classes a client sees. Shapes only; the rules that map one to the other live in src/run/fallback.ts.
import * as v from "valibot";

/** The finer failure class of an attempt; `details.failureClass` on the wire. */
export const failureClassSchema = v.picklist([
  "rate_limited",
  "quota",
  "overloaded",
  "upstream_5xx",
  "bad_gateway_page",
  "connect",
  "reset",
  "timeout_headers",
  "timeout_ttft",
  "timeout_idle",
  "timeout_progress",
  "timeout_total",
  "truncated",
  "malformed",
  "protocol",
  "auth",
  "permission",
  "model_not_found",
  "invalid_request",
  "context_length",
  "content_policy",
  "unknown",
  "interrupted",
]);
export type FailureClass = v.InferOutput<typeof failureClassSchema>;

/** IndeRun's closed set of error classes (contract a.5). */
export const errorClassSchema = v.picklist([
  "CapabilityMismatch",
  "Offline",
  "AuthError",
  "RateLimited",
  "Timeout",
  "Unavailable",
  "Internal",
]);
export type ErrorClass = v.InferOutput<typeof errorClassSchema>;

/**
 * One attempt's failure. `message` is our own text, never the provider's; `providerCode` is the provider's word for the
 * cause, if it is one we know.
 */
export const failureSchema = v.object({
  failureClass: failureClassSchema,
  message: v.string(),
  httpStatus: v.optional(v.pipe(v.number(), v.integer())),
  providerCode: v.optional(v.string()),
  /** Milliseconds the provider asked us to wait. */
  retryAfterMs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  /** `minBytesPerSecond` undercut: bytes per second seen. */
  floor: v.optional(v.number()),
});
export type Failure = v.InferOutput<typeof failureSchema>;

/** `targetId`: whose failure it is; left out where no target was asked. */
export type FailureOf = Failure & { readonly targetId?: string };
