// The official `openai` package reads the corpus of Chat Completions: a second opinion on every stream.
import OpenAI from "openai";
import { openAiChatFormat } from "../../support/corpus/openai-chat.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../../support/provider-bytes/openai-chat.ts";
import { parseJson } from "../../../src/wire/json.ts";
import { openAiOddDisagreements } from "./openai-chat-odd.ts";
import { compareWithOracle, countsOf, type OracleReading } from "./oracle.ts";

const fault = { end: "error" } as const;

compareWithOracle(openAiChatFormat, OPENAI_STREAM_TYPE, "/chat/completions", {
  name: "npm openai",
  compares: ["end", "text", "calls", "stopReason", "usage"],
  // Its accumulator refuses a message without a role, which some servers, and the corpus's short events, leave out.
  opening: openAiDelta({ role: "assistant" }),
  read,
  disagreements: {
    "content as an array of parts": {
      sdk: { text: "[object Object][object Object]" },
      because: "content is a string in OpenAI's own format, and the SDK appends whatever it is",
    },
    "a refusal": {
      sdk: { stopReason: "stop" },
      because: "the finish_reason is stop; that we call a refusal by its name is our reading",
    },
    "blank id and name in continuations": {
      sdk: { calls: [{ id: "call_a", name: " ", input: { city: "北京" } }] },
      because: "the SDK takes any name that is not empty; to us a blank one is none",
    },
    "arguments before the name, no index": {
      sdk: { ...fault, stopReason: undefined, calls: [] },
      because: "the SDK wants an index in every piece of a tool call",
    },
    "whole calls with the finish and the usage in one event": {
      sdk: { ...fault, stopReason: undefined, calls: [], usage: undefined },
      because: "the SDK wants an index in every piece of a tool call",
    },
    "comments, null events and unknown fields between": {
      sdk: { ...fault, text: "", stopReason: undefined },
      because: "the SDK takes the choices of an event that is null",
    },
    "an event over several data lines": {
      sdk: { ...fault, text: "", stopReason: undefined },
      because: "the SDK reads the lines well, but wants an index in every choice",
    },
    "half an event": {
      sdk: fault,
      because: "the SDK parses what is left at the end as if it were whole; to us it is a cut",
    },
    "finish_reason abort, then [DONE]": {
      sdk: { end: "complete", stopReason: "abort" },
      because: "the SDK hands on any finish_reason; abort is a failure by the servers that send it",
    },
    "a tool call whose input is no JSON": {
      sdk: {
        end: "complete",
        stopReason: "tool_calls",
        calls: [{ id: "call_a", name: "weather", input: '{"city":' }],
      },
      because: "the SDK hands the input on as text; parsing it is its caller's business",
    },
    "ollama /v1: parallel calls all at index 0 and without an id": {
      sdk: { ...fault, stopReason: undefined, calls: [] },
      because: "the SDK wants an id, and takes one index for one call",
    },
    "groq: x_groq with the id first and the usage last, parsed reasoning": {
      sdk: { usage: undefined },
      because: "x_groq is Groq's own field",
    },
    "groq: x_groq with an error": {
      sdk: { end: "incomplete" },
      because: "x_groq is Groq's own field; the SDK sees a body that just ends",
    },
    "deepseek: out of resources in the middle": {
      sdk: { end: "complete", stopReason: "insufficient_system_resource" },
      because: "the SDK hands on any finish_reason; DeepSeek documents this one as a failure",
    },
    "perplexity: cumulative usage, citations and the message so far in every event": {
      sdk: { ...fault, text: "", stopReason: undefined, usage: undefined },
      because: "the SDK lets the message beside a delta replace its own, which then lacks a role",
    },
    "vllm: abort, then [DONE]": {
      sdk: { end: "complete", stopReason: "abort" },
      because: "the SDK hands on any finish_reason; abort is a failure by the servers that send it",
    },
    "llama.cpp, old: an error in a field of its own": {
      sdk: { end: "incomplete" },
      because: "the field is none of the format's; the SDK passes it over",
    },
    "sglang: pieces of a call without an index, arguments before the name": {
      sdk: { ...fault, stopReason: undefined, calls: [] },
      because: "the SDK wants an index in every piece of a tool call",
    },
    "mistral: thinking in arrays, then plain content": {
      sdk: { text: "[object Object][object Object]4" },
      because: "content is a string in OpenAI's own format, and the SDK appends whatever it is",
    },
    "mistral: a whole call with the finish and the usage, without an index": {
      sdk: { ...fault, stopReason: undefined, calls: [], usage: undefined },
      because: "the SDK wants an index in every piece of a tool call",
    },
    "mistral, hosted: arguments in pieces under an empty name": {
      sdk: { ...fault, stopReason: undefined, calls: [] },
      because: "the SDK wants a type in a tool call",
    },
    "mistral: the model's own limit": {
      sdk: { stopReason: "model_length" },
      because: "the SDK hands on any finish_reason; this one is Mistral's word for length",
    },
    "a gateway: null events, finish incomplete": {
      sdk: { ...fault, text: "", stopReason: undefined },
      because: "the SDK takes the choices of an event that is null",
    },
    "a gateway: values glued into one event": {
      sdk: { ...fault, text: "", stopReason: undefined },
      because: "the SDK wants one JSON value in an event",
    },
    "deepseek: content and reasoning_content are null in turn, usage with the finish": {
      sdk: { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
      because: "prompt_cache_hit_tokens is DeepSeek's own field",
    },
    "moonshot: usage inside the choice": {
      sdk: { usage: undefined },
      because: "usage inside a choice is none of the format's",
    },
    ...openAiOddDisagreements,
    "an old server: function_call": {
      sdk: { stopReason: "function_call", calls: [] },
      because: "the SDK keeps function_call apart from tool_calls",
    },
  },
});

async function read(baseURL: string): Promise<OracleReading> {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, logLevel: "off" });
  const stream = client.chat.completions.stream({ model: "test-model", messages: [{ role: "user", content: "Hi" }] });
  let text = "";
  stream.on("content.delta", ({ delta }) => (text += delta));
  stream.on("refusal.delta", ({ delta }) => (text += delta));
  try {
    const { choices, usage } = await stream.finalChatCompletion();
    const [choice] = choices;
    return {
      end: "complete",
      text: (choice?.message.content ?? "") + (choice?.message.refusal ?? ""),
      calls: (choice?.message.tool_calls ?? []).map((call) => {
        const { name, text } =
          call.type === "function"
            ? { name: call.function.name, text: call.function.arguments }
            : { name: call.custom.name, text: call.custom.input };
        return { id: call.id, name, input: parseJson(text)?.value ?? text };
      }),
      stopReason: choice?.finish_reason,
      usage: countsOf({
        inputTokens: usage?.prompt_tokens,
        outputTokens: usage?.completion_tokens,
        totalTokens: usage?.total_tokens,
        reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens,
      }),
    };
  } catch (error) {
    // The message is all that tells a missing end from other faults.
    const missing = error instanceof Error && /missing finish_reason|without sending any/.test(error.message);
    return { end: missing ? "incomplete" : "error", text, calls: [] };
  }
}
