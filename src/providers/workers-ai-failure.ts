// What Workers AI's errors mean: its numbers, wherever its API, its binding and its streams put them. Keeps no prose.
import type { Failure } from "../../schemas/failure.ts";
import { asArray, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { errorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { HttpAnswer } from "./provider.ts";

/** Documented numbers: the HTTP status of each, and a common word where the status does not tell its cause. */
const causes: Readonly<Record<string, { status: number; word?: string }>> = {
  "3003": { status: 400 },
  "3006": { status: 413 },
  "3007": { status: 408 },
  "3008": { status: 408 },
  "3023": { status: 403 },
  "3036": { status: 429, word: "insufficient_quota" },
  "3039": { status: 400 },
  "3040": { status: 429, word: "overloaded" },
  "3041": { status: 403 },
  "3042": { status: 404 },
  "5004": { status: 400 },
  "5005": { status: 405 },
  "5007": { status: 400, word: "model_not_found" },
  "5016": { status: 403 },
  "5018": { status: 403 },
  "5019": { status: 405 },
};

export interface WorkersAiError {
  number: string | undefined;
  /** The word of a model that reports in OpenAI's way. */
  word: string | undefined;
  /** For classing only; never shown, logged or stored. */
  message: string;
}

/** The error in an object: `errors[]` of the API, `internalCode` of the binding, or `error` in OpenAI's way; or only that there is one. */
export function workersAiErrorIn(value: JsonRecord): WorkersAiError | undefined {
  const said = asArray(value["errors"])[0] ?? value["error"];
  const object = asRecord(said) ?? (value["internalCode"] === undefined ? undefined : value);
  if (object !== undefined) return workersAiErrorOf(object);
  const facts = errorFacts({ error: said });
  if (facts !== undefined) return workersAiErrorOf({ code: facts.code, message: facts.message });
  return value["success"] === false ? workersAiErrorOf(value) : undefined;
}

export function workersAiErrorOf(error: JsonRecord): WorkersAiError {
  const code = error["internalCode"] ?? error["code"];
  const message = asText(error["message"]) ?? "";
  const number = typeof code === "number" ? String(code) : asText(code);
  // The binding writes the number before its message.
  return { number: numberIn(`${number}:`) ?? numberIn(message) ?? number, word: asText(error["type"]), message };
}

/** The first number that we know of those before a colon: `InferenceUpstreamError: 3040: ...`. */
export function numberIn(message: string): string | undefined {
  const numbers = [...message.matchAll(/\b(\d{4}):/g)].map(([, number = ""]) => number);
  return numbers.find((number) => Object.hasOwn(causes, number));
}

/** The HTTP status that a number is documented with. */
export const statusOf = (number: string): number => causeOf(number)?.status ?? 500;

/** A number comes from outside: it may be any word. */
const causeOf = (number: string | undefined) =>
  number !== undefined && Object.hasOwn(causes, number) ? causes[number] : undefined;

export function workersAiInBand({ number, word, message }: WorkersAiError): Failure {
  const cause = causeOf(number);
  if (cause === undefined) return inBandFailure({ type: word, code: number, message });
  return withoutOurs(inBandFailure({ type: cause.word, code: cause.status, message }));
}

export function workersAiFailure(answer: HttpAnswer): Failure {
  const error = workersAiErrorIn(asRecord(parseJson(answer.body)?.value) ?? {});
  const cause = causeOf(error?.number);
  const ok = answer.status >= 200 && answer.status < 300;
  if (ok && error !== undefined) return workersAiInBand(error);
  return cause?.word === undefined ? httpFailure(answer) : withoutOurs(httpFailure(answer, cause.word));
}

/** The word was ours, not the provider's. */
function withoutOurs({ providerCode: _ours, ...failure }: Failure): Failure {
  return failure;
}
