// The one table of failure classes: which class a client sees, whether a retry can help, whether the next target is tried. Never looks at a run.
import type { ErrorClass, Failure, FailureClass } from "../../schemas/failure.ts";

export interface FailurePolicy {
  errorClass: ErrorClass;
  retryable: boolean;
  /** Before the commit point: go on with the next target. Otherwise the run ends with this failure, unchanged. */
  fallsBack: boolean;
}

const policy = (errorClass: ErrorClass, retryable: boolean, fallsBack: boolean): FailurePolicy => ({
  errorClass,
  retryable,
  fallsBack,
});

/** DESIGN's mapping of failure classes; closed over every class, so that a new one must decide. */
export const failurePolicies: Record<FailureClass, FailurePolicy> = {
  rate_limited: policy("RateLimited", true, true),
  quota: policy("RateLimited", false, true),
  overloaded: policy("Unavailable", true, true),
  upstream_5xx: policy("Unavailable", true, true),
  bad_gateway_page: policy("Unavailable", true, true),
  connect: policy("Unavailable", true, true),
  reset: policy("Unavailable", true, true),
  timeout_headers: policy("Timeout", true, true),
  timeout_ttft: policy("Timeout", true, true),
  timeout_idle: policy("Timeout", true, true),
  timeout_progress: policy("Timeout", true, true),
  timeout_total: policy("Timeout", true, false),
  truncated: policy("Unavailable", true, true),
  malformed: policy("Unavailable", true, true),
  protocol: policy("Unavailable", true, true),
  auth: policy("AuthError", false, true),
  permission: policy("AuthError", false, true),
  model_not_found: policy("CapabilityMismatch", false, true),
  invalid_request: policy("Internal", false, false),
  context_length: policy("Internal", false, false),
  content_policy: policy("CapabilityMismatch", false, false),
  interrupted: policy("Unavailable", true, false),
};

/** The class a failure ends a run with: a stream cut after the commit point is Internal, as in IndeRun's engine. */
export function errorClassOf(failure: Failure, afterCommit: boolean): ErrorClass {
  if (failure.failureClass === "truncated" && afterCommit) return "Internal";
  return failurePolicies[failure.failureClass].errorClass;
}
