// Errors of Google Gemini.
import {
  auth,
  invalid,
  noModel,
  overloaded,
  permission,
  quota,
  rateLimited,
  serverError,
  tooLong,
  unknown,
  googleShape as shape,
  type ErrorTable,
} from "./error-row.ts";

const detail = (type: string, fields: Record<string, unknown>) => ({
  "@type": `type.googleapis.com/google.rpc.${type}`,
  ...fields,
});
const retryIn = (retryDelay: string) => detail("RetryInfo", { retryDelay });
const quotaFailure = (...violations: Record<string, string>[]) => detail("QuotaFailure", { violations });
const because = (reason: string) => detail("ErrorInfo", { reason, domain: "googleapis.com" });
const exhausted = "RESOURCE_EXHAUSTED";
const spentText = "You exceeded your current quota, please check your plan and billing details.";

export const geminiErrors: ErrorTable = {
  title: "Gemini",
  format: "gemini",
  rows: [
    [
      "a wrong key",
      400,
      shape(400, "INVALID_ARGUMENT", "API key not valid.", [because("API_KEY_INVALID")]),
      auth,
      "INVALID_ARGUMENT",
    ],
    ["a wrong key, by its text", 400, shape(400, "INVALID_ARGUMENT", "API key not valid."), auth, "INVALID_ARGUMENT"],
    [
      "a field called throttle",
      400,
      shape(400, "INVALID_ARGUMENT", `Unknown name "throttle" at 'tools[0].parameters': Cannot find field.`),
      invalid,
      "INVALID_ARGUMENT",
    ],
    [
      "a field called daily allocation",
      400,
      shape(400, "INVALID_ARGUMENT", "* tools[0].parameters.properties[daily allocation]: bad"),
      invalid,
      "INVALID_ARGUMENT",
    ],
    ["no key", 403, shape(403, "PERMISSION_DENIED"), permission, "PERMISSION_DENIED"],
    [
      "a service that is off",
      403,
      shape(403, "PERMISSION_DENIED", "m", [because("SERVICE_DISABLED")]),
      permission,
      "PERMISSION_DENIED",
    ],
    ["a token that ran out", 401, shape(401, "UNAUTHENTICATED"), auth, "UNAUTHENTICATED"],
    [
      "an unknown model",
      404,
      shape(404, "NOT_FOUND", "models/m is not found for API version v1beta"),
      noModel,
      "NOT_FOUND",
    ],
    ["a wrong field", 400, shape(400, "INVALID_ARGUMENT"), invalid, "INVALID_ARGUMENT"],
    [
      "a long prompt",
      400,
      shape(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
      tooLong,
      "INVALID_ARGUMENT",
    ],
    [
      "a place without the service",
      400,
      shape(400, "FAILED_PRECONDITION", "User location is not supported."),
      invalid,
      "FAILED_PRECONDITION",
    ],
    [
      "a rate of the minute with its delay",
      429,
      shape(429, exhausted, spentText, [
        quotaFailure({ quotaId: "GenerateContentInputTokensPerModelPerMinute-FreeTier", quotaValue: "250000" }),
        retryIn("34.4s"),
      ]),
      rateLimited,
      { code: exhausted, waitMs: 34_400 },
    ],
    [
      "a delay of nanoseconds",
      429,
      shape(429, exhausted, "m", [retryIn("34.074824224s")]),
      rateLimited,
      { code: exhausted, waitMs: 34_075 },
    ],
    [
      "a header beside the delay: the header",
      429,
      shape(429, exhausted, "m", [retryIn("34s")]),
      rateLimited,
      { code: exhausted, headers: { "retry-after": "2" }, waitMs: 2000 },
    ],
    ["a delay that is none", 429, shape(429, exhausted, "m", [retryIn("soon")]), rateLimited, exhausted],
    [
      "a day's allowance",
      429,
      shape(429, exhausted, spentText, [
        quotaFailure({ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", quotaValue: "50" }),
        retryIn("20s"),
      ]),
      quota,
      { code: exhausted, waitMs: 20_000 },
    ],
    [
      "a day's allowance, by its metric",
      429,
      shape(429, exhausted, "m", [
        quotaFailure({ quotaMetric: "generativelanguage.googleapis.com/requests_per_model_per_day" }),
      ]),
      quota,
      exhausted,
    ],
    [
      "the minute's and the day's allowance",
      429,
      shape(429, exhausted, spentText, [
        quotaFailure(
          { quotaId: "GenerateRequestsPerMinutePerProjectPerModel" },
          { quotaId: "GenerateRequestsPerDayPerProjectPerModel" },
        ),
      ]),
      quota,
      exhausted,
    ],
    [
      "a model without a free tier",
      429,
      shape(429, exhausted, "m", [
        quotaFailure({ quotaId: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", quotaValue: "0" }),
      ]),
      quota,
      exhausted,
    ],
    [
      "a rate without details",
      429,
      shape(429, exhausted, "Resource has been exhausted (e.g. check quota)."),
      rateLimited,
      exhausted,
    ],
    [
      "no capacity with 429",
      429,
      shape(429, exhausted, "m", [because("MODEL_CAPACITY_EXHAUSTED")]),
      overloaded,
      exhausted,
    ],
    [
      "no capacity with 503",
      503,
      shape(503, "UNAVAILABLE", "m", [because("MODEL_CAPACITY_EXHAUSTED")]),
      overloaded,
      "UNAVAILABLE",
    ],
    ["an overload", 503, shape(503, "UNAVAILABLE", "The model is overloaded."), overloaded, "UNAVAILABLE"],
    ["a failure of its own", 500, shape(500, "INTERNAL"), serverError, "INTERNAL"],
    ["a deadline", 504, shape(504, "DEADLINE_EXCEEDED"), serverError, "DEADLINE_EXCEEDED"],
    ["a call that was cancelled, not by us", 499, shape(499, "CANCELLED"), unknown, "CANCELLED"],
    [
      "a list, as the array mode answers",
      429,
      [shape(429, exhausted, "m", [retryIn("1.5s")])],
      rateLimited,
      { code: exhausted, waitMs: 1500 },
    ],
    // P16
    ["an overload in the stream", "stream", shape(503, "UNAVAILABLE"), overloaded, "UNAVAILABLE"],
    [
      "a rate in the stream with its delay",
      "stream",
      shape(429, exhausted, "m", [retryIn("7s")]),
      rateLimited,
      { code: exhausted, waitMs: 7000 },
    ],
    [
      "a day's allowance in the stream",
      "stream",
      shape(429, exhausted, "m", [quotaFailure({ quotaId: "GenerateRequestsPerDayPerProjectPerModel" })]),
      quota,
      exhausted,
    ],
    [
      "a status without a number in the stream",
      "stream",
      { error: { status: "UNAVAILABLE" } },
      overloaded,
      "UNAVAILABLE",
    ],
    ["a status of tomorrow in the stream", "stream", { error: { status: "FLUX", message: "scripted" } }, unknown],
  ],
};
