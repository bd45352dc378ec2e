// Errors of Ollama: texts without any word for the cause.
import {
  auth,
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
  type ErrorTable,
} from "./error-row.ts";

const said = (error: string) => ({ error });

export const ollamaErrors: ErrorTable = {
  title: "Ollama",
  format: "ollama",
  rows: [
    ["an unknown model", 404, said("model 'm' not found"), noModel],
    ["no model", 400, said("model is required"), invalid],
    ["tools that it does not take", 400, said("m does not support tools"), invalid],
    ["a long prompt", 400, said("the input length exceeds the context length"), tooLong],
    ["a wrong key of its cloud", 401, said("unauthorized"), auth],
    ["no access", 403, "", permission],
    ["a limit of its cloud", 429, said("you have reached your hourly usage limit"), rateLimited],
    ["a plan of its cloud", 402, said("this model requires a subscription"), quota],
    ["a broken runner", 500, said("model runner has unexpectedly stopped"), serverError],
    ["too little memory", 500, said("model requires more system memory (9 GiB) than is available"), serverError],
    [
      "a failure in the middle",
      500,
      said("an error was encountered while running the model: unexpected EOF"),
      serverError,
    ],
    ["a long prompt with 500", 500, said("prompt too large: exceeds maximum context length"), tooLong],
    ["busy", 503, said("server busy, please try again. maximum pending requests exceeded"), overloaded],
    ["a page with 200", 200, html, gatewayPage],
    ["a page with 502", 502, html, serverError],
    ["an error object with 200", 200, said("model runner has unexpectedly stopped"), serverError],
    ["an empty body with 200", 200, "", truncated],
    [
      "a broken runner in the stream",
      "stream",
      said("llama runner process has terminated: exit status 2"),
      serverError,
    ],
    ["an end in the stream", "stream", said("unexpected EOF"), serverError],
    ["an unknown model in the stream", "stream", said("model 'm' not found, try pulling it first"), noModel],
    ["a long prompt in the stream", "stream", said("the input length exceeds the context length"), tooLong],
    ["busy in the stream", "stream", said("server busy, please try again"), overloaded],
    ["anything else in the stream", "stream", said("scripted"), unknown],
  ],
};
