// Streams of Ollama's native chat (NDJSON): whole, broken and odd.
import { jsonLine } from "../provider-bytes/framing.ts";
import { ollamaChat, ollamaErrorLine, ollamaLine } from "../provider-bytes/ollama.ts";
import type { CorpusFormat, CorpusStream, ExpectedEnd } from "./corpus-stream.ts";
import { ndjsonContractMetAt } from "./terminal-contract.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "ollama",
  wire: wire.join(""),
  end,
  ...expected,
});

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const truncated: ExpectedEnd = { verdict: "truncated" };
const usage = { inputTokens: 12, outputTokens: 7 };

const streams: readonly CorpusStream[] = [
  stream("text", ollamaChat({ deltas: ["Hé", "llo, 世", "界 🎉"] }), complete, { text: "Héllo, 世界 🎉", usage }),
  stream(
    "the shortest answer",
    [
      jsonLine({ message: { content: "é✓" } }),
      jsonLine({ message: { content: "🎉" } }),
      jsonLine({ done: true, done_reason: "stop" }),
    ],
    complete,
    { text: "é✓🎉" },
  ),
  stream(
    "last line without a line end",
    [
      ollamaChat({ deltas: ["Hi"] })
        .join("")
        .trimEnd(),
    ],
    complete,
    { text: "Hi", usage },
  ),
  stream("thinking, then text", ollamaChat({ thinking: ["Hm", "m"], deltas: ["Yes"] }), complete, {
    text: "Yes",
    reasoning: "Hmm",
    usage,
  }),
  stream(
    "length",
    ollamaChat({ deltas: ["cut"], doneReason: "length" }),
    { verdict: "complete", stopReason: "length" },
    {
      text: "cut",
      usage,
    },
  ),
  stream(
    "whole tool calls in one line, then stop",
    ollamaChat({
      toolCalls: [
        { name: "weather", arguments: { city: "北京" } },
        { name: "weather", arguments: { city: "Rome" }, id: "call_x" },
      ],
    }),
    called,
    {
      calls: [
        { toolCallId: "call_0", toolName: "weather", input: { city: "北京" } },
        { toolCallId: "call_x", toolName: "weather", input: { city: "Rome" } },
      ],
      usage,
    },
  ),
  stream(
    "tool calls in lines of their own, all at index 0",
    [
      ollamaLine({ content: "", tool_calls: [{ function: { index: 0, name: "a", arguments: {} } }] }),
      ollamaLine({ content: "", tool_calls: [{ function: { index: 0, name: "a", arguments: { n: 2 } } }] }),
      jsonLine({ done: true }),
    ],
    called,
    {
      calls: [
        { toolCallId: "call_0", toolName: "a", input: {} },
        { toolCallId: "call_1", toolName: "a", input: { n: 2 } },
      ],
    },
  ),
  stream(
    "content in the last line",
    [ollamaLine({ content: "a" }), jsonLine({ message: { content: "b" }, done: true, done_reason: "stop" })],
    complete,
    { text: "ab" },
  ),
  stream(
    "null lines and unknown fields",
    ["null\n", jsonLine({ foo: 1 }), ...ollamaChat({ deltas: ["Hi"] })],
    complete,
    {
      text: "Hi",
      usage,
    },
  ),

  stream("nothing at all", [""], truncated),
  stream("text, then the end", ollamaChat({ deltas: ["Hi"], done: false }), truncated, { text: "Hi" }),
  stream("half a line", [ollamaLine({ content: "Hi" }), '{"model":"m","message":{"content":"th'], truncated, {
    text: "Hi",
  }),
  stream(
    "a tool call, then the end",
    ollamaChat({ toolCalls: [{ name: "a", arguments: {} }], done: false }),
    truncated,
  ),
  stream("an error first", [ollamaErrorLine("scripted")], { verdict: "failed", failureClass: "unknown" }),
  stream(
    "an error after text",
    [ollamaLine({ content: "Hi" }), ollamaErrorLine("scripted")],
    {
      verdict: "failed",
      failureClass: "unknown",
    },
    { text: "Hi" },
  ),
  stream(
    "a line that is not JSON",
    [ollamaLine({ content: "Hi" }), "oops\n", jsonLine({ done: true })],
    {
      verdict: "failed",
      failureClass: "malformed",
    },
    { text: "Hi" },
  ),
];

export const ollamaFormat: CorpusFormat = {
  format: "ollama",
  framing: "ndjson",
  streams,
  contractMetAt: (stream) => ndjsonContractMetAt(stream, ({ done }) => done === true),
};
