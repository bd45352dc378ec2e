// How an answer ends, in every format that gives a word for it: which words are an end, which a failure, and what an end without a known word must show.
import { describe, expect, test } from "vitest";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { openAiChoice, openAiDone } from "../support/corpus/openai-chat-pieces.ts";
import { readPackets, sumUp } from "../support/corpus/reading.ts";
import { anthropicEvent, anthropicMessageStart } from "../support/provider-bytes/anthropic-messages.ts";
import { bedrockMetadata, bedrockStop, bedrockText } from "../support/provider-bytes/bedrock-converse.ts";
import { cohereEnd, cohereText } from "../support/provider-bytes/cohere.ts";
import { jsonLine, sseEvent } from "../support/provider-bytes/framing.ts";
import { geminiChunk, geminiEvents } from "../support/provider-bytes/gemini.ts";
import { ollamaLine } from "../support/provider-bytes/ollama.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";
import { workersAiDone } from "../support/provider-bytes/workers-ai.ts";

interface Wire {
  format: StreamFormat;
  text: string | Uint8Array;
  end(word: string): readonly (string | Uint8Array)[];
}

const wires: readonly Wire[] = [
  {
    format: "openai-chat",
    text: openAiChoice({ content: "Hi" }),
    end: (word) => [openAiChoice({}, word), openAiDone],
  },
  {
    format: "workers-ai",
    text: openAiChoice({ content: "Hi" }),
    end: (word) => [sseEvent({ response: "", finish_reason: word }), workersAiDone],
  },
  {
    format: "ollama",
    text: ollamaLine({ content: "Hi" }),
    end: (word) => [jsonLine({ done: true, done_reason: word })],
  },
  {
    format: "anthropic-messages",
    text: anthropicMessageStart() + anthropicEvent("content_block_delta", { index: 0, delta: { text: "Hi" } }),
    end: (word) => [anthropicEvent("message_delta", { delta: { stop_reason: word } }), anthropicEvent("message_stop")],
  },
  { format: "cohere", text: cohereText("Hi"), end: (word) => [cohereEnd(word)] },
  { format: "bedrock-converse", text: bedrockText("Hi"), end: (word) => [bedrockStop(word), bedrockMetadata()] },
  {
    format: "gemini",
    text: geminiEvents([geminiChunk([{ text: "Hi" }])]).join(""),
    end: (word) => geminiEvents([geminiChunk([], { finishReason: word })]),
  },
];

const verdictOf = (format: StreamFormat, packets: readonly (string | Uint8Array)[]) =>
  sumUp(
    readPackets(
      format,
      packets.map((packet) => (typeof packet === "string" ? toBytes(packet) : packet)),
    ),
  ).verdicts;

describe.each(wires)("R-PROV-18 $format", ({ format, text, end }) => {
  test.each([
    ["error", "upstream_5xx"],
    ["ERROR", "upstream_5xx"],
    ["abort", "upstream_5xx"],
    ["network_error", "upstream_5xx"],
    ["api_error", "upstream_5xx"],
    ["server_error", "upstream_5xx"],
    ["failed", "upstream_5xx"],
    ["timeout", "upstream_5xx"],
    ["CANCELLED", "upstream_5xx"],
    ["USER_CANCEL", "upstream_5xx"],
    ["overloaded_error", "overloaded"],
    ["insufficient_system_resource", "overloaded"],
    ["rate_limit_exceeded", "rate_limited"],
    ["rate_limit", "rate_limited"],
    ["engine-overload", "overloaded"],
  ])("R-PROV-18 the word %s is the failure %s, after text and before", (word, failureClass) => {
    for (const shown of [[], [text]]) {
      expect(verdictOf(format, [...shown, ...end(word)])).toMatchObject([
        { type: "verdict", verdict: "failed", failure: { failureClass } },
      ]);
    }
  });
  test.each([
    ["stop", "stop"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
    ["MAX_TOKENS", "length"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["content-filter", "content_filter"],
    ["sensitive", "content_filter"],
    ["refusal", "content_filter"],
  ])("R-PROV-18 the word %s is %s, whoever's it is", (word, stopReason) => {
    expect(verdictOf(format, [text, ...end(word)])).toEqual([{ type: "verdict", verdict: "complete", stopReason }]);
  });
  test("R-PROV-18 R-PROV-19 a word of tomorrow ends an answer that shows something, and no other", () => {
    expect(verdictOf(format, [text, ...end("zebra")])).toEqual([{ type: "verdict", verdict: "complete" }]);
    expect(verdictOf(format, end("zebra"))).toEqual([{ type: "verdict", verdict: "truncated" }]);
  });
  test.each(["tool_calls", "tool_use", "TOOL_CALL", "function_call"])(
    "R-PROV-20 the word %s without a call is malformed",
    (word) => {
      expect(verdictOf(format, [text, ...end(word)])).toMatchObject([
        { verdict: "failed", failure: { failureClass: "malformed" } },
      ]);
    },
  );
});
