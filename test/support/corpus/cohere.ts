// Streams of Cohere Chat (v2): whole, broken and odd.
import {
  cohereChat,
  cohereContentEnd,
  cohereContentStart,
  cohereDelta,
  cohereEnd,
  cohereEvent,
  coherePlan,
  cohereStart,
  cohereText,
  cohereToolDelta,
  cohereToolEnd,
  cohereToolStart,
} from "../provider-bytes/cohere.ts";
import { sseComment, sseEvent } from "../provider-bytes/framing.ts";
import type { CorpusFormat, CorpusStream, ExpectedCall, ExpectedEnd } from "./corpus-stream.ts";
import { sseContractMetAt } from "./terminal-contract.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "cohere",
  wire: wire.join(""),
  end,
  ...expected,
});

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const truncated: ExpectedEnd = { verdict: "truncated" };
const unknown: ExpectedEnd = { verdict: "failed", failureClass: "unknown" };
const upstream: ExpectedEnd = { verdict: "failed", failureClass: "upstream_5xx" };
const usage = { inputTokens: 12, outputTokens: 7 };

const weather: ExpectedCall = { toolCallId: "weather_a", toolName: "weather", input: { city: "北京" } };
const time: ExpectedCall = { toolCallId: "time_b", toolName: "time", input: {} };

const streams: readonly CorpusStream[] = [
  stream("text", cohereChat(["Hé", "llo, 世", "界 🎉"]), complete, { text: "Héllo, 世界 🎉", usage }),
  stream(
    "the shortest answer",
    [
      sseEvent({ type: "content-delta", delta: { message: { content: { text: "é✓🎉" } } } }),
      sseEvent({ type: "message-end", delta: { finish_reason: "COMPLETE" } }),
    ],
    complete,
    { text: "é✓🎉" },
  ),
  stream("last event without a blank line", [cohereText("Hi"), cohereEnd("STOP_SEQUENCE").trimEnd()], complete, {
    text: "Hi",
    usage,
  }),
  stream(
    "thinking, then text with citations",
    [
      cohereStart(),
      cohereContentStart(0, { type: "thinking", thinking: "H" }),
      cohereDelta({ thinking: "mm" }),
      cohereContentEnd(0),
      cohereContentStart(1, { type: "text", text: "" }),
      cohereText("Yes", 1),
      cohereEvent("citation-start", {
        index: 0,
        delta: { message: { citations: { start: 0, end: 3, text: "no", sources: [] } } },
      }),
      cohereEvent("citation-end", { index: 0 }),
      cohereContentEnd(1),
      cohereEnd("COMPLETE", { tokens: { input_tokens: 12, output_tokens: 7 }, cached_tokens: 4 }),
    ],
    complete,
    { text: "Yes", reasoning: "Hmm", usage: { ...usage, cachedInputTokens: 4 } },
  ),
  stream(
    "a plan and parallel tool calls",
    [
      cohereStart(),
      coherePlan("I will"),
      coherePlan(" look."),
      cohereToolStart(0, "weather_a", "weather"),
      cohereToolDelta(0, '{"city":'),
      cohereToolDelta(0, '"北京"}'),
      cohereToolEnd(0),
      cohereToolStart(1, "time_b", "time"),
      cohereToolEnd(1),
      cohereEnd("TOOL_CALL", { billed_units: { input_tokens: 12, output_tokens: 7 } }),
    ],
    called,
    { reasoning: "I will look.", calls: [weather, time], usage },
  ),
  stream(
    "input before its call, which is announced twice",
    [
      cohereToolDelta(0, '{"ci'),
      cohereToolStart(0, "weather_a", "weather"),
      cohereToolStart(0, "weather_a", "weather"),
      cohereToolDelta(0, 'ty":"北京"}'),
      cohereEnd("TOOL_CALL"),
    ],
    called,
    { calls: [weather], usage },
  ),
  stream(
    "interleaved tool calls, then COMPLETE",
    [
      cohereToolStart(0, "weather_a", "weather", '{"ci'),
      cohereToolStart(1, "time_b", "time"),
      cohereToolDelta(0, 'ty":"北京"}'),
      cohereToolDelta(1, "{}"),
      cohereEnd(),
    ],
    called,
    { calls: [weather, time], usage },
  ),
  stream(
    "comments, unknown events, null and [DONE]",
    [
      sseComment("keepalive"),
      cohereEvent("debug", { prompt: "no" }),
      "data: null\n\n",
      cohereText("Hi"),
      cohereEnd("MAX_TOKENS"),
      "data: [DONE]\n\n",
    ],
    { verdict: "complete", stopReason: "length" },
    { text: "Hi", usage },
  ),
  stream(
    "a reason that is not known",
    [cohereText("Hi"), cohereEnd("SOMETHING_NEW", null)],
    { verdict: "complete" },
    {
      text: "Hi",
    },
  ),

  stream("nothing at all", [""], truncated),
  stream("text, then the end", [cohereStart(), cohereText("Hi"), cohereContentEnd()], truncated, { text: "Hi" }),
  stream("[DONE] alone", [cohereText("Hi"), "data: [DONE]\n\n"], truncated, { text: "Hi" }),
  stream("half of a tool call", [cohereToolStart(0, "weather_a", "weather"), cohereToolDelta(0, '{"ci')], truncated),
  stream("an end with ERROR", [cohereText("Hi"), cohereEnd("ERROR")], upstream, { text: "Hi", usage }),
  stream("an end with TIMEOUT", [cohereStart(), cohereEnd("TIMEOUT", null)], upstream),
  stream(
    "an end with an error's text",
    [cohereEnd("ERROR", null, { error: "too many tokens: the prompt exceeds the limit" })],
    { verdict: "failed", failureClass: "context_length" },
  ),
  stream("an error without a type", [cohereText("Hi"), sseEvent({ id: "e1", message: "scripted" })], unknown, {
    text: "Hi",
  }),
  stream("an error event", [sseEvent({ message: "scripted" }, {}, "error")], unknown),
  stream(
    "a tool call whose input is no object",
    [cohereToolStart(0, "a", "f", "[1]"), cohereEnd("TOOL_CALL")],
    {
      verdict: "failed",
      failureClass: "malformed",
    },
    { usage },
  ),
  stream(
    "an event that is not JSON",
    [cohereText("Hi"), "data: <html>\n\n", cohereEnd()],
    { verdict: "failed", failureClass: "malformed" },
    { text: "Hi" },
  ),
];

export const cohereFormat: CorpusFormat = {
  format: "cohere",
  framing: "sse",
  streams,
  contractMetAt: (stream) => sseContractMetAt(stream, ({ type }) => type === "message-end"),
};
