// Streams of the Anthropic Messages format, as it and its compatible servers send them: whole, broken and odd.
import {
  anthropicErrorEvent,
  anthropicEvent,
  anthropicMessages,
  anthropicMessageStart,
} from "../provider-bytes/anthropic-messages.ts";
import { sseComment, sseEvent } from "../provider-bytes/framing.ts";
import type { CorpusFormat, CorpusStream, ExpectedCall, ExpectedEnd } from "./corpus-stream.ts";
import { sseContractMetAt } from "./terminal-contract.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "anthropic-messages",
  wire: wire.join(""),
  end,
  ...expected,
});

/** Opening event of one block. */
export const anthropicBlock = (index: number, block: unknown): string =>
  anthropicEvent("content_block_start", { index, content_block: block });
export const anthropicDelta = (index: number, delta: unknown): string =>
  anthropicEvent("content_block_delta", { index, delta });
export const anthropicBlockStop = (index: number): string => anthropicEvent("content_block_stop", { index });
export const anthropicText = (text: string, index = 0): string => anthropicDelta(index, { type: "text_delta", text });
export const anthropicJson = (index: number, text: string): string =>
  anthropicDelta(index, { type: "input_json_delta", partial_json: text });
/** A text block's opening event and its text. */
const said = (text: string): string => anthropicBlock(0, { type: "text", text: "" }) + anthropicText(text);
/** The last two events. */
export const anthropicEnd = (stopReason: unknown, usage: unknown = { output_tokens: 7 }): string =>
  anthropicEvent("message_delta", { delta: { stop_reason: stopReason }, usage }) + anthropicEvent("message_stop");

const tool = (index: number, id: string, name: string): string =>
  anthropicBlock(index, { type: "tool_use", id, name, input: {} });
const bare = (type: string, fields: Record<string, unknown> = {}): string => sseEvent({ type, ...fields });

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const truncated: ExpectedEnd = { verdict: "truncated" };
const usage = { inputTokens: 12, outputTokens: 7 };
const startUsage = { inputTokens: 12, outputTokens: 1 };

const weather: ExpectedCall = { toolCallId: "toolu_a", toolName: "weather", input: { city: "北京" } };
const time: ExpectedCall = { toolCallId: "toolu_b", toolName: "time", input: { zone: "UTC" } };

