// Streams of the OpenAI chat family by the server that sends them: each shows one departure and what must come of it.
import { openAiEvent } from "../provider-bytes/openai-chat.ts";
import { sseComment, sseEvent } from "../provider-bytes/framing.ts";
import type { CorpusStream } from "./corpus-stream.ts";
import {
  called,
  complete,
  failed,
  openAiChoice as choice,
  openAiDone as done,
  openAiPieces as pieces,
  openAiStream as stream,
  openAiUsage as usage,
  time,
  truncated,
  weather,
} from "./openai-chat-pieces.ts";

const hi = choice({ content: "Hi" });
const stop = choice({}, "stop");
const city = '{"city":"北京"}';
const counts = (inputTokens: number, outputTokens: number, totalTokens: number) => ({
  inputTokens,
  outputTokens,
  totalTokens,
});
const error = (fields: Record<string, unknown>, choices?: readonly unknown[]): string =>
  openAiEvent({ error: { message: "scripted", ...fields }, ...(choices !== undefined && { choices }) });

const azure: readonly CorpusStream[] = [
  stream(
    "azure: the prompt's filter first, annotations without a delta, no [DONE]",
    [
      openAiEvent({
        id: "",
        model: "",
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
      }),
      choice({ content: "Hi" }, null),
      openAiEvent({
        choices: [{ index: 0, finish_reason: null, content_filter_results: {}, content_filter_offsets: {} }],
      }),
      stop,
      openAiEvent({ choices: [{ index: 0, content_filter_results: {}, content_filter_offsets: {} }] }),
    ],
    complete,
    { text: "Hi" },
  ),
  stream(
    "azure: the filter stops the answer",
    [
      hi,
      openAiEvent({
        choices: [
          {
            index: 0,
            delta: {},
            finish_reason: "content_filter",
            content_filter_results: { hate: { filtered: true } },
          },
        ],
      }),
      done,
    ],
    { verdict: "complete", stopReason: "content_filter" },
    { text: "Hi" },
  ),
];

const ollama: readonly CorpusStream[] = [
  stream(
    "ollama /v1: an empty finish_reason in every event",
    [choice({ content: "Hi" }, ""), choice({ content: "" }, "stop"), done],
    complete,
    { text: "Hi" },
  ),
  stream(
    "ollama /v1: parallel calls all at index 0 and without an id",
    [
      pieces({ index: 0, function: { name: "weather", arguments: city } }),
      pieces({ index: 0, function: { name: "time", arguments: '{"zone":"UTC"}' } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    {
      calls: [
        { ...weather, toolCallId: "call_0" },
        { ...time, toolCallId: "call_1" },
      ],
    },
  ),
];

const groq: readonly CorpusStream[] = [
  stream(
    "groq: x_groq with the id first and the usage last, parsed reasoning",
    [
      choice({ role: "assistant", content: "" }, null, { x_groq: { id: "req_1" } }),
      choice({ reasoning: "Hm", channel: "analysis" }),
      hi,
      choice({}, "stop", { x_groq: { id: "req_1", usage: { ...usage(3, 2, 5), queue_time: 0.1 } } }),
      done,
    ],
    complete,
    { text: "Hi", reasoning: "Hm", usage: counts(3, 2, 5) },
  ),
  stream(
    "groq: x_groq with an error",
    [hi, openAiEvent({ choices: [], x_groq: { id: "req_1", error: "scripted" } })],
    failed("unknown"),
    { text: "Hi" },
  ),
];

const openRouter: readonly CorpusStream[] = [
  stream(
    "openrouter: comments, both spellings of one reasoning, usage with a cost",
    [
      sseComment("OPENROUTER PROCESSING"),
      choice({ content: "", reasoning: "Hm", reasoning_details: [{ type: "reasoning.text", text: "Hm" }] }),
      hi,
      openAiEvent({
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop", native_finish_reason: "x" }],
      }),
      openAiEvent({ id: "gen-1", choices: [], usage: { ...usage(3, 2, 5), cost: 0.01 } }),
      done,
    ],
    complete,
    { text: "Hi", reasoning: "Hm", usage: counts(3, 2, 5) },
  ),
  stream(
    "openrouter: reasoning in its details alone",
    [
      choice({ reasoning_details: [{ type: "reasoning.summary", summary: "So " }] }),
      choice({
        reasoning_details: [
          { type: "reasoning.text", text: "it is", signature: null },
          { type: "reasoning.encrypted", data: "eA==" },
        ],
      }),
      choice({ content: "Hi" }, "stop"),
      done,
    ],
    complete,
    { text: "Hi", reasoning: "So it is" },
  ),
  stream(
    "openrouter: reasoning in parts before a call, signed after its text",
    [
      choice({ reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0, format: "f" }] }),
      choice({ reasoning_details: [{ type: "reasoning.text", text: "é", index: 0 }] }),
      choice({ reasoning_details: [{ type: "reasoning.text", signature: "c2ln", index: 0, id: null }] }),
      choice({ reasoning_details: [{ type: "reasoning.encrypted", data: "eA==", index: 1, id: "call_a" }] }),
      choice({
        tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: city } }],
      }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    {
      reasoning: "Hmé",
      calls: [
        {
          ...weather,
          echo: {
            reasoning_details: [
              { type: "reasoning.text", text: "Hmé", index: 0, format: "f", signature: "c2ln" },
              { type: "reasoning.encrypted", data: "eA==", index: 1, id: "call_a" },
            ],
          },
        },
      ],
    },
  ),
  stream(
    "openrouter: an error without a choice",
    [hi, error({ code: 502, metadata: { error_type: "provider_unavailable" } }, [])],
    failed("upstream_5xx"),
    { text: "Hi" },
  ),
  stream(
    "openrouter: an error that will come again, code 400, beside finish_reason error",
    [error({ code: 400 }, [{ index: 0, delta: { content: "" }, finish_reason: "error" }])],
    failed("invalid_request"),
  ),
  stream(
    "openrouter: a prompt that is too long, inside a 200",
    [error({ code: 400, message: "This endpoint's maximum context length is 10 tokens." }, [])],
    failed("context_length"),
  ),
];

