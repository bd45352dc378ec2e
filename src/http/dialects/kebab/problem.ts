// The one place that turns what goes wrong in the kebab family into its status and its error.v1. Speaks no IndeRunError.
import type { SearchRefusal } from "../../../../schemas/collection.ts";
import type { KebabError } from "../../../../schemas/dialects/kebab.ts";
import type { Failure } from "../../../../schemas/failure.ts";
import { askError } from "../../../kebab/ask-error.ts";
import { failurePolicies } from "../../../run/fallback.ts";
import type { Problem } from "../../problem.ts";
import type { ReadingStart } from "../../read-from.ts";

const statuses = {
  invalid_input: 400,
  stale_cursor: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  doc_not_found: 404,
  chunk_not_found: 404,
  not_indexed: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  collection_limit: 422,
  too_many_chunks: 422,
  vector_limit: 422,
  rate_limited: 429,
  bug: 500,
  config_invalid: 500,
  embedding_failed: 503,
  model_not_pulled: 503,
  model_unreachable: 503,
  unavailable: 503,
  timeout: 504,
};

export interface KebabProblem {
  reason: keyof typeof statuses;
  message: string;
  details?: Record<string, unknown>;
  hint?: string;
  retryAfterMs?: number;
}

export type KebabResult<T> = { ok: true; value: T } | { ok: false; problem: KebabProblem };

export const kebabFound = <T>(value: T): { ok: true; value: T } => ({ ok: true, value });
export const kebabRefused = (problem: KebabProblem): { ok: false; problem: KebabProblem } => ({ ok: false, problem });

/** A field of the request, or `body`. */
export const invalidInput = (field: string, message: string): KebabProblem => ({
  reason: "invalid_input",
  message,
  details: { field },
});

export const noCollection = (collection: string): KebabProblem => ({
  reason: "not_indexed",
  message: "There is no such collection.",
  details: { expected: collection, found: "none" },
});

export const noDocument = (path: string): KebabProblem => ({
  reason: "doc_not_found",
  message: "The collection has no such document.",
  details: { doc_path: path },
});

export const noChunk = (path: string, chunkId: string): KebabProblem => ({
  reason: "chunk_not_found",
  message: "The document has no such chunk.",
  details: { doc_path: path, chunk_id: chunkId },
});

export const noRun: KebabProblem = { reason: "not_found", message: "There is no such run." };

/** A cursor belongs to a run that was there: when it is not, its reader must not pay for a new one. */
export const noRunBefore = ({ field }: ReadingStart): KebabProblem =>
  invalidInput(field, "There is no run to go on with.");

export const otherQuestion: KebabProblem = {
  reason: "conflict",
  message: "This Idempotency-Key was used for another question.",
  details: { field: "header:Idempotency-Key" },
};

export const noEmbeddings: KebabProblem = {
  reason: "not_indexed",
  message: "This server makes no embeddings: a search here is a lexical one.",
  details: { expected: "an embedding target", found: "none" },
  hint: "Leave mode out, or ask for lexical.",
};

export const staleCursor: KebabProblem = {
  reason: "stale_cursor",
  message: "The cursor is none of this collection as it is now.",
  details: { field: "cursor" },
  hint: "Search again without a cursor.",
};

/** Why a collection could not be searched. */
export function searchProblem(refusal: SearchRefusal, collection: string): KebabProblem {
  switch (refusal.refused) {
    case "no_collection":
      return noCollection(collection);
    case "stale_cursor":
      return staleCursor;
    case "not_embedded":
      return {
        reason: "not_indexed",
        message: "The collection's documents are not all embedded by the model that would embed the question.",
        details: { expected: refusal.expected, found: refusal.kept },
        hint: "Put its documents again, or search with the mode lexical.",
      };
    case "vector_limit":
      return {
        reason: "vector_limit",
        message: `A collection of more than ${refusal.limit} chunks is searched with the mode lexical only.`,
        details: { limit: refusal.limit },
      };
    case "embedding_failed":
      return embeddingFailed(refusal.targetId, refusal.failure);
  }
}

/** The target that makes embeddings made none. */
export function embeddingFailed(targetId: string, { failureClass, message, retryAfterMs }: Failure): KebabProblem {
  const { errorClass, retryable } = failurePolicies[failureClass];
  const { code, details } = askError({
    schemaVersion: "1.0",
    errorClass,
    message,
    providerId: targetId,
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    details: { failureClass },
  });
  const isNamed = code === "timeout" || code === "model_unreachable" || code === "model_not_pulled";
  return {
    reason: isNamed ? code : "embedding_failed",
    message,
    details,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** UTF-16 units of a message: it may repeat what the request says. */
const MAX_MESSAGE = 512;

export function kebabProblemResponse(problem: KebabProblem, extra: HeadersInit = {}): Response {
  const { reason, retryAfterMs } = problem;
  const headers = new Headers(extra);
  headers.set("cache-control", "no-store");
  if (reason === "unauthorized") headers.set("www-authenticate", "Bearer");
  if (retryAfterMs !== undefined) headers.set("retry-after", String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  return Response.json(kebabError(problem), { status: statuses[reason], headers });
}

export function kebabError({ reason, message, details = {}, hint }: KebabProblem): KebabError {
  return {
    schema_version: "error.v1",
    code: codeOf(reason),
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message,
    details: codeOf(reason) === "generic" ? { reason, ...details } : details,
    ...(hint !== undefined && { hint }),
  };
}

/** The published codes are few: what they do not name is `generic` with its reason. */
function codeOf(reason: KebabProblem["reason"]): KebabError["code"] {
  switch (reason) {
    case "not_indexed":
    case "config_invalid":
    case "model_not_pulled":
    case "model_unreachable":
    case "timeout":
      return reason;
    case "unavailable":
      return "io_error";
    case "invalid_input":
    case "stale_cursor":
    case "unauthorized":
    case "forbidden":
    case "not_found":
    case "doc_not_found":
    case "chunk_not_found":
    case "method_not_allowed":
    case "conflict":
    case "too_large":
    case "unsupported_media_type":
    case "collection_limit":
    case "too_many_chunks":
    case "vector_limit":
    case "embedding_failed":
    case "rate_limited":
    case "bug":
      return "generic";
  }
}

/** What the parts that all families share refuse, as this family says it. */
export function fromProblem({ code, message, issues, retryAfterMs }: Problem): KebabProblem {
  const field = issues?.[0]?.path.replace(/^\//, "");
  const retry = retryAfterMs === undefined ? {} : { retryAfterMs };
  switch (code) {
    case "invalid_request":
    case "capability_mismatch":
      return invalidInput(field === undefined || field === "" ? "body" : field, message);
    case "gone":
      return { reason: "not_found", message };
    case "unavailable":
      return { reason: "unavailable", message, details: { kind: "unavailable" }, ...retry };
    case "not_found":
    case "method_not_allowed":
    case "conflict":
    case "too_large":
    case "unsupported_media_type":
    case "unauthorized":
    case "forbidden":
    case "rate_limited":
    case "bug":
      return { reason: code, message, ...retry };
  }
}

/** The server's own configuration cannot be used. */
export const badConfiguration = ({ message }: Problem): KebabProblem => ({
  reason: "config_invalid",
  message,
  details: { path: "CONFIG or holdfast.config.json", cause: message },
});
