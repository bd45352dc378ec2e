// A run that failed, or a stream that cannot go on, as error.v1. The published codes are few; what else is known stands in the details.
import type { KebabError } from "../../schemas/dialects/kebab.ts";
import type { IndeRunError } from "../../schemas/problem.ts";

export function askError(error: IndeRunError): KebabError {
  const { code, details } = coded(error, causeOf(error));
  return { schema_version: "error.v1", code, message: error.message, details: { ...details, ...knownOf(error) } };
}

/** The failure classes of a provider that could be reached, and does not serve this server. */
const refusals: ReadonlySet<string> = new Set(["auth", "permission", "quota", "rate_limited"]);

function causeOf({ details }: IndeRunError): string | undefined {
  const cause = details?.["failureClass"];
  return typeof cause === "string" ? cause : undefined;
}

function coded(
  { errorClass, message, providerId = "the server" }: IndeRunError,
  cause: string | undefined,
): Pick<KebabError, "code" | "details"> {
  switch (errorClass) {
    case "Timeout":
      return { code: "timeout", details: { source: providerId } };
    case "Unavailable":
    case "Offline":
      // It is also how a run ends whose targets all failed, each in its way.
      if (cause?.startsWith("timeout_") === true) return { code: "timeout", details: { source: providerId } };
      if (cause === "model_not_found") return { code: "model_not_pulled", details: { model: providerId } };
      if (cause !== undefined && refusals.has(cause)) return { code: "generic", details: { chain: [message] } };
      return { code: "model_unreachable", details: { endpoint: providerId, source: cause ?? errorClass } };
    case "CapabilityMismatch":
      if (cause === "model_not_found") return { code: "model_not_pulled", details: { model: providerId } };
      return { code: "generic", details: { chain: [message] } };
    case "AuthError":
    case "RateLimited":
    case "Internal":
      return { code: "generic", details: { chain: [message] } };
  }
}

/** Beside what the code asks for. */
export function knownOf(error: IndeRunError): Record<string, unknown> {
  const { errorClass, runId, retryable = false, retryAfterMs } = error;
  const cause = causeOf(error);
  return {
    error_class: errorClass,
    ...(cause !== undefined && { failure_class: cause }),
    ...(runId !== undefined && { run_id: runId }),
    retryable,
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  };
}
