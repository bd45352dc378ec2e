// Bytes of an OpenAI Chat Completions stream and of its errors, in the documented order. It builds what a provider sends and
// never reads it back: the adapter under test must not share code with it.
import { jsonAnswer, sseEvent } from "./framing.ts";
import type { Answer, Spelling } from "./framing.ts";

export const OPENAI_STREAM_TYPE = "text/event-stream; charset=utf-8";

export interface OpenAiToolCall {
  readonly id: string;
  readonly name: string;
  /** Pieces of the argument JSON; one event each. */
  readonly arguments: readonly string[];
}

export interface OpenAiUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: Readonly<Record<string, number>>;
  readonly completion_tokens_details?: Readonly<Record<string, number>>;
}

export interface OpenAiChatOptions extends Spelling {
  readonly deltas?: readonly string[];
  /** Comes before the content. */
  readonly reasoning?: readonly string[];
  /** Default `reasoning_content`; some providers say `reasoning`. */
  readonly reasoningField?: "reasoning_content" | "reasoning";
  readonly refusal?: readonly string[];
  /** One after another; reorder the returned events to interleave them. */
  readonly toolCalls?: readonly OpenAiToolCall[];
  /** Default `tool_calls` when there are some, else `stop`; null leaves the finish event out. */
  readonly finishReason?: string | null;
  /** Adds the usage-only event, and `usage: null` to all others, as `include_usage` does. */
  readonly usage?: OpenAiUsage;
  readonly model?: string;
  readonly id?: string;
  /** Default true: `[DONE]` comes last. */
  readonly done?: boolean;
}

export interface OpenAiErrorOptions {
  readonly message?: string;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The events of one answer, one string each: role, reasoning, content, refusal, tool calls, finish, usage, `[DONE]`. */
export function openAiChat(options: OpenAiChatOptions = {}): string[] {
  const {
    deltas = [],
    reasoning = [],
    refusal = [],
    toolCalls = [],
    reasoningField = "reasoning_content",
    usage,
    done = true,
  } = options;
  const finishReason = options.finishReason === undefined ? defaultFinish(toolCalls) : options.finishReason;
  const onlyTools = toolCalls.length > 0 && deltas.length === 0;
  const events = [
    openAiDelta({ role: "assistant", content: onlyTools ? null : "", refusal: null }, options),
    ...reasoning.map((text) => openAiDelta({ [reasoningField]: text }, options)),
    ...deltas.map((content) => openAiDelta({ content }, options)),
    ...refusal.map((text) => openAiDelta({ refusal: text }, options)),
    ...toolCalls.flatMap((call, index) => toolCallEvents(call, index, options)),
  ];
  if (finishReason !== null) events.push(openAiDelta({}, options, finishReason));
  if (usage !== undefined) events.push(openAiEvent({ ...envelope(options), choices: [], usage }, options));
  if (done) events.push(openAiEvent("[DONE]", options));
  return events;
}

/** One event with one choice; `delta` is taken as it stands. */
export function openAiDelta(
  delta: Readonly<Record<string, unknown>>,
  options: OpenAiChatOptions = {},
  finishReason: string | null = null,
): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
  const counted = options.usage === undefined ? {} : { usage: null };
  return openAiEvent({ ...envelope(options), choices, ...counted }, options);
}

/** One event with any payload: for what no provider documents but some send. */
export function openAiEvent(payload: unknown, spelling: Spelling = {}): string {
  return sseEvent(payload, spelling);
}

/** The whole answer as one JSON object: what some servers send although a stream was asked for. */
export function openAiCompletion(content: string, options: OpenAiChatOptions = {}): Answer {
  const message = { role: "assistant", content, refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: options.finishReason ?? "stop" }];
  return jsonAnswer(200, { ...envelope(options), object: "chat.completion", choices, usage: options.usage ?? null });
}

/** An error answer before any stream. */
export function openAiError(
  status: number,
  type: string,
  code: string | null,
  options: OpenAiErrorOptions = {},
): Answer {
  return jsonAnswer(status, errorPayload(type, code, options), options.headers);
}

/** The same object inside a stream that answered 200. */
export function openAiErrorEvent(
  type: string,
  code: string | null,
  options: OpenAiErrorOptions & Spelling = {},
): string {
  return openAiEvent(errorPayload(type, code, options), options);
}

function defaultFinish(toolCalls: readonly OpenAiToolCall[]): string {
  return toolCalls.length > 0 ? "tool_calls" : "stop";
}

function toolCallEvents(call: OpenAiToolCall, index: number, options: OpenAiChatOptions): string[] {
  const opening = { index, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
  const pieces = call.arguments.map((text) => ({ index, function: { arguments: text } }));
  return [opening, ...pieces].map((piece) => openAiDelta({ tool_calls: [piece] }, options));
}

function envelope(options: OpenAiChatOptions): Record<string, unknown> {
  return {
    id: options.id ?? "chatcmpl-test0001",
    object: "chat.completion.chunk",
    created: 1_780_000_000,
    model: options.model ?? "test-model",
    service_tier: "default",
    system_fingerprint: "fp_test",
  };
}

function errorPayload(type: string, code: string | null, options: OpenAiErrorOptions): unknown {
  return { error: { message: options.message ?? `scripted ${type}`, type, param: options.param ?? null, code } };
}
