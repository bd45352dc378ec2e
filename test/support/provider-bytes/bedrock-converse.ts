// Messages of a Bedrock ConverseStream answer and of its errors, in the documented order. It builds what the service sends and
// never reads it back: the adapter under test must not share code with it.
import { awsMessage } from "./aws-event-stream.ts";
import { jsonAnswer, type Answer } from "./framing.ts";

export const BEDROCK_STREAM_TYPE = "application/vnd.amazon.eventstream";

/** One event as the service sends it, padding included when it is asked for. */
export function bedrockEvent(type: string, payload: unknown, padding?: string): Uint8Array {
  const body = padding === undefined ? payload : { ...Object(payload), p: padding };
  return awsMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify(body),
  );
}

export const bedrockText = (text: string, contentBlockIndex = 0): Uint8Array =>
  bedrockEvent("contentBlockDelta", { contentBlockIndex, delta: { text } }, "abcd");

export const bedrockReasoning = (reasoningContent: unknown, contentBlockIndex = 0): Uint8Array =>
  bedrockEvent("contentBlockDelta", { contentBlockIndex, delta: { reasoningContent } });

export const bedrockToolStart = (contentBlockIndex: number, toolUseId: string, name: string): Uint8Array =>
  bedrockEvent("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId, name } } });

export const bedrockToolInput = (contentBlockIndex: number, input: string): Uint8Array =>
  bedrockEvent("contentBlockDelta", { contentBlockIndex, delta: { toolUse: { input } } });

export const bedrockBlockStop = (contentBlockIndex: number): Uint8Array =>
  bedrockEvent("contentBlockStop", { contentBlockIndex });

export const bedrockStart = (): Uint8Array => bedrockEvent("messageStart", { role: "assistant" }, "abc");

export const bedrockStop = (stopReason: unknown = "end_turn"): Uint8Array =>
  bedrockEvent("messageStop", { stopReason });

export const bedrockMetadata = (usage: unknown = { inputTokens: 12, outputTokens: 7, totalTokens: 19 }): Uint8Array =>
  bedrockEvent("metadata", { metrics: { latencyMs: 900 }, usage });

/** A failure in the middle of a stream: the word stands in a header, the text in the payload. */
export function bedrockException(type: string, message = "scripted"): Uint8Array {
  return awsMessage(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    JSON.stringify({ message }),
  );
}

/** A failure that no event of the service's model stands for. */
export function bedrockErrorMessage(code: string, message: string): Uint8Array {
  return awsMessage({ ":message-type": "error", ":error-code": code, ":error-message": message }, "");
}

/** An error answer before any stream. */
export function bedrockError(status: number, type: string, message = "scripted"): Answer {
  return jsonAnswer(
    status,
    { message },
    { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`, "x-amzn-requestid": "r-1" },
  );
}
