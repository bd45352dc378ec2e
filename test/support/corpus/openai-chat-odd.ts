// Streams of gateways that depart from OpenAI's chat format in its shapes: what they say is shown, once, or fails as what it is.
import { openAiEvent } from "../provider-bytes/openai-chat.ts";
import { sseEvent } from "../provider-bytes/framing.ts";
import type { CorpusStream, ExpectedEnd } from "./corpus-stream.ts";
import {
  called,
  complete,
  failed,
  openAiChoice as choice,
  openAiDone as done,
  openAiStream as stream,
  openAiUsage as usage,
  truncated,
  weather,
} from "./openai-chat-pieces.ts";

const hi = choice({ content: "Hi" });
const stop = choice({}, "stop");
const city = '{"city":"北京"}';
const bad = "invalid_request_error";
/** A choice with these fields beside its index. */
const bare = (fields: Record<string, unknown>, more: Record<string, unknown> = {}): string =>
  openAiEvent({ choices: [{ index: 0, ...fields }], ...more });
const said = (content: unknown, finish_reason?: string, more?: Record<string, unknown>): string =>
  bare({ message: { content }, ...(finish_reason !== undefined && { finish_reason }) }, more);
const length: ExpectedEnd = { verdict: "complete", stopReason: "length" };

const whole: readonly CorpusStream[] = [
  stream(
    "a gateway: the whole answer twice, the second time with the usage",
    [said("Hello", "stop"), said("Hello", "stop", { usage: usage(3, 1, 4) }), done],
    complete,
    { text: "Hello", usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } },
  ),
  stream("a gateway: messages that grow", [said("Hel"), said("Hello"), said("Hello!", "stop"), done], complete, {
    text: "Hello!",
  }),
  stream(
    "a gateway: messages with reasoning and a call that come again",
    [
      bare({ message: { reasoning_content: "H", content: "" } }),
      bare({
        message: {
          reasoning_content: "Hm",
          content: "So: ",
          tool_calls: [{ id: "call_a", function: { name: "weather", arguments: city } }],
        },
      }),
      bare({
        message: {
          reasoning_content: "Hm",
          content: "So: ",
          tool_calls: [{ id: "call_a", function: { name: "weather", arguments: city } }],
        },
        finish_reason: "tool_calls",
      }),
      done,
    ],
    called,
    { text: "So: ", reasoning: "Hm", calls: [{ ...weather, echo: { reasoning_content: "Hm" } }] },
  ),
  stream(
    "a gateway: a refusal as a message, twice",
    [
      bare({ message: { content: null, refusal: "No." }, finish_reason: "stop" }),
      bare({ message: { content: null, refusal: "No." }, finish_reason: "stop" }),
      done,
    ],
    { verdict: "complete", stopReason: "content_filter" },
    { text: "No." },
  ),
];

const shapes: readonly CorpusStream[] = [
  stream(
    "a gateway: events as lists",
    [sseEvent([{ choices: [{ delta: { content: "Hi" } }] }]), stop, done],
    complete,
    {
      text: "Hi",
    },
  ),
  stream(
    "a gateway: the whole answer as one list",
    [
      sseEvent([{ choices: [{ delta: { content: "Hi" } }] }, { choices: [{ delta: {}, finish_reason: "stop" }] }]),
      done,
    ],
    complete,
    { text: "Hi" },
  ),
  stream("a gateway: a delta that is its text", [choice("H"), choice("i"), stop, done], complete, { text: "Hi" }),
  stream(
    "a gateway: content that is a number",
    [choice({ content: "In " }), choice({ content: 2026 }), stop, done],
    complete,
    {
      text: "In 2026",
    },
  ),
  stream("a gateway: content that is an object", [choice({ content: { name: "India" } }), stop, done], complete, {
    text: '{"name":"India"}',
  }),
  stream(
    "a gateway: content that is one part",
    [choice({ content: { type: "text", text: "Hi" } }), stop, done],
    complete,
    {
      text: "Hi",
    },
  ),
  stream(
    "a gateway: tool_calls that are one call",
    [
      choice({ tool_calls: { id: "call_a", function: { name: "weather", arguments: city } } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "a gateway: a call in both fields",
    [
      choice({
        tool_calls: [{ index: 0, id: "call_a", function: { name: "weather", arguments: "" } }],
        function_call: { name: "weather", arguments: "" },
      }),
      choice({ tool_calls: [{ index: 0, function: { arguments: city } }], function_call: { arguments: city } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream("a gateway: [DONE] glued to the last event", [hi, stop.trimEnd(), "[DONE]\n\n"], complete, { text: "Hi" }),
  stream(
    "a gateway: a narrower report of usage, later",
    [
      hi,
      choice({}, "stop", { usage: usage(3, 4, 7) }),
      openAiEvent({ choices: [], usage: { prompt_tokens: 3 } }),
      done,
    ],
    complete,
    { text: "Hi", usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
  ),
  stream(
    "moonshot: usage inside the choice",
    [hi, bare({ delta: {}, finish_reason: "length", usage: usage(3, 1, 4) }), done],
    length,
    { text: "Hi", usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } },
  ),
];

const failures: readonly CorpusStream[] = [
  stream(
    "a gateway: an error in the choice, with a finish_reason",
    [hi, bare({ delta: {}, error: { code: 429, message: "scripted" }, finish_reason: "error" }), done],
    failed("rate_limited"),
    { text: "Hi" },
  ),
  stream(
    "a gateway: an error in the choice alone",
    [hi, bare({ delta: {}, error: { code: 400, type: bad, message: "scripted" } })],
    failed("invalid_request", bad),
    { text: "Hi" },
  ),
  stream(
    "a gateway: an error that is not called one",
    [hi, openAiEvent({ code: 400, message: "scripted", type: bad })],
    failed("invalid_request", bad),
    { text: "Hi" },
  ),
  stream(
    "a gateway: a status and a text",
    [openAiEvent({ statusCode: 429, message: "scripted" })],
    failed("rate_limited"),
  ),
  stream("a gateway: a detail", [hi, openAiEvent({ detail: "Model overloaded" }), done], failed("overloaded"), {
    text: "Hi",
  }),
  stream("a gateway: an error that is a number", [hi, openAiEvent({ error: 503 }), done], failed("overloaded"), {
    text: "Hi",
  }),
  stream("a gateway: a note with a text and no code", [openAiEvent({ message: "queued", code: 0 }), hi], truncated, {
    text: "Hi",
  }),
  stream("a gateway: the whole answer as a message that never ends", [said("Hel"), said("Hello"), done], truncated, {
    text: "Hello",
  }),
];

export const openAiOddStreams: readonly CorpusStream[] = [...whole, ...shapes, ...failures];
