// Anthropic Messages: typed SSE events to events. Complete only with message_stop after a message_delta that named a stop_reason.
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { sseReader, startsLikeSse, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { anthropicRequest } from "./anthropic-messages-request.ts";
import { errorFacts, httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { knownCounts } from "./usage.ts";

export const anthropicMessages: Adapter = {
  request: anthropicRequest,
  reader: anthropicReader,
  failure: httpFailure,
  starts: startsLikeSse,
};

const stopReasons: Record<string, StopReason> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** One open content block; `index` is the provider's. Blocks may interleave. */
interface Block {
  toolCallId: string | undefined;
  toolName: string;
  whole: JsonRecord;
  text: string;
}

export function anthropicReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const frames = sseReader(maxEvent);
  const blocks = new Map<number, Block>();
  let usage: Usage = {};
  let messageId: string | undefined;
  let stopReason: StopReason | "unknown" | undefined;
  const toolCalls: ProviderEvent[] = [];
  let ordinal = 0;
  /** Some tool input is not a JSON object: a cut at the token limit, or a fault. */
  let broken = false;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };
  const fail = (events: ProviderEvent[], failureClass: "malformed" | "protocol", message: string) =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass, message } });

  const count = (events: ProviderEvent[], value: unknown): void => {
    const report = usageOf(asRecord(value));
    if (report === undefined) return;
    usage = { ...usage, ...report };
    events.push({ type: "usage", usage });
  };

  const blockStart = (events: ProviderEvent[], index: number, block: JsonRecord): void => {
    const text = asText(block["text"]);
    if (block["type"] === "text" && text !== undefined) events.push({ type: "text", text });
    const thinking = asText(block["thinking"]);
    if (block["type"] === "thinking" && thinking !== undefined) events.push({ type: "reasoning", text: thinking });
    const isTool = block["type"] === "tool_use";
    blocks.set(index, {
      toolCallId: isTool ? (asText(block["id"]) ?? `call_${ordinal++}`) : undefined,
      toolName: asText(block["name"]) ?? "",
      whole: asRecord(block["input"]) ?? {},
      text: "",
    });
  };

  const blockDelta = (events: ProviderEvent[], index: number, delta: JsonRecord): void => {
    const text = asText(delta["text"]);
    const thinking = asText(delta["thinking"]);
    if (text !== undefined) events.push({ type: "text", text });
    if (thinking !== undefined) events.push({ type: "reasoning", text: thinking });
    const block = blocks.get(index);
    const inputText = asText(delta["partial_json"]);
    if (block?.toolCallId === undefined || inputText === undefined) return;
    block.text += inputText;
    const { toolCallId, toolName } = block;
    events.push({ type: "tool_call_delta", toolCallId, toolName, inputText });
  };

  const blockStop = (index: number): void => {
    const block = blocks.get(index);
    if (block?.toolCallId === undefined) return;
    blocks.delete(index);
    // Deltas win over an input given at the block's start: some servers send both.
    const input = block.text.trim() === "" ? block.whole : asRecord(parseJson(block.text)?.value);
    if (input === undefined) broken = true;
    else toolCalls.push({ type: "tool_call", toolCallId: block.toolCallId, toolName: block.toolName, input });
  };
  const stop = (events: ProviderEvent[]): void => {
    if (stopReason === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    if (broken && stopReason !== "length") return fail(events, "malformed", "A tool call's input is not a JSON object.");
    if (broken || [...blocks.values()].some(({ toolCallId }) => toolCallId !== undefined)) {
      events.push({ type: "diagnostic", code: "tool_call_incomplete" });
    }
    events.push(...toolCalls);
    const called = toolCalls.length > 0 && (stopReason === "stop" || stopReason === "unknown");
    const word = called ? "tool_calls" : stopReason;
    end(events, { type: "verdict", verdict: "complete", ...(word !== "unknown" && { stopReason: word }) });
  };

  const message = (events: ProviderEvent[], event: JsonRecord, name: string | undefined): void => {
    const index = asCount(event["index"]) ?? 0;
    switch (asText(event["type"]) ?? name) {
      case "message_start": {
        const started = asRecord(event["message"]);
        const id = asText(started?.["id"]);
        // Gateways splice a second start into one body: the same message again is harmless, another one is not.
        if (messageId !== undefined && id !== messageId) return fail(events, "protocol", "A second message began in one body.");
        if (messageId !== undefined) return;
        messageId = id ?? "";
        const model = asText(started?.["model"]);
        if (model !== undefined) events.push({ type: "model", model });
        count(events, started?.["usage"]);
        return;
      }
      case "content_block_start":
        return blockStart(events, index, asRecord(event["content_block"]) ?? {});
      case "content_block_delta":
        return blockDelta(events, index, asRecord(event["delta"]) ?? {});
      case "content_block_stop":
        return blockStop(index);
      case "message_delta": {
        const reason = asText(asRecord(event["delta"])?.["stop_reason"]);
        if (reason !== undefined) {
          stopReason = Object.hasOwn(stopReasons, reason) ? (stopReasons[reason] ?? "unknown") : "unknown";
        }
        return count(events, event["usage"]);
      }
      case "message_stop":
        return stop(events);
      case "error": {
        const facts = errorFacts(event) ?? { type: undefined, code: undefined, message: "" };
        return end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });
      }
    }
  };

  const read = (items: readonly SseItem[]): ProviderEvent[] => {
    const events: ProviderEvent[] = [];
    for (const item of items) {
      if (done) break;
      if ("tooLarge" in item) {
        fail(events, "malformed", "A wire event is larger than the limit.");
        break;
      }
      const payload = item.data.trim();
      if (payload === "" || payload === "[DONE]") continue;
      const parsed = parseJson(payload);
      const event = asRecord(parsed?.value);
      if (event !== undefined) message(events, event, item.event);
      else if (parsed === undefined && item.residue !== true) fail(events, "malformed", "A wire event is not JSON.");
    }
    return events;
  };

  return {
    feed: (bytes) => (done ? [] : read(frames.feed(bytes))),
    end: () => {
      if (done) return [];
      const events = read(frames.end());
      if (!done) end(events, { type: "verdict", verdict: "truncated" });
      return events;
    },
  };
}

function usageOf(usage: JsonRecord | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return knownCounts({
    inputTokens: asCount(usage["input_tokens"]),
    outputTokens: asCount(usage["output_tokens"]),
    cachedInputTokens: asCount(usage["cache_read_input_tokens"]),
    cacheCreationInputTokens: asCount(usage["cache_creation_input_tokens"]),
  });
}
