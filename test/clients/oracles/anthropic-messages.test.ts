// The official `@anthropic-ai/sdk` package reads the corpus of Messages streams: a second opinion on every stream.
import Anthropic from "@anthropic-ai/sdk";
import { anthropicMessagesFormat } from "../../support/corpus/anthropic-messages.ts";
import { ANTHROPIC_STREAM_TYPE } from "../../support/provider-bytes/anthropic-messages.ts";
import { compareWithOracle, countsOf, type OracleReading } from "./oracle.ts";

const stopReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  max_tokens: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const none = { stopReason: undefined, usage: undefined };
const missing = { end: "incomplete", ...none } as const;
const fault = { end: "error", ...none } as const;

compareWithOracle(anthropicMessagesFormat, ANTHROPIC_STREAM_TYPE, "/v1/messages", {
  name: "npm @anthropic-ai/sdk",
  compares: ["end", "text", "reasoning", "calls", "stopReason", "usage"],
  read,
  disagreements: {
    "the shortest answer": {
      sdk: { end: "incomplete", text: "", stopReason: undefined },
      because: "the SDK passes over events without an event: line",
    },
    "no event lines": {
      sdk: { ...missing, text: "" },
      because: "the SDK passes over events without an event: line",
    },
    "last event without a blank line": {
      sdk: missing,
      because: "the SDK drops an event that is not closed by a blank line",
    },
    "interleaved tool blocks, an index left out": {
      sdk: {
        calls: [
          { id: "toolu_a", name: "weather", input: {} },
          { id: "toolu_b", name: "time", input: { city: "北京" } },
        ],
      },
      because: "the SDK takes a block's index for its place in the content",
    },
    "every tool block at index 0": {
      sdk: { ...fault, calls: [] },
      because: "the SDK takes a block's index for its place in the content",
    },
    "the same start twice": {
      sdk: { ...fault, text: "" },
      because: "the SDK refuses any second start; gateways splice the same one in again",
    },
    "message_stop without a stop_reason": {
      sdk: { end: "complete", usage: { inputTokens: 12, outputTokens: 1 } },
      because: "the SDK asks for message_stop only",
    },
    "a message and its call, announced twice": {
      sdk: { end: "error", stopReason: undefined, calls: [], usage: undefined },
      because: "the SDK takes a second message_start for a fault, whatever its id",
    },
    "an event that is not JSON": {
      sdk: { end: "complete", stopReason: "stop", usage: { inputTokens: 12, outputTokens: 7 } },
      because: "the SDK passes over events without an event: line, whatever they hold",
    },
  },
});

async function read(baseURL: string): Promise<OracleReading> {
  const client = new Anthropic({ baseURL, apiKey: "none", maxRetries: 0, logLevel: "off" });
  const stream = client.messages.stream({
    model: "test-model",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  });
  let text = "";
  let reasoning = "";
  stream.on("text", (delta) => (text += delta));
  stream.on("thinking", (delta) => (reasoning += delta));
  try {
    const { content, stop_reason, usage } = await stream.finalMessage();
    return {
      end: "complete",
      text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
      reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
      calls: content.flatMap((block) =>
        block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
      ),
      stopReason: stopReasons[stop_reason ?? ""],
      usage: countsOf({
        inputTokens: usage.input_tokens,
        outputTokens: usage.output_tokens,
        cachedInputTokens: usage.cache_read_input_tokens,
      }),
    };
  } catch (error) {
    // The message is all that tells a missing end from other faults.
    const missing = error instanceof Error && /without (sending|producing)/.test(error.message);
    return { end: missing ? "incomplete" : "error", text, reasoning, calls: [], usage: undefined };
  }
}
