// Classes an HTTP error answer: what all formats share. Keeps short machine words of the provider, never its prose.
import type { Failure, FailureClass } from "../../schemas/failure.ts";
import { asArray, parseJson } from "../wire/json.ts";
import { errorEventFacts, errorFacts, type ErrorFacts } from "./error-facts.ts";
import { classOfPhrase, saysSpent } from "./failure-phrases.ts";
import { classOfWord, isKnownWord } from "./failure-words.ts";
import type { HttpAnswer } from "./provider.ts";
import { retryAfter, untilReset, waitInText } from "./retry-after.ts";

/**
 * The failure that an HTTP answer is. Its class comes from its words, else from what its text says, else from its status.
 * The wait comes from Retry-After, else from the error object, else from the limits that are used up. `word`: the error's name,
 * where the format has it outside of the error object.
 */
export function httpFailure(answer: HttpAnswer, word?: string): Failure {
  const parsed = parseJson(answer.body)?.value;
  // Some gateways wrap the object in a list.
  const body = Array.isArray(parsed) ? asArray(parsed)[0] : parsed;
  const failure = failureOf(answer, body, word);
  const asked = retryAfter(answer.headers, answer.now) ?? failure.retryAfterMs;
  const wait = asked ?? (failure.failureClass === "rate_limited" ? untilReset(answer.headers, answer.now) : undefined);
  return { ...failure, ...(wait !== undefined && { retryAfterMs: wait }) };
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
  const failureClass = classOf(status, facts);
  // A page is a gateway's, and says nothing of the request.
  const isPage = failureClass === "invalid_request" && startsPage(answer.body);
  return describe(isPage ? "unknown" : failureClass, status, facts);
}

/** An error object inside a 200 stream. The class comes from its words; a numeric `code` stands for a status. */
export function inBandFailure(facts: ErrorFacts): Failure {
  const status = Number(facts.code);
  const known = Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
  return describe(classOf(known, facts), known, facts);
}

function notAStream({ body, status }: HttpAnswer, facts: ErrorFacts | undefined): Failure {
  if (facts !== undefined) return inBandFailure(facts);
  if (startsPage(body)) return describe("bad_gateway_page", status, undefined);
  if (body.trim() === "")
    return { failureClass: "truncated", message: "The provider sent an empty body.", httpStatus: status };
  return { failureClass: "protocol", message: "The provider did not answer with a stream.", httpStatus: status };
}

const startsPage = (body: string): boolean => body.trimStart().startsWith("<");

/** An error that names no cause in any way is `unknown`: nobody can tell whether asking again would help. */
function classOf(status: number | undefined, facts: ErrorFacts): FailureClass {
  if (facts.spent === true) return "quota";
  if (facts.flagged === true) return "content_policy";
  const words = [...(facts.reasons ?? []), facts.code, facts.type].flatMap((word) =>
    typeof word === "string" ? (classOfWord(word) ?? []) : [],
  );
  // The general words give way to what the text or the status says.
  const named = words.find((word) => word !== "invalid_request");
  if (named === "rate_limited" && saysSpent(facts.message)) return "quota";
  if (named === "upstream_5xx" && status === 408) return "timeout_headers";
  if (named !== undefined) return named;
  const refused = status === undefined ? words.length > 0 : refusals.has(status);
  const said = classOfPhrase(facts.message, status, refused);
  if (said !== undefined) return said;
  if (status !== undefined) return byStatus(status);
  return words.length > 0 ? "invalid_request" : "unknown";
}

/** The statuses of a request that is refused as it is: what their text says else is the request's own words. */
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 410, 413, 415, 422]);

function byStatus(status: number): FailureClass {
  switch (status) {
    case 401:
    case 407:
      return "auth";
    case 402:
      return "quota";
    case 403:
    case 451:
      return "permission";
    case 404:
    case 405:
    case 410:
      return "model_not_found";
    case 408:
      return "timeout_headers";
    case 413:
      return "context_length";
    case 429:
      return "rate_limited";
    case 409:
    case 425:
    case 498:
    case 503:
    case 529:
      return "overloaded";
    case 424:
      return "upstream_5xx";
    // The wrong kind of server; and a caller that left, which was not us.
    case 499:
    case 501:
    case 505:
      return "unknown";
  }
  if (status >= 600) return "unknown";
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
  unknown: "The provider reported an error of an unknown kind",
};

function describe(failureClass: FailureClass, status: number | undefined, facts: ErrorFacts | undefined): Failure {
  const providerCode = [facts?.code, facts?.type].find(isKnownWord);
  const text = texts[failureClass] ?? "The provider failed";
  const waits = failureClass === "rate_limited" || failureClass === "overloaded";
  const wait = facts?.retryAfterMs ?? (waits ? waitInText(facts?.message ?? "") : undefined);
  return {
    failureClass,
    message: status === undefined ? `${text}.` : `${text} (HTTP ${status}).`,
    ...(status !== undefined && { httpStatus: status }),
    ...(providerCode !== undefined && { providerCode }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  };
}
