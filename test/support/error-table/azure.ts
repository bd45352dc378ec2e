// Errors of Azure OpenAI.
import {
  auth,
  blocked,
  noModel,
  overloaded,
  permission,
  rateLimited,
  serverError,
  timedOut,
  openAiShape as shape,
  type ErrorTable,
} from "./error-row.ts";

export const azureErrors: ErrorTable = {
  title: "Azure OpenAI",
  format: "openai-chat",
  rows: [
    ["a wrong key", 401, { error: { code: "401", message: "Access denied due to invalid subscription key." } }, auth],
    ["an unknown deployment", 404, { error: { code: "DeploymentNotFound" } }, noModel, "DeploymentNotFound"],
    ["an unknown path", 404, { error: { code: "404", message: "Resource not found" } }, noModel],
    [
      "a blocked prompt",
      400,
      {
        error: {
          code: "content_filter",
          message: "scripted",
          type: null,
          param: "prompt",
          status: 400,
          innererror: {
            code: "ResponsibleAIPolicyViolation",
            content_filter_result: { jailbreak: { filtered: true } },
          },
        },
      },
      blocked,
      "content_filter",
    ],
    [
      "a blocked prompt, by the inner code",
      400,
      { error: { code: "400", innererror: { code: "ResponsibleAIPolicyViolation" } } },
      blocked,
    ],
    [
      "a blocked prompt, through LiteLLM",
      400,
      shape(null, "400", "ContentPolicyViolationError: the prompt triggered Azure OpenAI's content management policy"),
      blocked,
    ],
    [
      "a rate whose wait stands in the text",
      429,
      { error: { code: "429", message: "Please retry after 34 seconds." } },
      rateLimited,
      { waitMs: 34_000 },
    ],
    [
      "a rate with its wait in headers",
      429,
      { error: { code: "RateLimitReached" } },
      rateLimited,
      { headers: { "retry-after-ms": "1234", "retry-after": "2" }, waitMs: 1234 },
    ],
    ["high demand", 429, { error: { code: "429", message: "The system is experiencing high demand." } }, overloaded],
    ["a closed network", 403, { error: { code: "403", message: "Public access is disabled." } }, permission],
    ["a timeout", 408, { error: { code: "Timeout", message: "The operation was timeout." } }, timedOut, "Timeout"],
    ["a failure of its own", 500, { error: { code: "InternalServerError" } }, serverError, "InternalServerError"],
    ["no capacity", 503, { error: { code: "ServiceUnavailable" } }, overloaded],
  ],
};
