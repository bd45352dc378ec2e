// Errors of Workers AI: numbers, in the API's list of errors, in the binding's messages and in streams.
import {
  auth,
  invalid,
  noModel,
  overloaded,
  permission,
  quota,
  serverError,
  timedOut,
  tooLong,
  unknown,
  type ErrorTable,
} from "./error-row.ts";

const listed = (code: number, message = "scripted") => ({ success: false, result: null, errors: [{ code, message }] });

export const workersAiErrors: ErrorTable = {
  title: "Workers AI",
  format: "workers-ai",
  rows: [
    ["a wrong token", 401, listed(10_000, "Authentication error"), auth],
    ["a model that is not there", 400, listed(5007, "No such model m or task"), noModel],
    ["a name that is none", 404, listed(3042), noModel],
    ["a request without a part", 400, listed(3003), invalid],
    ["a request that is too large", 413, listed(3006), tooLong],
    ["a long prompt", 413, listed(8007, "exceeded this model context window limit"), tooLong],
    ["a timeout", 408, listed(3007), timedOut],
    ["the day's neurons", 429, listed(3036, "You have used up your daily free allocation of 10,000 neurons."), quota],
    ["no capacity", 429, listed(3040), overloaded],
    ["an account without the model", 403, listed(5018), permission],
    ["a model whose terms nobody accepted", 403, listed(5016), permission],
    ["a failure of its own", 500, listed(5000), serverError],
    ["no capacity with 200", 200, listed(3040), overloaded],
    ["no capacity in the stream", "stream", listed(3040), overloaded],
    ["the day's neurons in the stream", "stream", listed(3036), quota],
    ["no capacity in the binding's words", "stream", { error: "InferenceUpstreamError: 3040: Capacity" }, overloaded],
    ["a number of tomorrow in the stream", "stream", listed(9999), unknown],
  ],
};
