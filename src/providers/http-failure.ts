// Classes an HTTP error answer: what all formats share. Keeps short machine words of the provider, never its prose.
import type { Failure, FailureClass } from "../../schemas/failure.ts";
import { asArray, parseJson } from "../wire/json.ts";
import { errorEventFacts, errorFacts, type ErrorFacts } from "./error-facts.ts";
import { classOfWord, isContextLength, isKnownWord, isSpent } from "./failure-words.ts";
import type { HttpAnswer } from "./provider.ts";
import { retryAfter } from "./retry-after.ts";

/** `word`: the error's name, where the format has it outside of the error object. */
export function httpFailure(answer: HttpAnswer, word?: string): Failure {
  const parsed = parseJson(answer.body)?.value;
  // Some gateways wrap the object in a list.
  const body = Array.isArray(parsed) ? asArray(parsed)[0] : parsed;
  const retryAfterMs = retryAfter(answer.headers, answer.now);
  return { ...failureOf(answer, body, word), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function failureOf(answer: HttpAnswer, body: unknown, word: string | undefined): Failure {
  const { status } = answer;
  const named = word === undefined ? undefined : { ...errorEventFacts(body), type: word };
  if (status >= 200 && status < 300) return notAStream(answer, named ?? errorFacts(body));
  if (status < 400) {
    return {
      failureClass: "protocol",
      message: `The provider answered with a redirect (HTTP ${status}).`,
      httpStatus: status,
    };
  }
  const facts = named ?? errorEventFacts(body);
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
    const named = classOfWord(word);
    // The general words give way to what the status or the text says.
    if (named === undefined || named === "invalid_request") continue;
    return named;
  }
  if (isContextLength(facts?.message ?? "")) return "context_length";
  if (isSpent(facts?.message ?? "")) return "quota";
  if (status === undefined)
    return words.some((word) => classOfWord(word) === "invalid_request") ? "invalid_request" : "upstream_5xx";
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