const streams: readonly CorpusStream[] = [
  stream("text", anthropicMessages({ deltas: ["Hé", "llo, 世", "界 🎉"] }), complete, {
    text: "Héllo, 世界 🎉",
    usage,
  }),
  stream(
    "the shortest answer",
    [
      bare("content_block_delta", { delta: { text: "é✓🎉" } }),
      bare("message_delta", { delta: { stop_reason: "end_turn" } }),
      bare("message_stop"),
    ],
    complete,
    { text: "é✓🎉" },
  ),
  stream(
    "a message and its call, announced twice",
    [
      anthropicMessageStart(),
      tool(0, "toolu_a", "weather"),
      anthropicMessageStart(),
      tool(0, "toolu_a", "weather"),
      anthropicJson(0, '{"city":'),
      anthropicJson(0, '"北京"}'),
      anthropicBlockStop(0),
      anthropicEnd("tool_use"),
    ],
    called,
    { calls: [weather], usage },
  ),
  stream("no event lines", anthropicMessages({ deltas: ["Hi"], eventLines: false }), complete, { text: "Hi", usage }),
  stream(
    "last event without a blank line",
    [
      anthropicMessages({ deltas: ["Hi"], ping: false })
        .join("")
        .trimEnd(),
    ],
    complete,
    { text: "Hi", usage },
  ),
  stream(
    "thinking, then text",
    anthropicMessages({
      blocks: [
        { type: "thinking", deltas: ["Hm", "m"], signature: "c2ln" },
        { type: "redacted_thinking", data: "eA" },
        { type: "text", deltas: ["Yes"] },
      ],
    }),
    complete,
    {
      text: "Yes",
      reasoning: "Hmm",
      usage,
    },
  ),
  stream(
    "signed and redacted thinking before, between and without a text",
    anthropicMessages({
      blocks: [
        { type: "thinking", deltas: ["Hm", "é", "m"], signature: "c2ln" },
        { type: "redacted_thinking", data: "eA" },
        { type: "text", deltas: ["Let me ", "look."] },
        { type: "tool_use", id: "toolu_a", name: "weather", partialJson: ['{"city":"北京"}'] },
        { type: "thinking", deltas: [], signature: "b2s=" },
        { type: "tool_use", id: "toolu_b", name: "time", partialJson: ['{"zone":"UTC"}'] },
      ],
    }),
    called,
    {
      text: "Let me look.",
      reasoning: "Hmém",
      calls: [
        {
          ...weather,
          echo: {
            thoughts: [
              { text: 0, calls: 0, block: { type: "thinking", thinking: "Hmém", signature: "c2ln" } },
              { text: 0, calls: 0, block: { type: "redacted_thinking", data: "eA" } },
              { text: 12, calls: 1, block: { type: "thinking", thinking: "", signature: "b2s=" } },
            ],
          },
        },
        time,
      ],
      usage,
    },
  ),
  stream(
    "parallel tool calls",
    anthropicMessages({
      deltas: ["Let me look."],
      blocks: [
        { type: "tool_use", id: "toolu_a", name: "weather", partialJson: ["", '{"city":', '"北京"}'] },
        { type: "tool_use", id: "toolu_b", name: "time", partialJson: ['{"zone":"UTC"}'] },
      ],
    }),
    called,
    { text: "Let me look.", calls: [weather, time], usage },
  ),
  stream(
    "interleaved tool blocks",
    [
      anthropicMessageStart(),
      tool(0, "toolu_a", "weather"),
      tool(1, "toolu_b", "time"),
      anthropicJson(0, '{"city":'),
      anthropicJson(1, '{"zone":"U'),
      anthropicJson(0, '"北京"}'),
      anthropicJson(1, 'TC"}'),
      anthropicBlockStop(1),
      anthropicBlockStop(0),
      anthropicEnd("tool_use"),
    ],
    called,
    { calls: [weather, time], usage },
  ),
  stream(
    "interleaved tool blocks, an index left out",
    [
      anthropicMessageStart(),
      tool(1, "toolu_a", "weather"),
      tool(2, "toolu_b", "time"),
      anthropicJson(1, '{"city":'),
      anthropicJson(2, '{"zone":"U'),
      anthropicJson(1, '"北京"}'),
      anthropicJson(2, 'TC"}'),
      anthropicBlockStop(2),
      anthropicBlockStop(1),
      anthropicEnd("tool_use"),
    ],
    called,
    { calls: [weather, time], usage },
  ),
  stream(
    "every tool block at index 0",
    [
      anthropicMessageStart(),
      tool(0, "toolu_a", "weather"),
      anthropicJson(0, '{"city":"北京"}'),
      anthropicBlockStop(0),
      tool(0, "toolu_b", "time"),
      anthropicJson(0, '{"zone":"UTC"}'),
      anthropicBlockStop(0),
      anthropicEnd("tool_use"),
    ],
    called,
    { calls: [weather, time], usage },
  ),
  stream(
    "a tool input at the start and again in deltas",
    anthropicMessages({
      blocks: [
        { type: "tool_use", id: "toolu_a", name: "weather", partialJson: ['{"city":"北京"}'], input: { city: "x" } },
      ],
    }),
    called,
    { calls: [weather], usage },
  ),
  stream(
    "comments, pings and unknown types between",
    [
      anthropicMessageStart(),
      sseComment("keepalive"),
      anthropicEvent("ping"),
      anthropicEvent("content_block_heartbeat", { index: 0 }),
      said("Hi"),
      anthropicDelta(0, { type: "citations_delta", citation: { cited_text: "no" } }),
      "data: null\n\n",
      anthropicEnd("end_turn"),
    ],
    complete,
    { text: "Hi", usage },
  ),
  stream(
    "revised usage",
    [
      anthropicMessageStart({ usage: { input_tokens: 43, output_tokens: 9, cache_read_input_tokens: 2 } }),
      said("Hi"),
      anthropicEnd("max_tokens", { input_tokens: 61, output_tokens: 5 }),
    ],
    { verdict: "complete", stopReason: "length" },
    { text: "Hi", usage: { inputTokens: 61, outputTokens: 5, cachedInputTokens: 2 } },
  ),
  stream(
    "a refusal without a block",
    [anthropicMessageStart(), anthropicEnd("refusal")],
    {
      verdict: "complete",
      stopReason: "content_filter",
    },
    { usage },
  ),
  stream(
    "the same start twice",
    [anthropicMessageStart(), anthropicMessageStart(), said("Hi"), anthropicEnd("end_turn")],
    complete,
    { text: "Hi", usage },
  ),

  stream("nothing at all", [""], truncated),
  stream("a start and the end", [anthropicMessageStart()], truncated, { usage: startUsage }),
  stream("text, then the end", [anthropicMessageStart(), said("Hi")], truncated, {
    text: "Hi",
    usage: startUsage,
  }),
  stream("no message_stop", anthropicMessages({ deltas: ["Hi"], stop: false }), truncated, { text: "Hi", usage }),
  stream("message_stop without a stop_reason", anthropicMessages({ deltas: ["Hi"], stopReason: null }), truncated, {
    text: "Hi",
    usage: startUsage,
  }),
  stream(
    "half of a tool call",
    [anthropicMessageStart(), tool(0, "toolu_a", "weather"), anthropicJson(0, '{"ci')],
    truncated,
    {
      usage: startUsage,
    },
  ),
  stream("an error first", [anthropicErrorEvent("overloaded_error")], {
    verdict: "failed",
    failureClass: "overloaded",
    providerCode: "overloaded_error",
  }),
  stream(
    "an error after text",
    [anthropicMessageStart(), said("Hi"), anthropicErrorEvent("api_error")],
    { verdict: "failed", failureClass: "upstream_5xx", providerCode: "api_error" },
    { text: "Hi", usage: startUsage },
  ),
  stream(
    "another message in the same body",
    [
      anthropicMessageStart(),
      said("Hi"),
      anthropicMessageStart({ id: "msg_other" }),
      said("Ho"),
      anthropicEnd("end_turn"),
    ],
    { verdict: "failed", failureClass: "protocol" },
    { text: "Hi", usage: startUsage },
  ),
  stream(
    "an event that is not JSON",
    [anthropicMessageStart(), "data: <html>\n\n", anthropicEnd("end_turn")],
    { verdict: "failed", failureClass: "malformed" },
    { usage: startUsage },
  ),
];

export const anthropicMessagesFormat: CorpusFormat = {
  format: "anthropic-messages",
  framing: "sse",
  streams,
  contractMetAt(stream) {
    let stopReason = false;
    return sseContractMetAt(stream, ({ type }) => {
      if (type === "message_delta") stopReason = true;
      return type === "message_stop" && stopReason;
    });
  },
};