const deepSeek: readonly CorpusStream[] = [
  stream(
    "deepseek: content and reasoning_content are null in turn, usage with the finish",
    [
      choice({ role: "assistant", content: null, reasoning_content: "" }, null),
      choice({ content: null, reasoning_content: "Hm" }, null),
      sseComment("keep-alive"),
      choice({ content: "Hi", reasoning_content: null }, null),
      choice({ content: "", reasoning_content: null }, "stop", {
        id: "d-1",
        usage: { ...usage(3, 2, 5), prompt_cache_hit_tokens: 2, prompt_cache_miss_tokens: 1 },
      }),
      done,
    ],
    complete,
    { text: "Hi", reasoning: "Hm", usage: { ...counts(3, 2, 5), cachedInputTokens: 2 } },
  ),
  stream(
    "deepseek: reasoning before a call",
    [
      choice({ role: "assistant", content: null, reasoning_content: "H" }, null),
      choice({ content: null, reasoning_content: "m" }, null),
      choice({ content: null, reasoning_content: "é" }, null),
      choice({
        tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: city } }],
      }),
      choice({ content: "" }, "tool_calls"),
      done,
    ],
    called,
    { reasoning: "Hmé", calls: [{ ...weather, echo: { reasoning_content: "Hmé" } }] },
  ),
  stream(
    "google: a call with content of its own",
    [
      choice({
        tool_calls: [
          {
            index: 0,
            id: "call_a",
            type: "function",
            function: { name: "weather", arguments: city },
            extra_content: { google: { thought_signature: "c2ln" } },
          },
        ],
      }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [{ ...weather, echo: { extra_content: { google: { thought_signature: "c2ln" } } } }] },
  ),
  stream(
    "deepseek: out of resources in the middle",
    [hi, choice({ content: "" }, "insufficient_system_resource"), done],
    failed("overloaded"),
    { text: "Hi" },
  ),
];

