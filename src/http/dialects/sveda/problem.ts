// The one place that turns what goes wrong in the Sveda family into its status and body. Speaks no IndeRunError.
import type { Problem } from "../../problem.ts";

const statuses = {
  // A JSON object {message}.
  invalid: 400,
  forbidden: 403,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unprocessable: 422,
  rate_limited: 429,
  failed: 500,
  unavailable: 503,
  // Plain text.
  syntax: 400,
  media_type: 415,
  field: 422,
  body_too_large: 413,
  // No body.
  unauthorized: 401,
  absent: 404,
  method: 405,
};

export interface SvedaProblem {
  code: keyof typeof statuses;
  /** Not read where there is no body. */
  message: string;
  retryAfterMs?: number;
}

export type SvedaResult<T> = { ok: true; value: T } | { ok: false; problem: SvedaProblem };

export const svedaFound = <T>(value: T): { ok: true; value: T } => ({ ok: true, value });
export const svedaRefused = (problem: SvedaProblem): { ok: false; problem: SvedaProblem } => ({ ok: false, problem });

export const unauthorized: SvedaProblem = { code: "unauthorized", message: "" };
export const absent: SvedaProblem = { code: "absent", message: "" };
export const unprocessable = (message: string): SvedaProblem => ({ code: "unprocessable", message });

/** UTF-16 units of a message: it may repeat what the request says. */
const MAX_MESSAGE = 512;

export function svedaProblemResponse({ code, message, retryAfterMs }: SvedaProblem, extra: HeadersInit = {}): Response {
  const headers = new Headers(extra);
  headers.set("cache-control", "no-store");
  if (retryAfterMs !== undefined) headers.set("retry-after", String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  const options = { status: statuses[code], headers };
  const text = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message;
  switch (code) {
    case "unauthorized":
    case "absent":
    case "method":
      return new Response(null, options);
    case "syntax":
    case "media_type":
    case "field":
    case "body_too_large":
      headers.set("content-type", "text/plain; charset=utf-8");
      return new Response(text, options);
    case "invalid":
    case "forbidden":
    case "conflict":
    case "gone":
    case "too_large":
    case "unprocessable":
    case "rate_limited":
    case "failed":
    case "unavailable":
      return Response.json({ message: text }, options);
  }
}

/** A path that is not there. */
export const noSuchPath = (): Response => Response.json({ ok: false, error: "not_found" }, { status: 404 });

/** The server is not ready to serve. */
export const notReady = (state: Record<string, unknown>, error: string): Response =>
  Response.json({ ...state, ok: false, error }, { status: 503, headers: { "cache-control": "no-store" } });

/** What the parts that all families share refuse, as this family says it. */
export function fromProblem({ code, message, retryAfterMs }: Problem): SvedaProblem {
  return { code: sameAs(code), message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function sameAs(code: Problem["code"]): SvedaProblem["code"] {
  switch (code) {
    case "invalid_request":
    case "capability_mismatch":
      return "unprocessable";
    case "not_found":
      return "absent";
    case "method_not_allowed":
      return "method";
    case "conflict":
    case "gone":
    case "too_large":
    case "unauthorized":
    case "forbidden":
    case "rate_limited":
    case "unavailable":
      return code;
    case "unsupported_media_type":
      return "media_type";
    case "bug":
      return "failed";
  }
}
