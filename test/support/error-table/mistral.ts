// Errors of Mistral.
import { auth, invalid, noModel, overloaded, rateLimited, serverError, tooLong, type ErrorTable } from "./error-row.ts";

const bad = "invalid_request_error";

/** Mistral's errors are the bare object. */
const mistral = (type: string, code: string, message = "scripted") => ({
  object: "error",
  message,
  type,
  param: null,
  code,
});

export const mistralErrors: ErrorTable = {
  title: "Mistral",
  format: "openai-chat",
  rows: [
    ["a wrong key", 401, { message: "Unauthorized", request_id: "x" }, auth],
    ["a wrong key, in other words", 401, { detail: "Unauthorized" }, auth],
    ["a rate", 429, mistral("rate_limited", "1300", "Rate limit exceeded"), rateLimited, "rate_limited"],
    [
      "no capacity",
      429,
      mistral("service_tier_capacity_exceeded", "3505"),
      overloaded,
      "service_tier_capacity_exceeded",
    ],
    [
      "no capacity, called invalid",
      429,
      {
        object: "error",
        message: "Service tier capacity exceeded for this model.",
        type: bad,
        param: null,
        code: null,
      },
      overloaded,
      bad,
    ],
    ["an unknown model", 400, mistral("invalid_model", "1500"), noModel, "invalid_model"],
    [
      "messages in a wrong order",
      400,
      mistral("invalid_request_message_order", "3230"),
      invalid,
      "invalid_request_message_order",
    ],
    [
      "a field it does not know",
      422,
      { detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"] }] },
      invalid,
    ],
    [
      "a long prompt",
      400,
      mistral(bad, "3051", "Prompt contains 9 tokens, too large for model with 8 maximum context length"),
      tooLong,
      bad,
    ],
    ["a failure of its own", 500, mistral("internal_server_error", "1000"), serverError, "internal_server_error"],
  ],
};
