// Bytes of an Anthropic Messages stream and of its errors, in the documented order. It builds what the provider sends and
// never reads it back: the adapter under test must not share code with it.
import { jsonAnswer, sseEvent } from "./framing.ts";
import type { Answer, Spelling } from "./framing.ts";

export const ANTHROPIC_STREAM_TYPE = "text/event-stream; charset=utf-8";

export type AnthropicBlock =
  | { readonly type: "text"; readonly deltas: readonly string[] }
  | { readonly type: "thinking"; readonly deltas: readonly string[]; readonly signature?: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  /** `input` is what the opening event carries: `{}` unless a compatible server puts the whole of it there. */
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly partialJson: readonly string[];
      readonly input?: Readonly<Record<string, unknown>>;
    };

export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
}

export interface AnthropicEventOptions extends Spelling {
  /** Default true; false leaves the `event:` lines out, as some compatible servers do. */
  readonly eventLines?: boolean;
}

export interface AnthropicMessagesOptions extends AnthropicEventOptions {
  /** Short for one text block before `blocks`. */
  readonly deltas?: readonly string[];
  readonly blocks?: readonly AnthropicBlock[];
  /** Default `tool_use` when there is such a block, else `end_turn`; null leaves `message_delta` out. */
  readonly stopReason?: string | null;
  /** Further fields of `message_delta.delta`, such as `stop_details`. */
  readonly stopFields?: Readonly<Record<string, unknown>>;
  /** The final, cumulative counts of `message_delta`. */
  readonly usage?: AnthropicUsage;
  readonly model?: string;
  readonly id?: string;
  /** Default true: a `ping` after the first block's opening event. */
  readonly ping?: boolean;
  /** Default true: `message_stop` comes last. */
  readonly stop?: boolean;
}

export interface AnthropicErrorOptions {
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const DEFAULT_USAGE: AnthropicUsage = { input_tokens: 12, output_tokens: 7 };

/** The events of one answer, one string each. */
export function anthropicMessages(options: AnthropicMessagesOptions = {}): string[] {
  const { deltas, usage = DEFAULT_USAGE, stop = true } = options;
  const blocks: readonly AnthropicBlock[] = [
    ...(deltas === undefined ? [] : [{ type: "text" as const, deltas }]),
    ...(options.blocks ?? []),
  ];
  const stopReason = options.stopReason === undefined ? defaultStop(blocks) : options.stopReason;
  const events = [
    anthropicMessageStart(options),
    ...blocks.flatMap((block, index) => blockEvents(block, index, options)),
  ];
  if (stopReason !== null) {
    const delta = { stop_reason: stopReason, stop_sequence: null, ...options.stopFields };
    events.push(anthropicEvent("message_delta", { delta, usage }, options));
  }
  if (stop) events.push(anthropicEvent("message_stop", {}, options));
  return events;
}

/** The opening event; its output count is provisional. */
export function anthropicMessageStart(options: AnthropicMessagesOptions = {}): string {
  const { usage = DEFAULT_USAGE, id = "msg_test0001", model = "test-model" } = options;
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return anthropicEvent("message_start", { message }, options);
}

/** One event: its type as `event:` line and inside the payload, and its fields as they stand. */
export function anthropicEvent(
  type: string,
  fields: Readonly<Record<string, unknown>> = {},
  options: AnthropicEventOptions = {},
): string {
  return sseEvent({ type, ...fields }, options, options.eventLines === false ? undefined : type);
}

/** An error answer before any stream. */
export function anthropicError(status: number, type: string, options: AnthropicErrorOptions = {}): Answer {
  return jsonAnswer(
    status,
    { type: "error", ...errorFields(type, options), request_id: "req_test0001" },
    { "request-id": "req_test0001", ...options.headers },
  );
}

/** The answer of an overloaded service: 529. */
export function anthropicOverloaded(options: AnthropicErrorOptions = {}): Answer {
  return anthropicError(529, "overloaded_error", { message: "Overloaded", ...options });
}

/** The same error inside a stream that answered 200. */
export function anthropicErrorEvent(type: string, options: AnthropicErrorOptions & AnthropicEventOptions = {}): string {
  return anthropicEvent("error", errorFields(type, options), options);
}

function defaultStop(blocks: readonly AnthropicBlock[]): string {
  return blocks.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn";
}

function blockEvents(block: AnthropicBlock, index: number, options: AnthropicMessagesOptions): string[] {
  const opening = anthropicEvent("content_block_start", { index, content_block: openingBlock(block) }, options);
  const ping = index === 0 && options.ping !== false ? [anthropicEvent("ping", {}, options)] : [];
  const deltas = blockDeltas(block).map((delta) => anthropicEvent("content_block_delta", { index, delta }, options));
  return [opening, ...ping, ...deltas, anthropicEvent("content_block_stop", { index }, options)];
}

function openingBlock(block: AnthropicBlock): Readonly<Record<string, unknown>> {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: block.data };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: block.input ?? {} };
  }
}

function blockDeltas(block: AnthropicBlock): readonly Readonly<Record<string, unknown>>[] {
  switch (block.type) {
    case "text":
      return block.deltas.map((text) => ({ type: "text_delta", text }));
    case "thinking":
      return [
        ...block.deltas.map((thinking) => ({ type: "thinking_delta", thinking })),
        ...(block.signature === undefined ? [] : [{ type: "signature_delta", signature: block.signature }]),
      ];
    case "redacted_thinking":
      return [];
    case "tool_use":
      return block.partialJson.map((text) => ({ type: "input_json_delta", partial_json: text }));
  }
}

function errorFields(type: string, options: AnthropicErrorOptions): Readonly<Record<string, unknown>> {
  return { error: { type, message: options.message ?? `scripted ${type}` } };
}
