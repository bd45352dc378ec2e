// The one place that turns a problem into a status code and an IndeRunError. Nothing else picks error statuses.
import type { ErrorClass } from "../../schemas/failure.ts";
import type { IndeRunError, ValidationIssue } from "../../schemas/problem.ts";
import { sseNamedFrame, ssePreamble } from "../wire/sse-writer.ts";

export type ProblemCode =
  | "invalid_request"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "gone"
  | "too_large"
  | "unsupported_media_type"
  | "bug"
  | "unauthorized"
  | "forbidden"
  | "capability_mismatch"
  | "rate_limited"
  | "unavailable";

export interface Problem {
  code: ProblemCode;
  /** Our own words; never a value from the request. */
  message: string;
  issues?: ValidationIssue[];
  runId?: string;
  retryAfterMs?: number;
  details?: Record<string, unknown>;
  /** For `Offline`, which shares 503 with Unavailable. */
  errorClass?: ErrorClass;
}

export type Result<T> = { ok: true; value: T } | { ok: false; problem: Problem };

export const found = <T>(value: T): Result<T> => ({ ok: true, value });
export const refused = (problem: Problem): { ok: false; problem: Problem } => ({ ok: false, problem });

const wire: Record<ProblemCode, { status: number; errorClass: ErrorClass; retryable?: boolean }> = {
  invalid_request: { status: 400, errorClass: "Internal" },
  not_found: { status: 404, errorClass: "Internal" },
  method_not_allowed: { status: 405, errorClass: "Internal" },
  conflict: { status: 409, errorClass: "Internal" },
  gone: { status: 410, errorClass: "Internal" },
  too_large: { status: 413, errorClass: "Internal" },
  unsupported_media_type: { status: 415, errorClass: "Internal" },
  bug: { status: 500, errorClass: "Internal" },
  unauthorized: { status: 401, errorClass: "AuthError" },
  forbidden: { status: 403, errorClass: "AuthError" },
  capability_mismatch: { status: 422, errorClass: "CapabilityMismatch" },
  rate_limited: { status: 429, errorClass: "RateLimited", retryable: true },
  unavailable: { status: 503, errorClass: "Unavailable", retryable: true },
};

/** UTF-16 units of a message, and of a path: a field's name is the request's, and may be as long as the request. */
const MAX_TEXT = 512;

const clipped = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text);

export function problemBody(problem: Problem): IndeRunError {
  const { errorClass, retryable } = wire[problem.code];
  const { issues, runId, retryAfterMs } = problem;
  return {
    schemaVersion: "1.0",
    errorClass: problem.errorClass ?? errorClass,
    message: clipped(problem.message),
    ...(runId !== undefined && { runId }),
    ...(retryable !== undefined && { retryable }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(problem.code !== "bug" && {
      details: {
        code: problem.code,
        ...(issues !== undefined && {
          validationIssues: issues.map((issue) => ({ ...issue, path: clipped(issue.path) })),
        }),
        ...problem.details,
      },
    }),
  };
}

export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  return Response.json(problemBody(problem), {
    status: wire[problem.code].status,
    headers: {
      "cache-control": "no-store",
      ...(problem.code === "unauthorized" && { "www-authenticate": "Bearer" }),
      ...(problem.retryAfterMs !== undefined && {
        "retry-after": String(Math.ceil(problem.retryAfterMs / 1000)),
      }),
      ...headers,
    },
  });
}

/** A known path with another method. `allow`: what it takes, with commas between. */
export const wrongMethod = (allow: string): Response =>
  problemResponse({ code: "method_not_allowed", message: `This path takes ${allow}.` }, { allow });

/** The answer to who has it already. */
export const unchanged = (headers: Record<string, string>): Response => new Response(null, { status: 304, headers });

/** On every stream: nobody on the way may keep it, change it or hold it back. */
export const streamHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" };

/** A day: an EventSource cannot read a 400 and must not come back at once with the same cursor. */
const NO_RETRY_MS = 86_400_000;

/** A problem that an EventSource can read: a stream of one `error` event without an id, then the end. */
export function problemStream(problem: Problem): Response {
  const frame = ssePreamble(NO_RETRY_MS) + sseNamedFrame("error", JSON.stringify(problemBody(problem)));
  return new Response(frame, { headers: { "content-type": "text/event-stream; charset=utf-8", ...streamHeaders } });
}

/** One fault of one field. */
export const fieldProblem = (path: string, message: string, keyword: string): Problem => ({
  code: "invalid_request",
  message: `The request is not valid: ${path === "" ? "the body" : path} ${message}.`,
  issues: [{ path, message, keyword }],
});

export function issuesProblem(issues: ValidationIssue[]): Problem {
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  const where = first === undefined || first.path === "" ? "the body" : first.path;
  return {
    code: "invalid_request",
    message: `The request is not valid: ${where} ${first?.message ?? ""}${more}.`,
    issues,
  };
}

export const noSuchRun = (): Problem => ({ code: "not_found", message: "There is no such run." });
