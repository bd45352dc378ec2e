// The one place that turns what goes wrong in the DeerFlow family into its status and its body, `{detail}`. Speaks no IndeRunError.
import type { Problem } from "../../problem.ts";

const statuses = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method: 405,
  conflict: 409,
  gone: 410,
  too_large: 413,
  media_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  failed: 500,
  unavailable: 503,
};

/** One fault of a body, a query or a path. */
export interface Fault {
  type: string;
  /** Where it stands: `body`, `query` or `path`, then the names and positions below it. */
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
}

export interface DeerProblem {
  code: keyof typeof statuses;
  /** A text that clients match on, faults, or a word and a text with what belongs to them. */
  detail: string | Fault[] | { code: string; message: string; [more: string]: unknown };
  retryAfterMs?: number;
}

export type DeerResult<T> = { ok: true; value: T } | { ok: false; problem: DeerProblem };

export const deerFound = <T>(value: T): { ok: true; value: T } => ({ ok: true, value });
export const deerRefused = (problem: DeerProblem): { ok: false; problem: DeerProblem } => ({ ok: false, problem });

const texts =
  (code: DeerProblem["code"]) =>
  (detail: string): DeerProblem => ({ code, detail });

export const badRequest = texts("bad_request");
export const conflict = texts("conflict");
export const notFound = texts("not_found");
export const unprocessable = texts("unprocessable");
export const faulty = (faults: Fault[]): DeerProblem => ({ code: "unprocessable", detail: faults });

export const noSuchPath = notFound("Not Found");
export const noSuchThread = (threadId: string): DeerProblem => notFound(`Thread ${threadId} not found`);
export const noSuchRun = (runId: string): DeerProblem => notFound(`Run ${runId} not found`);
export const noSuchCheckpoint = (id: string): DeerProblem => notFound(`Checkpoint ${id} not found`);
export const threadFull: DeerProblem = { code: "too_large", detail: "The thread has reached its storage limit" };

export const notAuthenticated: DeerProblem = {
  code: "unauthorized",
  detail: { code: "not_authenticated", message: "Authentication required" },
};
export const tokenInvalid: DeerProblem = {
  code: "unauthorized",
  detail: { code: "token_invalid", message: "The API key is not valid" },
};

/** Characters of a text, and of an input that is told back: both may be as long as the request. */
const MAX_TEXT = 512;

export function deerProblemResponse({ code, detail, retryAfterMs }: DeerProblem, extra: HeadersInit = {}): Response {
  const headers = new Headers(extra);
  headers.set("cache-control", "no-store");
  if (code === "unauthorized") headers.set("www-authenticate", "Bearer");
  if (retryAfterMs !== undefined) headers.set("retry-after", String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  return Response.json({ detail: bounded(detail) }, { status: statuses[code], headers });
}

function bounded(detail: DeerProblem["detail"]): DeerProblem["detail"] {
  if (typeof detail === "string") return clipped(detail);
  return Array.isArray(detail) ? detail.map(boundedFault) : detail;
}

const boundedFault = ({ type, loc, msg, input, ctx }: Fault): Fault => ({
  type,
  loc: loc.map((step) => (typeof step === "string" ? clipped(step) : step)),
  msg: clipped(msg),
  input: boundedInput(input),
  ...(ctx !== undefined && { ctx }),
});

/** What is large is not told back: a text's beginning stands for it, or nothing. */
function boundedInput(input: unknown): unknown {
  if (typeof input === "string") return clipped(input);
  return (JSON.stringify(input) ?? "").length > MAX_TEXT ? null : (input ?? null);
}

const clipped = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text);

/** What the parts that all families share refuse, as this family says it. */
export function fromProblem({ code, message, retryAfterMs }: Problem): DeerProblem {
  return { code: sameAs(code), detail: message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function sameAs(code: Problem["code"]): DeerProblem["code"] {
  switch (code) {
    case "invalid_request":
      return "bad_request";
    case "capability_mismatch":
      return "unprocessable";
    case "method_not_allowed":
      return "method";
    case "unsupported_media_type":
      return "media_type";
    case "bug":
      return "failed";
    case "not_found":
    case "conflict":
    case "gone":
    case "too_large":
    case "unauthorized":
    case "forbidden":
    case "rate_limited":
    case "unavailable":
      return code;
  }
}
