// Classes an HTTP error answer: what all formats share. Keeps short machine words of the provider, never its prose.
import type { Failure, FailureClass } from "../../schemas/failure.ts";
import { asArray, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import type { HttpAnswer } from "./provider.ts";

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
};

/** What an error object says of its cause. */
export interface ErrorFacts {
  type: string | undefined;
  code: string | number | undefined;
  /** For classing only; never shown, logged or stored. */
  message: string;
}

/** The error in a JSON value: `{error: {...}}` or `{error: "..."}`. */
export function errorFacts(value: unknown): ErrorFacts | undefined {
  const error = asRecord(value)?.["error"];
  const prose = asText(error);
  if (prose !== undefined) return { type: undefined, code: undefined, message: prose };
  const object = asRecord(error);
  return object === undefined ? undefined : factsOf(object);
}

/** The error of an event or answer that is one by its name or status: the object itself will do, and so will nothing. */
export function errorEventFacts(value: unknown): ErrorFacts {
  return errorFacts(value) ?? factsOf(asRecord(value) ?? {});
}

function factsOf(error: JsonRecord): ErrorFacts {
  const code = error["code"];
  return {
    type: asText(error["type"]) ?? asText(error["status"]),
    code: typeof code === "string" || typeof code === "number" ? code : undefined,
    message: asText(error["message"]) ?? "",
  };
}

export function httpFailure(answer: HttpAnswer): Failure {
  const parsed = parseJson(answer.body)?.value;
  // Some gateways wrap the object in a list.
  const body = Array.isArray(parsed) ? asArray(parsed)[0] : parsed;
  const retryAfterMs = retryAfter(answer.headers, answer.now);
  return { ...failureOf(answer, body), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function failureOf(answer: HttpAnswer, body: unknown): Failure {
  const { status } = answer;
  if (status >= 200 && status < 300) return notAStream(answer, errorFacts(body));
  if (status < 400) {
    return {
      failureClass: "protocol",
      message: `The provider answered with a redirect (HTTP ${status}).`,
      httpStatus: status,
    };
  }
  const facts = errorEventFacts(body);
  return describe(classOf(status, facts), status, facts);
}

/** An error object inside a 200 stream. The class comes from its words; a numeric `code` stands for a status. */
export function inBandFailure(facts: ErrorFacts): Failure {
  const status = Number(facts.code);
  const known = Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
  return describe(classOf(known, facts), known, facts);
}

function notAStream({ body, status }: HttpAnswer, facts: ErrorFacts | undefined): Failure {
  if (facts !== undefined) return inBandFailure(facts);
  if (body.trimStart().startsWith("<")) return describe("bad_gateway_page", status, undefined);
  if (body.trim() === "")
    return { failureClass: "truncated", message: "The provider sent an empty body.", httpStatus: status };
  return { failureClass: "protocol", message: "The provider did not answer with a stream.", httpStatus: status };
}

function classOf(status: number | undefined, facts: ErrorFacts | undefined): FailureClass {
  const words = [facts?.code, facts?.type].flatMap((word) => (typeof word === "string" ? [word.toLowerCase()] : []));
  for (const word of words) {
    const named = Object.hasOwn(byWord, word) ? byWord[word] : undefined;
    // The general words give way to what the status or the text says.
    if (named === undefined || named === "invalid_request") continue;
    return named;
  }
  if (isContextLength(facts?.message ?? "")) return "context_length";
  if (isSpent(facts?.message ?? "")) return "quota";
  if (status === undefined) return words.includes("invalid_request_error") ? "invalid_request" : "upstream_5xx";
  return byStatus(status);
}

function byStatus(status: number): FailureClass {
  switch (status) {
    case 401:
      return "auth";
    case 402:
      return "quota";
    case 403:
      return "permission";
    case 404:
      return "model_not_found";
    case 408:
      return "timeout_headers";
    case 409:
      return "overloaded";
    case 413:
      return "context_length";
    case 429:
      return "rate_limited";
    case 498:
    case 503:
    case 529:
      return "overloaded";
  }
  return status >= 500 ? "upstream_5xx" : "invalid_request";
}

const isContextLength = (message: string): boolean =>
  /context (length|window|size)|maximum context|prompt is too long|too many tokens/i.test(message);

/** Anthropic says it as an invalid request. */
const isSpent = (message: string): boolean => /credit balance is too low/i.test(message);

const texts: Partial<Record<FailureClass, string>> = {
  rate_limited: "The provider is limiting the rate of requests",
  quota: "The provider reports an exhausted quota",
  overloaded: "The provider is overloaded",
  upstream_5xx: "The provider reported an error of its own",
  bad_gateway_page: "A gateway answered with a page instead of a stream",
  auth: "The provider refused the credential",
  permission: "The provider refused permission",
  model_not_found: "The provider does not know the model or the path",
  context_length: "The request is longer than the model's context",
  content_policy: "The provider refused the content",
  invalid_request: "The provider rejected the request as invalid",
  timeout_headers: "The provider timed out",
};

function describe(failureClass: FailureClass, status: number | undefined, facts: ErrorFacts | undefined): Failure {
  const providerCode = [facts?.code, facts?.type].find(isKnownWord);
  const text = texts[failureClass] ?? "The provider failed";
  return {
    failureClass,
    message: status === undefined ? `${text}.` : `${text} (HTTP ${status}).`,
    ...(status !== undefined && { httpStatus: status }),
    ...(providerCode !== undefined && { providerCode }),
  };
}

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
function isKnownWord(word: unknown): word is string {
  if (typeof word !== "string") return false;
  const lower = word.toLowerCase();
  return Object.hasOwn(byWord, lower) || furtherWords.has(lower);
}

/** `retry-after-ms`, or Retry-After in seconds or as a date. Milliseconds, at least 0, at most a day. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const exact = headers.get("retry-after-ms")?.trim() ?? "";
  if (isDecimal(exact)) return clampDay(Number(exact));
  const value = headers.get("retry-after")?.trim() ?? "";
  if (isDecimal(value)) return clampDay(Number(value) * 1000);
  // Date.parse takes many things for a date, "-5" among them, and reads a date without a zone as local time.
  if (!/^([a-z]{3,9},? .*|\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\d/i.test(value)) return undefined;
  const date = Date.parse(/(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(date) ? undefined : clampDay(date - now);
}

const isDecimal = (text: string): boolean => /^\d+(\.\d+)?$/.test(text);

const clampDay = (ms: number): number => Math.ceil(Math.min(Math.max(ms, 0), 86_400_000));
