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

/** The error in a JSON value: `{error: {...}}`, `{error: "..."}` or `{errors: [{...}]}`. */
export function errorFacts(value: unknown): ErrorFacts | undefined {
  const holder = asRecord(value);
  const error = holder?.["error"];
  const prose = asText(error);
  if (prose !== undefined) return { type: undefined, code: codeOf(holder), message: prose };
  const object = asRecord(error) ?? asRecord(asArray(holder?.["errors"])[0]);
  return object === undefined ? undefined : factsOf(object);
}

/** The error of an event or answer that is one by its name or status: the object itself will do, a text, and so will nothing. */
export function errorEventFacts(value: unknown): ErrorFacts {
  if (typeof value === "string") return { type: undefined, code: undefined, message: value };
  return errorFacts(value) ?? factsOf(asRecord(value) ?? {});
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
  const code = error?.["code"];
  return typeof code === "string" || typeof code === "number" ? code : undefined;
}

/** Gateways quote the error of the provider behind them. */
function messageOf(error: JsonRecord, metadata: JsonRecord | undefined): string {
  const detail = error["detail"];
  const texts = [error["message"], detail, asRecord(detail)?.["error"], metadata?.["raw"]].map(asText);
  return texts.filter((text) => text !== undefined).join("\n");
}

function reasonsOf(error: JsonRecord, metadata: JsonRecord | undefined, details: readonly JsonRecord[]): string[] {
  const quoted = asText(metadata?.["raw"]);
  const behind = quoted === undefined ? undefined : asRecord(asRecord(parseJson(quoted)?.value)?.["error"]);
  return [
    asRecord(error["innererror"])?.["code"],
    metadata?.["error_type"],
    ...details.map((detail) => detail["reason"]),
    ...asArray(error["errors"]).map((entry) => asRecord(entry)?.["reason"]),
    behind?.["code"],
    behind?.["type"],
  ].flatMap((word) => asText(word) ?? []);
}

/** google.rpc.QuotaFailure: a day's allowance is used up, or there is none at all. */
function isSpent(detail: JsonRecord): boolean {
  return asArray(detail["violations"]).some((entry) => {
    const violation = asRecord(entry);
    const id = asText(violation?.["quotaId"]) ?? asText(violation?.["quotaMetric"]) ?? "";
    return /per_?day/i.test(id) || violation?.["quotaValue"] === "0";
  });
}
