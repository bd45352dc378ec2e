// Streams of the OpenAI Chat Completions family, as its many servers send them: whole, broken and odd.
import { isRecord } from "../../../src/wire/json.ts";
import { openAiChat, openAiDelta, openAiErrorEvent, openAiEvent } from "../provider-bytes/openai-chat.ts";
import { sseComment, sseEvent } from "../provider-bytes/framing.ts";
import type { CorpusFormat, CorpusStream } from "./corpus-stream.ts";
import { openAiFamilyStreams } from "./openai-chat-family.ts";
import { openAiOddStreams } from "./openai-chat-odd.ts";
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
import { sseContractMetAt } from "./terminal-contract.ts";

const streams: readonly CorpusStream[] = [
  stream("text", openAiChat({ deltas: ["Hé", "llo, 世", "界 🎉"] }), complete, { text: "Héllo, 世界 🎉" }),
  stream("the shortest answer", [choice({ content: "é✓🎉" }), choice({}, "stop"), done], complete, { text: "é✓🎉" }),
  stream("no [DONE], a clean end", [choice({ content: "Hi" }), choice({}, "stop")], complete, { text: "Hi" }),
  stream("last event without a blank line", [choice({ content: "Hi" }), choice({}, "stop").trimEnd()], complete, {
    text: "Hi",
  }),
  stream("[DONE] without a line end", [choice({ content: "Hi" }, "stop"), "data: [DONE]"], complete, { text: "Hi" }),
  stream("usage after the finish", openAiChat({ deltas: ["Hi"], usage: usage(3, 1, 4) }), complete, {
    text: "Hi",
    usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
  }),
  stream(
    "usage on every event",
    [
      choice({ content: "a" }, null, { id: "chatcmpl-test0001", usage: usage(3, 1, 4) }),
      choice({ content: "b" }, "stop", { id: "chatcmpl-test0001", usage: usage(3, 2, 5) }),
      done,
    ],
    complete,
    { text: "ab", usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
  ),
  stream(
    "length",
    [choice({ content: "cut" }), choice({}, "length"), done],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "cut" },
  ),
  stream("reasoning_content before content", openAiChat({ reasoning: ["Hm", "m… "], deltas: ["Yes"] }), complete, {
    text: "Yes",
    reasoning: "Hmm… ",
  }),
  stream("reasoning", openAiChat({ reasoning: ["Hm"], reasoningField: "reasoning", deltas: ["Yes"] }), complete, {
    text: "Yes",
    reasoning: "Hm",
  }),
  stream(
    "content as an array of parts",
    [
      choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Let me see" }] }] }),
      choice({ content: [{ type: "text", text: "4" }] }, "stop"),
      done,
    ],
    complete,
    { text: "4", reasoning: "Let me see" },
  ),
  stream(
    "a refusal",
    openAiChat({ refusal: ["I can't ", "do that."] }),
    { verdict: "complete", stopReason: "content_filter" },
    { text: "I can't do that." },
  ),
  stream(
    "tool calls in pieces",
    openAiChat({
      toolCalls: [
        { id: "call_a", name: "weather", arguments: ['{"city":', '"北京"}'] },
        { id: "call_b", name: "time", arguments: ['{"zone":"UTC"}'] },
      ],
    }),
    called,
    { calls: [weather, time] },
  ),
  stream(
    "interleaved tool calls",
    [
      pieces({ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "" } }),
      pieces({ index: 1, id: "call_b", type: "function", function: { name: "time", arguments: '{"zone"' } }),
      pieces({ index: 0, function: { arguments: '{"city":"北' } }, { index: 1, function: { arguments: ':"UTC"}' } }),
      pieces({ index: 0, function: { arguments: '京"}' } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather, time] },
  ),
  stream(
    "blank id and name in continuations",
    [
      pieces({ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: '{"city"' } }),
      pieces({ index: 0, id: "", function: { name: " ", arguments: ':"北京"}' } }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "arguments before the name, no index",
    [
      pieces({ function: { arguments: '{"city":' } }),
      pieces({ id: "call_a", function: { name: "weather", arguments: '"北京"}' } }),
      choice({}, "stop"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "whole calls with the finish and the usage in one event",
    [
      choice(
        { tool_calls: [{ id: "call_a", function: { name: "weather", arguments: '{"city":"北京"}' } }] },
        "tool_calls",
        {
          usage: usage(5, 9, 14),
        },
      ),
      done,
    ],
    called,
    { calls: [weather], usage: { inputTokens: 5, outputTokens: 9, totalTokens: 14 } },
  ),
  stream(
    "empty choices first, and a choice without a delta",
    [
      openAiEvent({ id: "", model: "", choices: [], prompt_filter_results: [] }),
      choice({ content: "Hi" }),
      openAiEvent({ choices: [{ index: 0, content_filter_results: {}, content_filter_offsets: {} }] }),
      choice({}, "stop"),
    ],
    complete,
    { text: "Hi" },
  ),
  stream(
    "[DONE] inside the content",
    [choice({ content: "say [DONE]\n\ndata: [DONE]\n\n" }), choice({ content: " and go on" }, "stop"), done],
    complete,
    { text: "say [DONE]\n\ndata: [DONE]\n\n and go on" },
  ),
  stream(
    "comments, null events and unknown fields between",
    [
      sseComment("OPENROUTER PROCESSING"),
      "retry: 5\nid: 1\nfoo: bar\nbaz\n\n",
      "data: null\n\n",
      "data:\n\n",
      choice({ content: "Hi" }),
      sseComment("keep-alive"),
      choice({}, "stop"),
      done,
    ],
    complete,
    { text: "Hi" },
  ),
  stream(
    "an event over several data lines",
    ['data: {"choices":[{"delta":\ndata: {"content":"Hi"},\ndata: "finish_reason":"stop"}]}\n\n', done],
    complete,
    {
      text: "Hi",
    },
  ),
  stream(
    "a line separator is no line end",
    [choice({ content: "a\u2028b\u2029c\u0085d" }), choice({}, "stop"), done],
    complete,
    {
      text: "a\u2028b\u2029c\u0085d",
    },
  ),
  stream("a BOM later is text", [choice({ content: "\uFEFFa" }), choice({}, "stop"), done], complete, {
    text: "\uFEFFa",
  }),
  stream(
    "a whole answer in one event",
    [
      openAiEvent({ choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }),
      done,
    ],
    complete,
    {
      text: "Hi",
    },
  ),

  stream("nothing at all", [""], truncated),
  stream("[DONE] alone", [done], truncated),
  stream("text, then the end", [choice({ content: "Hi" })], truncated, { text: "Hi" }),
  stream("text, then [DONE] without a finish", [choice({ content: "Hi" }), done], truncated, { text: "Hi" }),
  stream("an empty finish_reason is none", [choice({ content: "Hi" }, ""), choice({}, ""), done], truncated, {
    text: "Hi",
  }),
  stream("half an event", [choice({ content: "Hi" }), 'data: {"choices":[{"delta":{"content":"th'], truncated, {
    text: "Hi",
  }),
  stream(
    "half of a tool call",
    [pieces({ index: 0, id: "call_a", function: { name: "weather", arguments: '{"city":"北' } })],
    truncated,
  ),
  stream(
    "an error first",
    [openAiErrorEvent("insufficient_quota", "insufficient_quota")],
    failed("quota", "insufficient_quota"),
  ),
  stream(
    "an error after text, then [DONE]",
    [choice({ content: "Hi" }), openAiErrorEvent("server_error", null), done],
    failed("upstream_5xx", "server_error"),
    {
      text: "Hi",
    },
  ),
  stream(
    "an error event",
    [choice({ content: "Hi" }), sseEvent({ message: "scripted", type: "overloaded_error" }, {}, "error")],
    failed("overloaded", "overloaded_error"),
    { text: "Hi" },
  ),
  stream(
    "an error beside a choice that says error",
    [
      choice({ content: "Hi" }),
      openAiEvent({
        error: { code: 502, message: "scripted" },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      }),
    ],
    failed("upstream_5xx"),
    { text: "Hi" },
  ),
  stream(
    "finish_reason abort, then [DONE]",
    [choice({ content: "Hi" }), openAiDelta({}, {}, "abort"), done],
    failed("upstream_5xx"),
    {
      text: "Hi",
    },
  ),
  stream(
    "an event that is not JSON",
    [choice({ content: "Hi" }), "data: {oops}\n\n", choice({}, "stop"), done],
    failed("malformed"),
    {
      text: "Hi",
    },
  ),
  stream(
    "a tool call whose input is no JSON",
    [
      pieces({ index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":' } }),
      choice({}, "tool_calls"),
      done,
    ],
    failed("malformed"),
  ),
];

export const openAiChatFormat: CorpusFormat = {
  format: "openai-chat",
  framing: "sse",
  streams: [...streams, ...openAiFamilyStreams, ...openAiOddStreams],
  contractMetAt: (stream) =>
    sseContractMetAt(stream, ({ choices }) => {
      const [choice]: unknown[] = Array.isArray(choices) ? choices : [];
      const finish = isRecord(choice) ? choice["finish_reason"] : undefined;
      return typeof finish === "string" && finish !== "";
    }),
};
