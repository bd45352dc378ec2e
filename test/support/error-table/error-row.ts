// One row of the error table: an answer or a stream event as a provider really sends it, and what it must be to us. Shapes,
// the kinds of failure as clients see them, and the error objects that several providers share. Judges nothing.
import type { ErrorClass, FailureClass } from "../../../schemas/failure.ts";
import type { StreamFormat } from "../corpus/corpus-stream.ts";

/** Stated here a second time on purpose: the table proves the product's own. */
export interface Kind {
  readonly failureClass: FailureClass;
  readonly errorClass: ErrorClass;
  readonly retryable: boolean;
}

export interface RowFacts {
  readonly headers?: Readonly<Record<string, string>>;
  /** The word that is kept, if it is one we know. */
  readonly code?: string;
  readonly waitMs?: number;
}

/**
 * `where`: an HTTP status, or `stream`: an event inside a stream that answered 200. `body`: text as it stands, anything else
 * as JSON.
 */
export type ErrorRow = readonly [
  what: string,
  where: number | "stream",
  body: unknown,
  kind: Kind,
  facts?: RowFacts | string,
];

export interface ErrorTable {
  readonly title: string;
  readonly format: StreamFormat;
  readonly rows: readonly ErrorRow[];
}

const kind = (failureClass: FailureClass, errorClass: ErrorClass, retryable: boolean): Kind => ({
  failureClass,
  errorClass,
  retryable,
});

export const rateLimited = kind("rate_limited", "RateLimited", true);
export const quota = kind("quota", "RateLimited", false);
export const overloaded = kind("overloaded", "Unavailable", true);
export const serverError = kind("upstream_5xx", "Unavailable", true);
export const gatewayPage = kind("bad_gateway_page", "Unavailable", true);
export const timedOut = kind("timeout_headers", "Timeout", true);
export const truncated = kind("truncated", "Unavailable", true);
export const protocol = kind("protocol", "Unavailable", true);
export const auth = kind("auth", "AuthError", false);
export const permission = kind("permission", "AuthError", false);
export const noModel = kind("model_not_found", "CapabilityMismatch", false);
export const invalid = kind("invalid_request", "Internal", false);
export const tooLong = kind("context_length", "Internal", false);
export const blocked = kind("content_policy", "CapabilityMismatch", false);
export const unknown = kind("unknown", "Unavailable", false);

/** The time at which all rows are read. */
export const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

/** OpenAI's error object, which its family shares. */
export const openAiShape = (type: string | null, code: unknown, message = "scripted") => ({
  error: { message, type, param: null, code },
});

/** Anthropic's. */
export const anthropicShape = (type: string, message = "scripted") => ({ type: "error", error: { type, message } });

/** Google's. */
export const googleShape = (code: number, status: string, message = "scripted", details?: readonly unknown[]) => ({
  error: { code, message, status, ...(details !== undefined && { details }) },
});

export const html = "<!DOCTYPE html><html><head><title>Error</title></head><body>Error</body></html>";
export const nginx = "<html>\r\n<head><title>Error</title></head>\r\n<body><center>nginx</center></body>\r\n</html>";
