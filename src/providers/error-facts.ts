// Reads what an error object says of its cause, in the shapes that providers give it. Never classes it.
import { asArray, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { durationMs } from "./retry-after.ts";

/** What an error object says of its cause. */
export interface ErrorFacts {
  type: string | undefined;
  code: string | number | undefined;
  /** For classing only; never shown, logged or stored. */
  message: string;
  /** Finer words than code and type, the finest first. */
  reasons?: readonly string[];
  /** A quota that waiting does not restore, or that comes back once a day. */
  spent?: true;
  /** The input was flagged by a moderation. */
  flagged?: true;
  /** Milliseconds that the object asks us to wait. */
  retryAfterMs?: number;
}

/** The error in a JSON value: `{error: ...}` or `{errors: [...]}`, be it an object, a text or a number. */
export function errorFacts(value: unknown): ErrorFacts | undefined {
  const holder = asRecord(value);
  const error = holder?.["error"];
  if (holder === undefined || [undefined, null, false, 0, ""].some((none) => none === error)) {
    const [first] = asArray(holder?.["errors"]);
    return first === undefined ? undefined : factsIn(first, undefined);
  }
  return factsIn(error, holder);
}

/** The error by itself, whatever it is given as. */
function factsIn(error: unknown, holder: JsonRecord | undefined): ErrorFacts {
  const object = asRecord(Array.isArray(error) ? asArray(error)[0] : error);
  if (object !== undefined) return factsOf(object);
  if (typeof error === "number") return { type: undefined, code: error, message: "" };
  const prose = asText(error) ?? asText(asArray(error)[0]) ?? asText(holder?.["message"]) ?? "";
  // A word alone is the error's name.
  const reasons = /^\w+$/.test(prose) ? [prose] : [];
  return { type: undefined, code: codeOf(holder), message: prose, reasons };
}

/** The error of an event or answer that is one by its name or status: the object itself will do, a text, and so will nothing. */
export function errorEventFacts(value: unknown): ErrorFacts {
  if (typeof value === "string") return { type: undefined, code: undefined, message: value };
  return errorFacts(value) ?? factsOf(asRecord(value) ?? {});
}

/** What is nothing but an error without being called one: a text and a code or status, or a `detail`. */
export function bareErrorFacts(value: JsonRecord): ErrorFacts | undefined {
  const code = codeOf(value);
  const wrong = typeof code === "number" ? code >= 400 : code !== undefined && !(Number(code) < 400);
  const detail = value["detail"];
  const told = asText(value["message"]) !== undefined && wrong;
  return told || asText(detail) !== undefined || asRecord(detail) !== undefined || asArray(detail).length > 0
    ? factsOf(value)
    : undefined;
}

function factsOf(error: JsonRecord): ErrorFacts {
  const metadata = asRecord(error["metadata"]);
  const details = asArray(error["details"])
    .map(asRecord)
    .filter((detail) => detail !== undefined);
  const wait = details.map((detail) => durationMs(asText(detail["retryDelay"]) ?? "")).find((ms) => ms !== undefined);
  return {
    type: asText(error["type"]) ?? asText(error["__type"])?.split("#").at(-1) ?? asText(error["status"]),
    code: codeOf(error),
    message: messageOf(error, metadata),
    reasons: reasonsOf(error, metadata, details),
    ...(details.some(isSpent) && { spent: true }),
    ...((asArray(metadata?.["reasons"]).length > 0 || asText(metadata?.["flagged_input"]) !== undefined) && {
      flagged: true,
    }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  };
}

function codeOf(error: JsonRecord | undefined): string | number | undefined {
  const named = [error?.["code"], error?.["status"], error?.["statusCode"]];
  const [code] = named.flatMap((value, index) =>
    typeof value === "number" || (index === 0 && typeof value === "string") ? [value] : [],
  );
  return code;
}

/** Gateways quote the error of the provider behind them. */
function messageOf(error: JsonRecord, metadata: JsonRecord | undefined): string {
  const detail = error["detail"];
  const quoted = asText(behindOf(metadata)?.["message"]) ?? metadata?.["raw"];
  const texts = [error["message"], detail, asRecord(detail)?.["error"], quoted].map(asText);
  return texts.filter((text) => text !== undefined).join("\n");
}

function reasonsOf(error: JsonRecord, metadata: JsonRecord | undefined, details: readonly JsonRecord[]): string[] {
  const behind = behindOf(metadata);
  return [
    asRecord(error["innererror"])?.["code"],
    metadata?.["error_type"],
    ...details.map((detail) => detail["reason"]),
    ...asArray(error["errors"]).map((entry) => asRecord(entry)?.["reason"]),
    behind?.["code"],
    behind?.["type"],
  ].flatMap((word) => asText(word) ?? []);
}

/** The error object of the provider behind a gateway. */
function behindOf(metadata: JsonRecord | undefined): JsonRecord | undefined {
  const quoted = asText(metadata?.["raw"]);
  return quoted === undefined ? undefined : asRecord(asRecord(parseJson(quoted)?.value)?.["error"]);
}

/** google.rpc.QuotaFailure: a day's allowance is used up, or there is none at all. */
function isSpent(detail: JsonRecord): boolean {
  return asArray(detail["violations"]).some((entry) => {
    const violation = asRecord(entry);
    const id = asText(violation?.["quotaId"]) ?? asText(violation?.["quotaMetric"]) ?? "";
    return /per_?day/i.test(id) || violation?.["quotaValue"] === "0";
  });
}
