// The one table of failure classes: which class a client sees, whether a retry can help, what is tried next, what a breaker
// makes of it. Never looks at a run.
import type { ErrorClass, Failure, FailureClass } from "../../schemas/failure.ts";

export interface FailurePolicy {
  errorClass: ErrorClass;
  retryable: boolean;
  /** Before the commit point: go on with the next target. Otherwise the run ends with this failure, unchanged. */
  fallsBack: boolean;
  /** The same target may be tried again, once it has had a moment. */
  retriesSame: boolean;
  /** What counts against the target in its breaker: its own faults, or the limits of the key it is used with. */
  counts: "target" | "key" | "no";
}

const policy = (
  errorClass: ErrorClass,
  retryable: boolean,
  fallsBack: boolean,
  { retriesSame = false, counts = "no" }: Partial<Pick<FailurePolicy, "retriesSame" | "counts">> = {},
): FailurePolicy => ({ errorClass, retryable, fallsBack, retriesSame, counts });

/** The target had a bad moment: once more may do. */
const passing = { retriesSame: true, counts: "target" } as const;
/** The target is broken, slow or speaks wrongly: once more would be the same. */
const faulty = { counts: "target" } as const;

/** DESIGN's mapping of failure classes; closed over every class, so that a new one must decide. */
export const failurePolicies: Record<FailureClass, FailurePolicy> = {
  rate_limited: policy("RateLimited", true, true, { retriesSame: true, counts: "key" }),
  quota: policy("RateLimited", false, true, { counts: "key" }),
  overloaded: policy("Unavailable", true, true, passing),
  upstream_5xx: policy("Unavailable", true, true, passing),
  bad_gateway_page: policy("Unavailable", true, true, passing),
  connect: policy("Unavailable", true, true, passing),
  reset: policy("Unavailable", true, true, passing),
  timeout_headers: policy("Timeout", true, true, faulty),
  timeout_ttft: policy("Timeout", true, true, faulty),
  timeout_idle: policy("Timeout", true, true, faulty),
  timeout_progress: policy("Timeout", true, true, faulty),
  timeout_total: policy("Timeout", true, false),
  truncated: policy("Unavailable", true, true, faulty),
  malformed: policy("Unavailable", true, true, faulty),
  protocol: policy("Unavailable", true, true, faulty),
  auth: policy("AuthError", false, true),
  permission: policy("AuthError", false, true),
  model_not_found: policy("CapabilityMismatch", false, true),
  invalid_request: policy("Internal", false, false),
  context_length: policy("Internal", false, false),
  content_policy: policy("CapabilityMismatch", false, false),
  // Whether a retry can help is not known either: another target may be tried, the same one is not.
  unknown: policy("Unavailable", false, true),
  interrupted: policy("Unavailable", true, false),
};

/** The class a failure ends a run with: a stream cut after the commit point is Internal, as in IndeRun's engine. */
export function errorClassOf(failure: Failure, afterCommit: boolean): ErrorClass {
  if (failure.failureClass === "truncated" && afterCommit) return "Internal";
  return failurePolicies[failure.failureClass].errorClass;
}
