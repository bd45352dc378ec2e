// Errors of Cohere: a text in a bare object.
import {
  auth,
  blocked,
  invalid,
  noModel,
  overloaded,
  quota,
  rateLimited,
  serverError,
  tooLong,
  unknown,
  type ErrorTable,
} from "./error-row.ts";

const said = (message: string) => ({ id: "x", message });

export const cohereErrors: ErrorTable = {
  title: "Cohere",
  format: "cohere",
  rows: [
    ["a wrong key", 401, said("invalid api token"), auth],
    ["no key", 401, said("no api key supplied"), auth],
    ["a missing field", 400, said("invalid request: message must be at least 1 token long"), invalid],
    [
      "a long prompt",
      400,
      said("too many tokens: total number of tokens in the prompt cannot exceed 8 - received 9."),
      tooLong,
    ],
    ["billing", 402, said("Please add or update your payment method"), quota],
    ["an unknown model", 404, said("model 'm' not found"), noModel],
    ["a retired model", 404, said("model 'm' was removed"), noModel],
    ["a wrong value", 422, said("invalid type: parameter tools is of type string"), invalid],
    [
      "a trial key's rate",
      429,
      said("You are using a Trial key, which is limited to 10 API calls / minute."),
      rateLimited,
    ],
    ["a rate of tokens", 429, said("trial token rate limit exceeded, limit is 9 tokens per minute"), rateLimited],
    ["a deny-listed token", 498, said("the request contains a deny-listed token"), blocked],
    ["a call that was cancelled, not by us", 499, said("request cancelled"), unknown],
    ["a failure of its own", 500, said("internal server error"), serverError],
    ["a feature it lacks", 501, said("not implemented"), unknown],
    ["busy", 503, said("scripted"), overloaded],
    ["an error in the stream's end", "stream", { type: "message-end", delta: { finish_reason: "ERROR" } }, serverError],
    [
      "a generation that took too long",
      "stream",
      { type: "message-end", delta: { finish_reason: "TIMEOUT" } },
      serverError,
    ],
    [
      "a long prompt, in the stream's end",
      "stream",
      { type: "message-end", delta: { finish_reason: "ERROR", error: "too many tokens: 9 > 8" } },
      tooLong,
    ],
    ["a gateway's timeout", 504, said("scripted"), serverError],
  ],
};
