// The words and phrases by which providers name a failure's cause, and what each means. Never repeats one that it does not know.
import type { FailureClass } from "../../schemas/failure.ts";

/** Error words (`error.type`, `error.code`, `error.status`) that say more than the status does. */
const byWord: Record<string, FailureClass> = {
  rate_limit_exceeded: "rate_limited",
  rate_limit_error: "rate_limited",
  tokens: "rate_limited",
  requests: "rate_limited",
  rate_limit_reached_error: "rate_limited",
  insufficient_quota: "quota",
  exceeded_current_quota_error: "quota",
  billing_error: "quota",
  billing_hard_limit_reached: "quota",
  overloaded_error: "overloaded",
  overloaded: "overloaded",
  engine_overloaded_error: "overloaded",
  unavailable_error: "overloaded",
  service_unavailable: "overloaded",
  insufficient_system_resource: "overloaded",
  server_error: "upstream_5xx",
  internal_server_error: "upstream_5xx",
  api_error: "upstream_5xx",
  timeout_error: "upstream_5xx",
  request_timeout: "upstream_5xx",
  invalid_api_key: "auth",
  authentication_error: "auth",
  permission_error: "permission",
  model_not_found: "model_not_found",
  not_found_error: "model_not_found",
  context_length_exceeded: "context_length",
  request_too_large: "context_length",
  exceed_context_size_error: "context_length",
  content_filter: "content_policy",
  content_policy_violation: "content_policy",
  invalid_request_error: "invalid_request",
  // AWS names exceptions.
  throttlingexception: "rate_limited",
  servicequotaexceededexception: "quota",
  serviceunavailableexception: "overloaded",
  modelnotreadyexception: "overloaded",
  internalserverexception: "upstream_5xx",
  internalfailure: "upstream_5xx",
  modelerrorexception: "upstream_5xx",
  modelstreamerrorexception: "upstream_5xx",
  modeltimeoutexception: "upstream_5xx",
  accessdeniedexception: "permission",
  unrecognizedclientexception: "auth",
  invalidsignatureexception: "auth",
  incompletesignatureexception: "auth",
  missingauthenticationtokenexception: "auth",
  expiredtokenexception: "auth",
  resourcenotfoundexception: "model_not_found",
  validationexception: "invalid_request",
};

/** The class that a word names; `undefined` for a word that is not known or says too little. */
export function classOfWord(word: string): FailureClass | undefined {
  const lower = word.toLowerCase();
  return Object.hasOwn(byWord, lower) ? byWord[lower] : undefined;
}

export const isContextLength = (message: string): boolean =>
  /context (length|window|size|limit)|maximum context|(prompt|input) is too long|too many (input )?tokens/i.test(
    message,
  );

/** Anthropic says it as an invalid request. */
export const isSpent = (message: string): boolean => /credit balance is too low/i.test(message);

/** Documented words that name a cause and class nothing. */
const furtherWords = new Set([
  "bad_request",
  "badrequesterror",
  "capacity",
  "conflict",
  "deploymentnotfound",
  "exceeded_limit",
  "failed_generation",
  "forbidden",
  "gateway_timeout",
  "invalid_argument",
  "invalid_request",
  "invalid_value",
  "json_validate_failed",
  "missing_required_parameter",
  "not_found",
  "permission_denied",
  "resource_exhausted",
  "string_above_max_length",
  "tool_use_failed",
  "timeout",
  "unauthenticated",
  "unauthorized",
  "unavailable",
  "unknown_parameter",
  "unprocessable_entity",
  "unsupported_country_region_territory",
  "unsupported_model",
  "unsupported_parameter",
  "unsupported_value",
]);

/** Only words we know: a provider may put anything there, the key or the prompt included. */
export function isKnownWord(word: unknown): word is string {
  if (typeof word !== "string") return false;
  const lower = word.toLowerCase();
  return Object.hasOwn(byWord, lower) || furtherWords.has(lower);
}
