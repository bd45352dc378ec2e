// Streams of the OpenAI Responses format, as it and its compatible servers send them: whole, broken and odd.
import { sseEvent } from "../provider-bytes/framing.ts";
import { openAiResponses, responsesErrorEvent, responsesFailed } from "../provider-bytes/openai-responses.ts";
import type { CorpusFormat, CorpusStream, ExpectedCall, ExpectedEnd } from "./corpus-stream.ts";
import { sseContractMetAt } from "./terminal-contract.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;
type Fields = Record<string, unknown>;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "openai-responses",
  wire: wire.join(""),
  end,
  ...expected,
});

/** A short event: no event line, and `response.` left out of its type. */
export const responsesBare = (type: string, fields: Fields = {}): string =>
  sseEvent({ type: `response.${type}`, ...fields });
export const responsesText = (delta: unknown, index = 0, fields: Fields = {}): string =>
  responsesBare("output_text.delta", { output_index: index, delta, ...fields });
/** A function call's first and last event. */
export const responsesCall = (verb: "added" | "done", index: number, item: Fields): string =>
  responsesBare(`output_item.${verb}`, { output_index: index, item: { type: "function_call", ...item } });
export const responsesInput = (index: number, delta: string, fields: Fields = {}): string =>
  responsesBare("function_call_arguments.delta", { output_index: index, delta, ...fields });
export const responsesEnd = (response: Fields = {}): string => responsesBare("completed", { response });

const bare = responsesBare;
const text = responsesText;
const call = responsesCall;
const input = responsesInput;
const end = responsesEnd;

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const truncated: ExpectedEnd = { verdict: "truncated" };

const weather: ExpectedCall = { toolCallId: "call_a", toolName: "weather", input: { city: "北京" } };
const time: ExpectedCall = { toolCallId: "call_b", toolName: "time", input: { zone: "UTC" } };
const named = ({ toolCallId, toolName }: ExpectedCall): Fields => ({ call_id: toolCallId, name: toolName });
const usage = { input_tokens: 9, output_tokens: 5, total_tokens: 14 };
const counted = { inputTokens: 9, outputTokens: 5, totalTokens: 14 };

