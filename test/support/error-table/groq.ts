// Errors of Groq, with the resets of its rates as durations.
import {
  auth,
  invalid,
  noModel,
  overloaded,
  quota,
  rateLimited,
  tooLong,
  unknown,
  openAiShape as shape,
  type ErrorTable,
} from "./error-row.ts";

const bad = "invalid_request_error";

export const groqErrors: ErrorTable = {
  title: "Groq",
  format: "openai-chat",
  rows: [
    ["a wrong key", 401, shape(bad, "invalid_api_key"), auth, "invalid_api_key"],
    [
      "a rate of tokens",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      { code: "rate_limit_exceeded", headers: { "retry-after": "7.66" }, waitMs: 7660 },
    ],
    [
      "a rate of tokens, by its reset",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      {
        code: "rate_limit_exceeded",
        headers: {
          "x-ratelimit-remaining-requests": "14370",
          "x-ratelimit-reset-requests": "2m59.56s",
          "x-ratelimit-remaining-tokens": "0",
          "x-ratelimit-reset-tokens": "7.66s",
        },
        waitMs: 7660,
      },
    ],
    [
      "both rates: the later reset",
      429,
      shape("requests", "rate_limit_exceeded"),
      rateLimited,
      {
        code: "rate_limit_exceeded",
        headers: {
          "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-requests": "2m59.56s",
          "x-ratelimit-remaining-tokens": "0",
          "x-ratelimit-reset-tokens": "120ms",
        },
        waitMs: 179_560,
      },
    ],
    [
      "a reset of milliseconds",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      {
        code: "rate_limit_exceeded",
        headers: { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms" },
        waitMs: 120,
      },
    ],
    [
      "a rate with nothing used up",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      {
        code: "rate_limit_exceeded",
        headers: { "x-ratelimit-remaining-tokens": "17997", "x-ratelimit-reset-tokens": "7.66s" },
      },
    ],
    [
      "a reset that is no time",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      {
        code: "rate_limit_exceeded",
        headers: { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "5 parsecs" },
      },
    ],
    [
      "a request larger than the rate",
      413,
      shape(
        "tokens",
        "rate_limit_exceeded",
        "Request too large for model m on tokens per minute (TPM): Limit 6, Requested 7",
      ),
      quota,
      "rate_limit_exceeded",
    ],
    ["a broken tool call", 400, shape(bad, "tool_use_failed"), invalid, "tool_use_failed"],
    ["broken JSON output", 400, shape(bad, "json_validate_failed"), invalid, "json_validate_failed"],
    ["a retired model", 400, shape(bad, "model_decommissioned"), noModel, "model_decommissioned"],
    ["a long message", 400, shape(bad, null, "Please reduce the length of the messages or completion."), tooLong, bad],
    ["capacity", 498, shape("capacity", null), overloaded, "capacity"],
    ["a failure in the stream's own field", "stream", { x_groq: { error: "over capacity" }, choices: [] }, overloaded],
    ["an unknown one there", "stream", { x_groq: { error: "scripted" }, choices: [] }, unknown],
  ],
};
