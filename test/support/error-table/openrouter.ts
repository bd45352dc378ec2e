// Errors of OpenRouter.
import {
  auth,
  blocked,
  invalid,
  noModel,
  overloaded,
  permission,
  quota,
  rateLimited,
  serverError,
  timedOut,
  tooLong,
  unknown,
  type ErrorTable,
} from "./error-row.ts";

export const openRouterErrors: ErrorTable = {
  title: "OpenRouter",
  format: "openai-chat",
  rows: [
    ["a wrong key", 401, { error: { code: 401, message: "No auth credentials found" } }, auth],
    ["no credit", 402, { error: { code: 402, message: "Insufficient credits." } }, quota],
    ["a budget, by its type", 400, { error: { code: 400, metadata: { error_type: "token_limit_exceeded" } } }, quota],
    [
      "a flagged input",
      403,
      { error: { code: 403, message: "scripted", metadata: { reasons: ["violence"], flagged_input: "…" } } },
      blocked,
    ],
    [
      "a key without the right",
      403,
      { error: { code: 403, metadata: { error_type: "permission_denied" } } },
      permission,
    ],
    ["an unknown model", 400, { error: { code: 400, message: "x/y is not a valid model ID" } }, noModel],
    ["no endpoint for the model", 404, { error: { code: 404, message: "No endpoints found for x/y." } }, noModel],
    [
      "a long prompt",
      400,
      { error: { code: 400, message: "This endpoint's maximum context length is 9 tokens." } },
      tooLong,
    ],
    [
      "a long prompt, quoted from the provider behind it",
      400,
      {
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: { raw: '{"error":{"code":"context_length_exceeded","message":"m"}}', provider_name: "P" },
        },
      },
      tooLong,
    ],
    ["a timeout", 408, { error: { code: 408, message: "scripted" } }, timedOut],
    [
      "a free allowance that is used up for the day",
      429,
      { error: { code: 429, message: "Rate limit exceeded: free-models-per-day." } },
      quota,
    ],
    [
      "a free rate that is used up for the minute",
      429,
      { error: { code: 429, message: "Rate limit exceeded: free-models-per-min." } },
      rateLimited,
      {
        headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(Date.UTC(2026, 0, 1, 12, 0, 20)) },
        waitMs: 20_000,
      },
    ],
    ["a provider that is down", 502, { error: { code: 502, message: "Provider returned error" } }, serverError],
    [
      "no provider",
      503,
      { error: { code: 503, message: "scripted" } },
      overloaded,
      { headers: { "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }, waitMs: 30_000 },
    ],
    [
      "a provider that fails in the stream, with choices",
      "stream",
      {
        error: { code: 502, message: "Provider disconnected", metadata: { error_type: "provider_unavailable" } },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      },
      serverError,
    ],
    [
      "a failure in the stream, without choices",
      "stream",
      { error: { code: 500, message: "m" }, choices: [] },
      serverError,
    ],
    // B14
    ["a deterministic 400 in the stream", "stream", { error: { code: 400, message: "m" }, choices: [] }, invalid],
    ["a code it could not map", "stream", { error: { code: 0, metadata: { error_type: "unmapped" } } }, unknown],
    ["a code in words", "stream", { error: { code: "server_error", message: "m" } }, serverError, "server_error"],
    ["a refusal, by its type", "stream", { error: { code: 403, metadata: { error_type: "refusal" } } }, blocked],
  ],
};
