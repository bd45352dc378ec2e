// Errors of Anthropic Messages.
import {
  auth,
  blocked,
  gatewayPage,
  html,
  invalid,
  noModel,
  overloaded,
  permission,
  quota,
  rateLimited,
  serverError,
  tooLong,
  truncated,
  unknown,
  anthropicShape as shape,
  type ErrorTable,
} from "./error-row.ts";

const bad = "invalid_request_error";
const limited = "rate_limit_error";

export const anthropicErrors: ErrorTable = {
  title: "Anthropic",
  format: "anthropic-messages",
  rows: [
    ["an invalid request", 400, shape(bad), invalid, bad],
    // B14, B78
    ["a long prompt", 400, shape(bad, "prompt is too long: 9 tokens > 8 maximum"), tooLong, bad],
    [
      "a long prompt with its output",
      400,
      shape(bad, "input length and `max_tokens` exceed context limit"),
      tooLong,
      bad,
    ],
    ["a low balance", 400, shape(bad, "Your credit balance is too low."), quota, bad],
    ["a limit of its owner", 400, shape(bad, "You have reached your specified API usage limits."), quota, bad],
    ["a blocked output", 400, shape(bad, "Output blocked by content filtering policy"), blocked, bad],
    ["a wrong key", 401, shape("authentication_error"), auth, "authentication_error"],
    ["billing", 402, shape("billing_error"), quota, "billing_error"],
    ["a permission", 403, shape("permission_error"), permission, "permission_error"],
    ["an unknown model", 404, shape("not_found_error", "model: m"), noModel, "not_found_error"],
    ["a body that is too large", 413, shape("request_too_large"), tooLong, "request_too_large"],
    ["a rate", 429, shape(limited), rateLimited, { code: limited, headers: { "retry-after": "42" }, waitMs: 42_000 }],
    [
      "a rate whose reset stands in a date",
      429,
      shape(limited),
      rateLimited,
      {
        code: limited,
        headers: {
          "anthropic-ratelimit-requests-remaining": "49",
          "anthropic-ratelimit-requests-reset": "2026-01-01T13:00:00Z",
          "anthropic-ratelimit-input-tokens-remaining": "0",
          "anthropic-ratelimit-input-tokens-reset": "2026-01-01T12:00:17Z",
        },
        waitMs: 17_000,
      },
    ],
    [
      "two rates: the later reset",
      429,
      shape(limited),
      rateLimited,
      {
        code: limited,
        headers: {
          "anthropic-ratelimit-output-tokens-remaining": "0",
          "anthropic-ratelimit-output-tokens-reset": "2026-01-01T12:01:00Z",
          "anthropic-ratelimit-tokens-remaining": "0",
          "anthropic-ratelimit-tokens-reset": "2026-01-01T12:00:05Z",
        },
        waitMs: 60_000,
      },
    ],
    [
      "a reset that is past",
      429,
      shape(limited),
      rateLimited,
      {
        code: limited,
        headers: {
          "anthropic-ratelimit-requests-remaining": "0",
          "anthropic-ratelimit-requests-reset": "2026-01-01T11:59:59Z",
        },
        waitMs: 0,
      },
    ],
    [
      "a wait beside a reset: the wait",
      429,
      shape(limited),
      rateLimited,
      {
        code: limited,
        headers: {
          "retry-after": "3",
          "anthropic-ratelimit-requests-remaining": "0",
          "anthropic-ratelimit-requests-reset": "2026-01-01T12:09:00Z",
        },
        waitMs: 3000,
      },
    ],
    [
      "tokens per minute, in the text",
      429,
      shape(limited, "would exceed 9 input tokens per minute"),
      rateLimited,
      limited,
    ],
    [
      "a plan without long requests",
      429,
      shape(limited, "Extra usage is required for long context requests."),
      quota,
      limited,
    ],
    ["a failure of its own", 500, shape("api_error"), serverError, "api_error"],
    ["a timeout", 504, shape("timeout_error"), serverError, "timeout_error"],
    ["an overload", 529, shape("overloaded_error"), overloaded, "overloaded_error"],
    // B65
    ["an overload with 200", 200, shape("overloaded_error"), overloaded, "overloaded_error"],
    ["a page with 200", 200, html, gatewayPage],
    ["an empty body with 200", 200, "", truncated],
    ["a page with 500", 500, html, serverError],
    ["a type of tomorrow", 400, shape("flux_error"), invalid],
    // B16
    ["an overload in the stream", "stream", shape("overloaded_error"), overloaded, "overloaded_error"],
    ["a rate in the stream", "stream", shape(limited), rateLimited, limited],
    ["an invalid request in the stream", "stream", shape(bad), invalid, bad],
    ["a long prompt in the stream", "stream", shape(bad, "prompt is too long"), tooLong, bad],
    ["a wrong key in the stream", "stream", shape("authentication_error"), auth, "authentication_error"],
    ["billing in the stream", "stream", shape("billing_error"), quota, "billing_error"],
    ["a failure in the stream", "stream", shape("api_error"), serverError, "api_error"],
    ["a timeout in the stream", "stream", shape("timeout_error"), serverError, "timeout_error"],
    ["a type of tomorrow in the stream", "stream", shape("flux_error"), unknown],
    ["nothing but the word error", "stream", { type: "error" }, unknown],
  ],
};