const streams: readonly CorpusStream[] = [
  stream(
    "two parts, one of them stated, and a call that only the response lists",
    [
      responsesText("ab", 0, { content_index: 0 }),
      responsesText("cd", 0, { content_index: 1 }),
      responsesBare("output_text.done", { output_index: 0, content_index: 1, text: "cd" }),
      responsesCall("done", 1, { ...named(weather), arguments: JSON.stringify(weather.input) }),
      responsesEnd({
        output: [weather, time].map((one) => ({
          type: "function_call",
          ...named(one),
          arguments: JSON.stringify(one.input),
        })),
      }),
    ],
    called,
    { text: "abcd", calls: [weather, time] },
  ),
  stream("text", openAiResponses({ deltas: ["Hé", "llo, 世", "界 🎉"], usage }), complete, {
    text: "Héllo, 世界 🎉",
    usage: counted,
  }),
  stream(
    "sealed reasoning before a text and between calls",
    openAiResponses({
      items: [
        { type: "reasoning", summary: ["H", "m"], sealed: "eA==" },
        { type: "message", deltas: ["Sé."] },
        { type: "function_call", callId: "call_a", name: "weather", arguments: ['{"city":', '"北京"}'] },
        { type: "reasoning", sealed: "eQ==" },
        { type: "function_call", callId: "call_b", name: "time", arguments: ['{"zone":"UTC"}'] },
      ],
    }),
    called,
    {
      text: "Sé.",
      reasoning: "Hm",
      calls: [
        {
          ...weather,
          echo: {
            thoughts: [
              {
                text: 0,
                calls: 0,
                block: {
                  type: "reasoning",
                  summary: [{ type: "summary_text", text: "Hm" }],
                  encrypted_content: "eA==",
                },
              },
              { text: 3, calls: 1, block: { type: "reasoning", summary: [], encrypted_content: "eQ==" } },
            ],
          },
        },
        time,
      ],
    },
  ),
  stream(
    "sealed reasoning that the response does not list",
    [
      bare("output_item.done", {
        output_index: 0,
        item: { type: "reasoning", summary: [], encrypted_content: "eA==" },
      }),
      call("done", 1, { ...named(weather), arguments: JSON.stringify(weather.input) }),
      end({ output: [] }),
    ],
    called,
    {
      calls: [
        {
          ...weather,
          echo: {
            thoughts: [{ text: 0, calls: 0, block: { type: "reasoning", summary: [], encrypted_content: "eA==" } }],
          },
        },
      ],
    },
  ),
  stream("the shortest answer", [text("é✓🎉"), end()], complete, { text: "é✓🎉" }),
  stream(
    "reasoning at index 0, then a call",
    [
      bare("output_item.added", { output_index: 0, item: { type: "reasoning", summary: [] } }),
      bare("reasoning_summary_text.delta", { output_index: 0, summary_index: 0, delta: "Hm" }),
      bare("reasoning_summary_text.delta", { output_index: 0, summary_index: 0, delta: "m" }),
      bare("output_item.done", { output_index: 0, item: { type: "reasoning", summary: [{ text: "Hmm" }] } }),
      call("added", 1, { ...named(weather), arguments: "" }),
      input(1, '{"city":'),
      input(1, '"北京"}'),
      end(),
    ],
    called,
    { reasoning: "Hmm", calls: [weather] },
  ),
  stream(
    "interleaved calls whose item ids rotate",
    [
      call("added", 1, { id: "x1", ...named(weather), arguments: "" }),
      call("added", 2, { id: "x2", ...named(time), arguments: "" }),
      input(1, '{"city":', { item_id: "x3" }),
      input(2, '{"zone":"U', { item_id: "x4" }),
      input(1, '"北京"}', { item_id: "x5" }),
      input(2, 'TC"}', { item_id: "x6" }),
      call("done", 2, { id: "x7", ...named(time), arguments: '{"zone":"UTC"}' }),
      call("done", 1, { id: "x8", ...named(weather), arguments: '{"city":"北京"}' }),
      end({ usage: { ...usage, output_tokens_details: { reasoning_tokens: 2 } } }),
    ],
    called,
    { calls: [weather, time], usage: { ...counted, reasoningTokens: 2 } },
  ),
  stream(
    "arguments only in their done event",
    [
      call("added", 0, { ...named(weather), arguments: "" }),
      bare("function_call_arguments.done", { output_index: 0, arguments: '{"city":"北京"}' }),
      end(),
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "calls only as finished items, all at one index",
    [
      call("done", 0, { ...named(weather), arguments: '{"city":"北京"}' }),
      call("done", 0, { ...named(time), arguments: '{"zone":"UTC"}' }),
      end(),
    ],
    called,
    { calls: [weather, time] },
  ),
  stream(
    "a custom tool",
    [
      bare("output_item.added", { output_index: 0, item: { type: "custom_tool_call", ...named(time), input: "" } }),
      bare("custom_tool_call_input.delta", { output_index: 0, delta: '{"zone":' }),
      bare("custom_tool_call_input.done", { output_index: 0, input: '{"zone":"UTC"}' }),
      end(),
    ],
    called,
    { calls: [time] },
  ),
  stream("text only in its done event", [bare("output_text.done", { output_index: 0, text: "Hi" }), end()], complete, {
    text: "Hi",
  }),
  stream(
    "two messages with reasoning between them",
    [
      text("Let me see. "),
      bare("reasoning_text.delta", { output_index: 1, delta: "So" }),
      bare("reasoning_summary_text.delta", { output_index: 2, summary_index: 0, delta: "One" }),
      bare("reasoning_summary_text.delta", { output_index: 2, summary_index: 1, delta: "Two" }),
      text("Yes", 3),
      end(),
    ],
    complete,
    { text: "Let me see. Yes", reasoning: "So\n\nOne\n\nTwo" },
  ),
  stream(
    "a hosted tool, unknown types, keepalives and [DONE]",
    [
      bare("queued", { response: { status: "queued" } }),
      bare("output_item.added", { output_index: 0, item: { type: "web_search_call", status: "in_progress" } }),
      bare("web_search_call.searching", { output_index: 0 }),
      sseEvent({ type: "keepalive" }),
      "data: null\n\n",
      bare("mcp_call_arguments.delta", { output_index: 1, delta: '{"no":' }),
      text("Hi", 2),
      bare("output_text.annotation.added", { output_index: 2, annotation: { title: "no" } }),
      "data: [DONE]\n\n",
      end(),
      "data: [DONE]\n\n",
    ],
    complete,
    { text: "Hi" },
  ),
  stream(
    "a refusal",
    [
      bare("refusal.delta", { output_index: 0, delta: "I can't " }),
      bare("refusal.delta", { output_index: 0, delta: "do that." }),
      end(),
    ],
    { verdict: "complete", stopReason: "content_filter" },
    { text: "I can't do that." },
  ),
  stream(
    "incomplete for its length, with usage",
    [text("cut"), bare("incomplete", { response: { incomplete_details: { reason: "max_output_tokens" }, usage } })],
    { verdict: "complete", stopReason: "length" },
    { text: "cut", usage: counted },
  ),
  stream(
    "incomplete for its content",
    [text("cut"), bare("incomplete", { response: { incomplete_details: { reason: "content_filter" } } })],
    { verdict: "complete", stopReason: "content_filter" },
    { text: "cut" },
  ),
  stream("the last event without a blank line", [text("Hi"), end().trimEnd()], complete, { text: "Hi" }),

  stream("nothing at all", [""], truncated),
  stream("created, then the end", openAiResponses({ end: null }), truncated),
  stream(
    "text, its done and [DONE]",
    [text("Hi"), bare("output_text.done", { text: "Hi" }), "data: [DONE]\n\n"],
    truncated,
    {
      text: "Hi",
    },
  ),
  stream("half of a call", [call("added", 0, named(weather)), input(0, '{"ci')], truncated),
  stream("created, then an exhausted quota", [bare("created"), responsesErrorEvent("insufficient_quota")], {
    verdict: "failed",
    failureClass: "quota",
    providerCode: "insufficient_quota",
  }),
  stream(
    "failed after text, with usage",
    [text("Hi"), responsesFailed("server_error", usage)],
    { verdict: "failed", failureClass: "upstream_5xx", providerCode: "server_error" },
    { text: "Hi", usage: counted },
  ),
  stream(
    "an item that changes its type",
    [text("Hi"), call("added", 0, named(weather)), end()],
    { verdict: "failed", failureClass: "protocol" },
    { text: "Hi" },
  ),
  stream(
    "an event that is not JSON",
    [text("Hi"), "data: <html>\n\n", end()],
    { verdict: "failed", failureClass: "malformed" },
    { text: "Hi" },
  ),
];

export const openAiResponsesFormat: CorpusFormat = {
  format: "openai-responses",
  framing: "sse",
  streams,
  contractMetAt: (stream) =>
    sseContractMetAt(stream, ({ type }) => type === "response.completed" || type === "response.incomplete"),
};