const xAi: readonly CorpusStream[] = [
  stream(
    "xai: absent keys, the role with the reasoning, a whole call, a total that is more than its parts",
    [
      openAiEvent({ choices: [{ index: 0, delta: { role: "assistant", reasoning_content: "Hm" } }] }),
      openAiEvent({
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                { id: "call_a", function: { name: "weather", arguments: city }, index: 0, type: "function" },
              ],
            },
          },
        ],
      }),
      openAiEvent({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }),
      openAiEvent({
        id: "x-1",
        choices: [],
        usage: { ...usage(291, 26, 513), completion_tokens_details: { reasoning_tokens: 196 } },
      }),
      done,
    ],
    called,
    {
      reasoning: "Hm",
      calls: [{ ...weather, echo: { reasoning_content: "Hm" } }],
      usage: { ...counts(291, 26, 513), reasoningTokens: 196 },
    },
  ),
];

const perplexity: readonly CorpusStream[] = [
  stream(
    "perplexity: cumulative usage, citations and the message so far in every event",
    [
      openAiEvent({
        citations: ["https://a.example"],
        usage: usage(3, 1, 4),
        choices: [{ index: 0, finish_reason: null, message: { content: "H" }, delta: { content: "H" } }],
      }),
      openAiEvent({
        citations: ["https://a.example"],
        usage: usage(3, 2, 5),
        choices: [{ index: 0, finish_reason: "stop", message: { content: "Hi" }, delta: { content: "i" } }],
      }),
    ],
    complete,
    { text: "Hi", usage: counts(3, 2, 5) },
  ),
  stream("perplexity: usage is no end", [choice({ content: "H" }, null, { usage: usage(3, 1, 4) })], truncated, {
    text: "H",
    usage: counts(3, 1, 4),
  }),
];

