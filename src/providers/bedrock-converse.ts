// Amazon Bedrock ConverseStream: AWS event-stream messages to events. Complete only with messageStop; its usage comes after it, in metadata, and may be missing.
import type { StopReason } from "../../schemas/outcome.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { awsEventReader, type AwsItem, type AwsMessage } from "../wire/aws-event-stream.ts";
import { asCount, asRecord, asText, parseJson, type JsonRecord } from "../wire/json.ts";
import { parseBounded } from "../wire/json-bounded.ts";
import type { Stage } from "../wire/stage.ts";
import { answerEnd, endingOf, type Ending } from "./answer-end.ts";
import { bedrockConverseRequest } from "./bedrock-converse-request.ts";
import { signBedrockRequest } from "./bedrock-converse-signature.ts";
import { heldText } from "./echo.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, HttpAnswer, ReaderLimits } from "./provider.ts";
import { thoughtLog } from "./thoughts.ts";
import { toolBlocks } from "./tool-blocks.ts";
import { inputPiece, toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { knownCounts, usageApart } from "./usage.ts";

export const bedrockConverse: Adapter = {
  request: bedrockConverseRequest,
  sign: signBedrockRequest,
  reader: bedrockConverseReader,
  wanted: (echo) => echo,
  failure: (answer) => httpFailure(answer, errorWord(answer)),
  // A message begins with its length, which is below 16 MiB.
  starts: (character) => character === "\0",
  // Prefill is the model's: Bedrock passes it on.
  continues: ({ model = "" }) => /(^|[./])(anthropic|amazon\.nova)/.test(model),
};

const stopReasons: Record<string, StopReason> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
};

/** The events that say something. */
const read = new Set(["contentBlockStart", "contentBlockDelta", "messageStop", "metadata"]);

