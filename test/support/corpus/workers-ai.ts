// Streams of Workers AI, in its own form and in OpenAI's as its newer models send it: whole, broken and odd.
import { isRecord, parseJson } from "../../../src/wire/json.ts";
import { sseEvent } from "../provider-bytes/framing.ts";
import { toBytes } from "../provider-bytes/splits.ts";
import { workersAiChat, workersAiDone as done, workersAiToken as token } from "../provider-bytes/workers-ai.ts";
import type { CorpusFormat, CorpusStream, ExpectedEnd } from "./corpus-stream.ts";
import { failed, openAiChoice, openAiUsage as usage, time, truncated, weather } from "./openai-chat-pieces.ts";
import { workersAiOddStreams } from "./workers-ai-odd.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "workers-ai",
  wire: wire.join(""),
  end,
  ...expected,
});

const whole: ExpectedEnd = { verdict: "complete" };
const stopped: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const hi = token("Hi");
const city = '{"city":"北京"}';
/** A chunk of a newer model: the choice has no index. */
const choice = (delta: unknown, finishReason: string | null = null): string =>
  sseEvent({ choices: [{ delta, finish_reason: finishReason }] });
const calls = (...tool_calls: readonly unknown[]): string => sseEvent({ response: "", tool_calls });

const streams: readonly CorpusStream[] = [
  stream("the shortest answer", [token("é✓🎉"), done], whole, { text: "é✓🎉" }),
  stream(
    "text, and usage in the last event",
    workersAiChat({ deltas: ["Hé", "llo", " 世界"], usage: usage(3, 4, 7) }),
    whole,
    { text: "Héllo 世界", usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
  ),
  stream("tokens that read as numbers", workersAiChat({ deltas: ["In ", 1, 9, "", null, " years"] }), whole, {
    text: "In 19 years",
  }),
  stream("JSON output as an object", workersAiChat({ deltas: [{ name: "India" }] }), whole, {
    text: '{"name":"India"}',
  }),
  stream("[DONE] without a line end", [hi, done.trimEnd()], whole, { text: "Hi" }),
  stream("[DONE] inside the text", [token("say [DONE]"), done], whole, { text: "say [DONE]" }),
  stream(
    "whole calls with their arguments as an object and as text",
    [calls({ name: "weather", arguments: { city: "北京" } }, { name: "time", arguments: '{"zone":"UTC"}' }), done],
    called,
    {
      calls: [
        { ...weather, toolCallId: "call_0" },
        { ...time, toolCallId: "call_1" },
      ],
    },
  ),
  stream(
    "one tool called twice, a call per event",
    [
      calls({ name: "weather", arguments: { city: "北京" } }),
      calls({ name: "weather", arguments: { city: "Bonn" } }),
      done,
    ],
    called,
    {
      calls: [
        { ...weather, toolCallId: "call_0" },
        { toolCallId: "call_1", toolName: "weather", input: { city: "Bonn" } },
      ],
    },
  ),
  stream(
    "a call in pieces, ended by a piece of nulls",
    [
      calls({ id: "call_a", type: "function", index: 0, function: { name: "weather" } }),
      calls({ index: 0, function: { arguments: '{"city":' } }),
      calls({ index: 0, function: { arguments: '"北京"}' } }),
      calls({ id: null, type: null, index: 0, function: { name: null, arguments: "" } }),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "OpenAI's chunks without an index",
    [
      choice({ role: "assistant", content: "", reasoning_content: "Hm" }),
      choice({ content: "Hi" }),
      choice({}, "stop"),
      sseEvent({ model: "@cf/m", choices: [], usage: usage(3, 1, 4) }),
      done,
    ],
    stopped,
    { text: "Hi", reasoning: "Hm", usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } },
  ),
  stream(
    "OpenAI's chunks with a call",
    [
      choice({
        tool_calls: [{ id: "call_a", index: 0, type: "function", function: { name: "weather", arguments: "" } }],
      }),
      choice({ tool_calls: [{ index: 0, function: { arguments: city } }] }),
      choice({ tool_calls: [{ id: null, type: null, function: { name: null } }] }),
      choice({}, "tool_calls"),
      done,
    ],
    called,
    { calls: [weather] },
  ),
  stream(
    "OpenAI's chunks, length",
    [openAiChoice({ content: "Hi" }, "length"), done],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "Hi" },
  ),
  stream(
    "a finish_reason beside the response",
    [hi, sseEvent({ response: "", finish_reason: "length" }), done],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "Hi" },
  ),

  stream(
    "parallel calls in pieces that take turns",
    [
      calls({ id: "call_a", index: 0, function: { name: "weather", arguments: "" } }),
      calls({ id: "call_b", index: 1, function: { name: "time", arguments: '{"zone"' } }),
      calls({ index: 0, function: { arguments: '{"city":"北' } }, { index: 1, function: { arguments: ':"UTC"}' } }),
      calls({ index: 0, function: { arguments: '京"}' } }),
      calls({ id: null, type: null, index: 1, function: { name: null, arguments: null } }),
      done,
    ],
    called,
    { calls: [weather, time] },
  ),
  stream(
    "a call that a model writes as text stays text",
    [choice({ content: '{"name":"weather","arguments":' }), choice({ content: `${city}}` }), choice({}, "stop"), done],
    stopped,
    { text: `{"name":"weather","arguments":${city}}` },
  ),
  stream(
    "OpenAI's chunks, the filter stops the answer",
    [choice({ content: "Hi", reasoning: "Hm" }), choice({ content: null, tool_calls: [] }, "content_filter"), done],
    { verdict: "complete", stopReason: "content_filter" },
    { text: "Hi", reasoning: "Hm" },
  ),

  stream("nothing at all", [""], truncated),
  stream("[DONE] alone", [done], truncated),
  stream("usage and [DONE]", [sseEvent({ usage: usage(0, 0, 0) }), done], truncated, {
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  }),
  stream("text, then the end", [hi], truncated, { text: "Hi" }),
  stream("a finish_reason, but no [DONE]", [choice({ content: "Hi" }, "stop")], truncated, { text: "Hi" }),
  stream("usage, but no [DONE]", workersAiChat({ deltas: ["Hi"], usage: usage(3, 1, 4), done: false }), truncated, {
    text: "Hi",
    usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
  }),
  stream("half an event", [hi, 'data: {"response":"th'], truncated, { text: "Hi" }),
  stream(
    "half a call",
    [calls({ id: "call_a", index: 0, function: { name: "weather", arguments: '{"ci' } })],
    truncated,
  ),
  stream(
    "an error first, then [DONE]",
    [sseEvent({ errors: [{ code: 3040, message: "scripted" }] }), done],
    failed("overloaded"),
  ),
  stream(
    "an error object after text",
    [hi, sseEvent({ error: { code: 5007, message: "scripted" } }), done],
    failed("model_not_found"),
    { text: "Hi" },
  ),
  stream("an error in words", [hi, sseEvent({ error: "3036: scripted" })], failed("quota"), { text: "Hi" }),
  stream("an error event", [hi, sseEvent({ message: "scripted" }, {}, "error")], failed("unknown"), {
    text: "Hi",
  }),
  stream(
    "an error in OpenAI's way",
    [sseEvent({ error: { type: "server_error", message: "scripted" } })],
    failed("upstream_5xx", "server_error"),
  ),
  stream("an event that is not JSON", [hi, "data: {oops}\n\n", done], failed("malformed"), { text: "Hi" }),
  stream("a call whose input is no JSON", [calls({ name: "weather", arguments: '{"ci' }), done], failed("malformed")),
];

const END = "[DONE]";

function ends({ choices }: Record<string, unknown>): boolean {
  const [choice]: unknown[] = Array.isArray(choices) ? choices : [];
  return isRecord(choice) && typeof choice["finish_reason"] === "string";
}

export const workersAiFormat: CorpusFormat = {
  format: "workers-ai",
  framing: "sse",
  streams: [...streams, ...workersAiOddStreams],
  contractMetAt: ({ wire }) => {
    const at = typeof wire === "string" ? wire.search(/(\}|\]|data: )\[DONE\](\n|$)/) : -1;
    if (typeof wire !== "string" || at === -1) return Number.POSITIVE_INFINITY;
    const end = wire.indexOf(END, at) + END.length;
    const answered = wire
      .slice(0, end)
      .split("\n")
      .some((line) => {
        const value: unknown = parseJson(line.replace(/^data: /, "").replace(/\[DONE\]$/, ""))?.value;
        const values: readonly unknown[] = Array.isArray(value) ? value : [value];
        return values.some((one) => isRecord(one) && ("response" in one || "tool_calls" in one || ends(one)));
      });
    return answered ? toBytes(wire.slice(0, end)).length : Number.POSITIVE_INFINITY;
  },
};