const vllm: readonly CorpusStream[] = [
  stream(
    "vllm: an error, then [DONE]",
    [hi, error({ object: "error", type: "InternalServerError", param: null, code: 500 }), done],
    failed("upstream_5xx", "InternalServerError"),
    { text: "Hi" },
  ),
  stream("vllm: abort, then [DONE]", [hi, choice({ content: "" }, "abort"), done], failed("upstream_5xx"), {
    text: "Hi",
  }),
  stream(
    "vllm: usage in every event, the last token with the finish",
    [
      choice({ role: "assistant", content: "" }, null, { usage: usage(3, 0, 3) }),
      choice({ content: "H" }, null, { usage: usage(3, 1, 4) }),
      choice({ content: "i" }, "stop", { usage: usage(3, 2, 5), stop_reason: null }),
      openAiEvent({ id: "v-1", choices: [], usage: usage(3, 2, 5) }),
      done,
    ],
    complete,
    { text: "Hi", usage: counts(3, 2, 5) },
  ),
  stream(
    "vllm: an empty content before a call",
    [
      choice({ role: "assistant", content: "" }),
      choice({ content: "" }),
      pieces({ index: 0, id: "call_a", type: "function", function: { name: "weather" } }),
      pieces({ index: 0, function: { arguments: city } }),
      choice({ content: "" }, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
];

const llamaCpp: readonly CorpusStream[] = [
  stream(
    "llama.cpp: progress of the prompt first, timings last",
    [
      choice({ role: "assistant", content: null }, null, { prompt_progress: { total: 9, cache: 0, processed: 4 } }),
      choice({ content: "Hi" }, null),
      choice({}, "stop", { timings: { prompt_n: 9, predicted_n: 1, predicted_per_second: 50.5 } }),
      done,
    ],
    complete,
    { text: "Hi" },
  ),
  stream(
    "llama.cpp: an error object",
    [hi, error({ code: 500, type: "server_error" })],
    failed("upstream_5xx", "server_error"),
    { text: "Hi" },
  ),
  stream(
    "llama.cpp, old: an error in a field of its own",
    [hi, 'error: {"code":503,"message":"Loading model","type":"unavailable_error"}\n\n'],
    failed("overloaded", "unavailable_error"),
    { text: "Hi" },
  ),
];

const lmStudio: readonly CorpusStream[] = [
  stream(
    "lm studio: an error event",
    [hi, sseEvent({ error: { message: "The model has crashed." } }, {}, "error")],
    failed("upstream_5xx"),
    { text: "Hi" },
  ),
];

const sglang: readonly CorpusStream[] = [
  stream(
    "sglang: pieces of a call without an index, arguments before the name",
    [
      pieces({ id: "call_a", type: "function", function: { arguments: '{"city"' } }),
      pieces({ function: { name: "weather", arguments: "" } }),
      pieces({ function: { arguments: ':"北京"}' } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
];

const dashScope: readonly CorpusStream[] = [
  stream(
    "dashscope: blank id and name in the continuations",
    [
      pieces({ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "" } }),
      pieces({ index: 0, id: "", type: "function", function: { name: "", arguments: '{"city"' } }),
      pieces({ index: 0, id: "", type: "function", function: { name: null, arguments: ':"北京"}' } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
];

const mistral: readonly CorpusStream[] = [
  stream(
    "mistral: thinking in arrays, then plain content",
    [
      choice({ role: "assistant", content: "" }, null),
      choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Let me" }] }] }, null),
      choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: " see" }], closed: true }] }, null),
      choice({ content: "4" }, null),
      choice({ content: "" }, "stop", { id: "m-1", usage: usage(3, 2, 5) }),
      done,
    ],
    complete,
    { text: "4", reasoning: "Let me see", usage: counts(3, 2, 5) },
  ),
  stream(
    "mistral: a whole call with the finish and the usage, without an index",
    [
      choice({ role: "assistant", content: "" }, null),
      choice(
        { content: "", tool_calls: [{ id: "D681PevKs", function: { name: "weather", arguments: city } }] },
        "tool_calls",
        { usage: usage(5, 9, 14) },
      ),
      done,
    ],
    called,
    { calls: [{ ...weather, toolCallId: "D681PevKs" }], usage: counts(5, 9, 14) },
  ),
  stream(
    "mistral, hosted: arguments in pieces under an empty name",
    [
      pieces({ id: "D681PevKs", function: { name: "weather", arguments: "" }, index: 0 }),
      pieces({ id: "D681PevKs", function: { name: "", arguments: '{"city":' }, index: 0 }),
      pieces({ id: "D681PevKs", function: { name: "", arguments: '"北京"}' }, index: 0 }),
      choice({ content: "" }, "tool_calls"),
      done,
    ],
    called,
    { calls: [{ ...weather, toolCallId: "D681PevKs" }] },
  ),
  stream(
    "mistral: the model's own limit",
    [hi, choice({ content: "" }, "model_length"), done],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "Hi" },
  ),
];

const gateways: readonly CorpusStream[] = [
  stream(
    "a gateway: null events, finish incomplete",
    ["data: null\n\n", hi, choice({}, "incomplete"), done],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "Hi" },
  ),
  stream(
    "a gateway: values glued into one event",
    [hi.trimEnd(), choice({ content: " }{ " }).slice("data: ".length), stop, done],
    complete,
    { text: "Hi }{ " },
  ),
  stream(
    "an old server: function_call",
    [
      choice({ role: "assistant", content: null, function_call: { name: "weather", arguments: "" } }),
      choice({ function_call: { arguments: city } }),
      choice({}, "function_call"),
      done,
    ],
    called,
    { calls: [{ ...weather, toolCallId: "call_0" }] },
  ),
  stream(
    "a gateway: the code says more than the type",
    [error({ type: "invalid_request_error", code: "request_timeout" })],
    failed("upstream_5xx", "request_timeout"),
  ),
  stream(
    "a gateway: an object that calls itself an error",
    [hi, openAiEvent({ object: "error", message: "scripted", type: "server_error", code: null }), done],
    failed("upstream_5xx", "server_error"),
    { text: "Hi" },
  ),
];

export const openAiFamilyStreams: readonly CorpusStream[] = [
  ...azure,
  ...ollama,
  ...groq,
  ...openRouter,
  ...deepSeek,
  ...xAi,
  ...perplexity,
  ...vllm,
  ...llamaCpp,
  ...lmStudio,
  ...sglang,
  ...dashScope,
  ...mistral,
  ...gateways,
];
