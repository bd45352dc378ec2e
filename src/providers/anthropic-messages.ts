// Anthropic Messages: typed SSE events to events. Complete only with message_stop after a message_delta that named a stop_reason.
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { jsonTemplate } from "../wire/json-template.ts";
import { sseReader, startsLikeSse, type KnownFrame, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { anthropicRequest } from "./anthropic-messages-request.ts";
import { heldText } from "./echo.ts";
import { errorEventFacts, errorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, ReaderLimits } from "./provider.ts";
import { sseJson } from "./sse-json.ts";
import { thoughtLog } from "./thoughts.ts";
import { toolBlocks } from "./tool-blocks.ts";
import { inputPiece, toolCallCollector, wholeInput } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { knownCounts, usageApart } from "./usage.ts";

export const anthropicMessages: Adapter = {
  request: anthropicRequest,
  reader: anthropicReader,
  wanted: (echo) => echo,
  failure: httpFailure,
  starts: startsLikeSse,
  continues: () => true,
};

const stopReasons: Record<string, StopReason> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "continue",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

export function anthropicReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const template = jsonTemplate();
  const frames = sseReader(maxEvent, { template, event: "content_block_delta" });
  const calls = toolCallCollector();
  const blocks = toolBlocks(calls);
  const thoughts = thoughtLog();
  /** Thinking by its place, while it may grow. */
  const thinking = new Map<number, JsonRecord>();
  /** Where the thinking stands that the template knows. */
  let known = 0;
  let usage: Usage = {};
  let messageId: string | undefined;
  let stopReason: Ending | undefined;
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
    events.push(usageApart(usage));
  };

  const say = (events: ProviderEvent[], text: string | undefined): void => {
    if (text === undefined) return;
    thoughts.text(text);
    events.push({ type: "text", text });
  };

  const beginThought = (index: number): JsonRecord => {
    const block = { type: "thinking", thinking: "" };
    thinking.set(index, block);
    thoughts.begin(block, calls.size);
    return block;
  };

  /** `signature`: also an empty one, which may be all there will be. */
  const think = (events: ProviderEvent[], index: number, text: string | undefined, signature?: unknown): void => {
    if (text === undefined && typeof signature !== "string") return;
    const block = thinking.get(index) ?? beginThought(index);
    if (text !== undefined) {
      block["thinking"] = heldText(String(block["thinking"]), text);
      events.push({ type: "reasoning", text });
    }
    if (typeof signature === "string") block["signature"] = heldText(asText(block["signature"]) ?? "", signature);
  };

  const blockStart = (events: ProviderEvent[], index: number, block: JsonRecord): void => {
    thinking.delete(index);
    if (block["type"] === "text") say(events, asText(block["text"]));
    if (block["type"] === "thinking") think(events, index, asText(block["thinking"]), block["signature"] ?? "");
    const data = asText(block["data"]);
    if (block["type"] === "redacted_thinking" && data !== undefined)
      thoughts.begin({ type: "redacted_thinking", data: heldText("", data) }, calls.size);
    if (block["type"] !== "tool_use") return blocks.close(index);
    const [id, name] = [asText(block["id"]), asText(block["name"])];
    events.push(...blocks.open(index, { id, name, input: wholeInput(block["input"]) }));
  };

  const blockDelta = (events: ProviderEvent[], index: number, delta: JsonRecord): void => {
    say(events, asText(delta["text"]));
    think(events, index, asText(delta["thinking"]), delta["signature"]);
    // Deltas win over an input given at the block's start: some servers send both.
    events.push(...blocks.feed(index, inputPiece(delta["partial_json"])));
  };

  const stop = (events: ProviderEvent[]): void => {
    if (stopReason === undefined) return end(events, { type: "verdict", verdict: "truncated" });
    done = true;
    events.push(...answerEnd(calls, stopReason, { echo: thoughts.echo() }));
  };

  const bound = (events: ProviderEvent[]): void => {
    if (calls.excessive) fail(events, "malformed", "A tool call is larger than the limit.");
  };

  const message = (events: ProviderEvent[], event: JsonRecord, name: string | undefined): void => {
    const index = asCount(event["index"]) ?? 0;
    // Gateways report errors in OpenAI's way too, without a type.
    const facts = name === "error" || event["type"] === "error" ? errorEventFacts(event) : errorFacts(event);
    if (facts !== undefined) return end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });
    switch (asText(event["type"]) ?? name ?? "") {
      case "message_start": {
        const started = asRecord(event["message"]);
        const id = asText(started?.["id"]) ?? "";
        // Gateways splice a second start into one body: the same message again is harmless, another one is not.
        if (messageId !== undefined && id !== messageId)
          return fail(events, "protocol", "A second message began in one body.");
        if (messageId !== undefined) return;
        messageId = id;
        const model = asName(started?.["model"]);
        if (model !== undefined) events.push({ type: "model", model });
        count(events, started?.["usage"]);
        return;
      }
      case "content_block_start":
        blockStart(events, index, asRecord(event["content_block"]) ?? {});
        return bound(events);
      case "content_block_delta":
        blockDelta(events, index, asRecord(event["delta"]) ?? {});
        return bound(events);
      case "message_delta": {
        const reason = asText(asRecord(event["delta"])?.["stop_reason"]);
        if (reason !== undefined) stopReason = endingOf(stopReasons, reason);
        return count(events, event["usage"]);
      }
      case "message_stop":
        return stop(events);
    }
  };

  /** What a delta of a text, and of nothing else, means depends on nothing before it. */
  const learn = (payload: string, event: JsonRecord, only: ProviderEvent | undefined): void => {
    const delta = asRecord(event["delta"]);
    if (event["type"] !== "content_block_delta" || delta === undefined || "partial_json" in delta) return;
    if (only?.type === "text") template.learn(payload, "text", only.text);
    if (only?.type !== "reasoning") return;
    template.learn(payload, "thinking", only.text);
    known = asCount(event["index"]) ?? 0;
  };

  const frame = (events: ProviderEvent[], item: SseItem | KnownFrame): void => {
    if ("value" in item) {
      const { key, value: text } = item;
      return key === "text" ? say(events, text) : think(events, known, text);
    }
    for (const said of sseJson(item)) {
      if (done) return;
      if ("fault" in said) return fail(events, "malformed", said.fault);
      const { event, name, payload } = said;
      const before = events.length;
      message(events, event, name);
      if (events.length === before + 1 && name === "content_block_delta") learn(payload, event, events.at(-1));
    }
  };

  return untilVerdict(frames, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
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
