// Errors of OpenAI Responses. In the stream they come as an event of their own, or inside the response that failed.
import {
  auth,
  blocked,
  gatewayPage,
  html,
  invalid,
  noModel,
  openAiShape as shape,
  overloaded,
  quota,
  rateLimited,
  serverError,
  tooLong,
  unknown,
  type ErrorTable,
} from "./error-row.ts";

const bad = "invalid_request_error";
const event = (code: string | null, message = "scripted") => ({ type: "error", code, message, param: null });
const wrapped = (type: string, code: string | null) => ({ type: "error", error: { type, code, message: "scripted" } });
const response = (code: string, message = "scripted") => ({
  type: "response.failed",
  response: { status: "failed", error: { code, message } },
});

export const openAiResponsesErrors: ErrorTable = {
  title: "OpenAI Responses",
  format: "openai-responses",
  rows: [
    ["a wrong key", 401, shape(bad, "invalid_api_key"), auth, "invalid_api_key"],
    ["an unknown model", 400, shape(bad, "model_not_found"), noModel, "model_not_found"],
    ["a wrong parameter", 400, shape(bad, "unknown_parameter"), invalid, "unknown_parameter"],
    [
      "a rate",
      429,
      shape("tokens", "rate_limit_exceeded"),
      rateLimited,
      { code: "rate_limit_exceeded", headers: { "retry-after-ms": "730" }, waitMs: 730 },
    ],
    ["a page with 200", 200, html, gatewayPage],
    // B66
    [
      "a spent quota in an event",
      "stream",
      wrapped("insufficient_quota", "insufficient_quota"),
      quota,
      "insufficient_quota",
    ],
    ["a spent quota in a bare event", "stream", event("insufficient_quota"), quota, "insufficient_quota"],
    // B9
    ["a failed response", "stream", response("server_error"), serverError, "server_error"],
    [
      "a failed response whose wait stands in its text",
      "stream",
      response("rate_limit_exceeded", "Rate limit reached. Please try again in 7m12s."),
      rateLimited,
      { code: "rate_limit_exceeded", waitMs: 432_000 },
    ],
    ["a busy engine", "stream", response("server_is_overloaded"), overloaded, "server_is_overloaded"],
    ["a store that was slow", "stream", response("vector_store_timeout"), serverError, "vector_store_timeout"],
    ["a long prompt", "stream", response("context_length_exceeded"), tooLong, "context_length_exceeded"],
    ["an invalid prompt", "stream", response("invalid_prompt"), invalid, "invalid_prompt"],
    ["a flagged prompt", "stream", response("invalid_prompt", "Your prompt was flagged."), blocked, "invalid_prompt"],
    [
      "a blocked image",
      "stream",
      response("image_content_policy_violation"),
      blocked,
      "image_content_policy_violation",
    ],
    ["an image that is none", "stream", response("image_parse_error"), invalid, "image_parse_error"],
    ["a code of tomorrow", "stream", response("flux_capacitor_empty"), unknown],
    ["a failed response without an error", "stream", { type: "response.failed", response: { error: null } }, unknown],
  ],
};