export function bedrockConverseReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const messages = awsEventReader(maxEvent);
  const calls = toolCallCollector();
  const blocks = toolBlocks(calls);
  const thoughts = thoughtLog();
  /** Reasoning by its place. */
  const reasonings = new Map<number, JsonRecord>();
  let stopReason: Exclude<Ending, Failure> | undefined;
  let counted = false;
  let done = false;

  /** Whatever comes after messageStop, the answer is whole. */
  const end = (events: ProviderEvent[], otherwise: ProviderEvent): void => {
    done = true;
    events.push(
      ...(stopReason === undefined ? [otherwise] : answerEnd(calls, stopReason, { echo: thoughts.echo(isSigned) })),
    );
  };
  const fail = (events: ProviderEvent[], message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass: "malformed", message } });

  const beginThought = (index: number): JsonRecord => {
    const reasoningText = {};
    reasonings.set(index, reasoningText);
    thoughts.begin({ reasoningContent: { reasoningText } }, calls.size);
    return reasoningText;
  };

  const think = (events: ProviderEvent[], index: number, content: JsonRecord): void => {
    const [text, signature] = [asText(content["text"]), asText(content["signature"])];
    const redacted = asText(content["redactedContent"]);
    if (redacted !== undefined)
      thoughts.begin({ reasoningContent: { redactedContent: heldText("", redacted) } }, calls.size);
    if (text === undefined && signature === undefined) return;
    const block = reasonings.get(index) ?? beginThought(index);
    block["text"] = heldText(asText(block["text"]) ?? "", text ?? "");
    if (signature !== undefined) block["signature"] = heldText(asText(block["signature"]) ?? "", signature);
    if (text !== undefined) events.push({ type: "reasoning", text });
  };

  const delta = (events: ProviderEvent[], index: number, part: JsonRecord): void => {
    const text = asText(part["text"]);
    if (text !== undefined) {
      thoughts.text(text);
      events.push({ type: "text", text });
    }
    const content = asRecord(part["reasoningContent"]);
    if (content !== undefined) think(events, index, content);
    events.push(...blocks.feed(index, inputPiece(asRecord(part["toolUse"])?.["input"])));
    if (calls.excessive) fail(events, "A tool call is larger than the limit.");
  };

  const start = (events: ProviderEvent[], index: number, block: JsonRecord): void => {
    const call = asRecord(block["toolUse"]);
    // A tool that the service runs itself is none of ours to answer.
    if (call === undefined || call["type"] === "server_tool_use") return blocks.close(index);
    events.push(...blocks.open(index, { id: asText(call["toolUseId"]), name: asText(call["name"]) }));
    if (calls.excessive) fail(events, "A tool call is larger than the limit.");
  };

  const stop = (events: ProviderEvent[], reason: string): void => {
    if (reason === "malformed_model_output" || reason === "malformed_tool_use") {
      return fail(events, "The model's output was malformed.");
    }
    const ending = endingOf(stopReasons, reason);
    // Nothing is worth waiting for after an end that is a failure.
    if (typeof ending === "object") return end(events, { type: "verdict", verdict: "failed", failure: ending });
    stopReason = ending;
    events.push({ type: "finishing", proven: true });
  };

  const event = (events: ProviderEvent[], name: string, payload: JsonRecord): void => {
    const index = asCount(payload["contentBlockIndex"]) ?? 0;
    switch (name) {
      case "contentBlockStart":
        return start(events, index, asRecord(payload["start"]) ?? {});
      case "contentBlockDelta":
        return delta(events, index, asRecord(payload["delta"]) ?? {});
      case "messageStop":
        stop(events, asText(payload["stopReason"]) ?? "");
        break;
      case "metadata": {
        const usage = usageOf(asRecord(payload["usage"]));
        if (usage !== undefined) events.push(usageApart(usage));
        counted = true;
      }
    }
    if (counted && stopReason !== undefined && !done) end(events, { type: "verdict", verdict: "truncated" });
  };

  const message = (events: ProviderEvent[], { headers, payload }: AwsMessage): void => {
    const parsed = parseBounded(payload);
    const body = asRecord(parsed?.value) ?? {};
    const kind = headers.get(":message-type") ?? "event";
    if (kind !== "event") {
      const type = headers.get(":exception-type") ?? headers.get(":error-code") ?? headers.get(":event-type");
      const prose = asText(body["message"]) ?? headers.get(":error-message") ?? "";
      const failure = inBandFailure({ type, code: undefined, message: prose });
      return end(events, { type: "verdict", verdict: "failed", failure });
    }
    const name = headers.get(":event-type") ?? "";
    // What a service sends under other names, with or without a payload, is for others.
    if (!read.has(name)) return;
    if (parsed === undefined) return fail(events, "A wire event is not JSON.");
    event(events, name, body);
  };

  const frame = (events: ProviderEvent[], item: AwsItem): void => {
    if ("payload" in item) message(events, item);
    else if (item.fault === "too large") fail(events, "A wire event is larger than the limit.");
    else fail(events, `A wire event is no event-stream message: ${item.fault}.`);
  };

  return untilVerdict(messages, {
    isDone: () => done,
    frame,
    bodyEnd: (events) => end(events, { type: "verdict", verdict: "truncated" }),
  });
}

/** Models whose reasoning is not signed refuse to be sent any. */
function isSigned({ reasoningContent }: JsonRecord): boolean {
  const content = asRecord(reasoningContent);
  return (
    content?.["redactedContent"] !== undefined || asRecord(content?.["reasoningText"])?.["signature"] !== undefined
  );
}

function usageOf(usage: JsonRecord | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return knownCounts({
    inputTokens: asCount(usage["inputTokens"]),
    outputTokens: asCount(usage["outputTokens"]),
    totalTokens: asCount(usage["totalTokens"]),
    cachedInputTokens: asCount(usage["cacheReadInputTokens"]),
    cacheCreationInputTokens: asCount(usage["cacheWriteInputTokens"]),
  });
}

/** `ThrottlingException:http://...` in a header, or `com.amazon.coral#ThrottlingException` in the body. */
function errorWord({ headers, body }: HttpAnswer): string | undefined {
  const named = headers.get("x-amzn-errortype") ?? asText(asRecord(parseJson(body)?.value)?.["__type"]);
  return named?.split(":")[0]?.split("#").at(-1);
}
