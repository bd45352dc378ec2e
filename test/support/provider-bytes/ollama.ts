// Bytes of an Ollama chat stream (NDJSON) and of its errors, in the documented order. It builds what the server sends and
// never reads it back: the adapter under test must not share code with it.
import { jsonAnswer, jsonLine } from "./framing.ts";
import type { Answer, LineEnd } from "./framing.ts";

export const OLLAMA_STREAM_TYPE = "application/x-ndjson";

export interface OllamaToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Newer servers send one. */
  readonly id?: string;
}

export interface OllamaUsage {
  readonly prompt_eval_count: number;
  readonly eval_count: number;
}

export interface OllamaChatOptions {
  /** Comes before the content. */
  readonly thinking?: readonly string[];
  readonly deltas?: readonly string[];
  /** All in one line after the content, as the server sends them. */
  readonly toolCalls?: readonly OllamaToolCall[];
  /** Default `stop`, also after tool calls, as the server says it. */
  readonly doneReason?: string;
  readonly usage?: OllamaUsage;
  readonly model?: string;
  /** Default true: the line with `done: true` comes last. */
  readonly done?: boolean;
  readonly lineEnd?: LineEnd;
}

/** The lines of one answer, one string each. */
export function ollamaChat(options: OllamaChatOptions = {}): string[] {
  const { thinking = [], deltas = [], toolCalls = [], done = true } = options;
  const lines = [
    ...thinking.map((text) => ollamaLine({ content: "", thinking: text }, options)),
    ...deltas.map((content) => ollamaLine({ content }, options)),
  ];
  if (toolCalls.length > 0) lines.push(ollamaLine({ content: "", tool_calls: toolCalls.map(toolCallEntry) }, options));
  if (done) lines.push(doneLine(options));
  return lines;
}

/** One line that is not the last; `message` fields are taken as they stand. */
export function ollamaLine(message: Readonly<Record<string, unknown>>, options: OllamaChatOptions = {}): string {
  return jsonLine({ ...envelope(options), message: { role: "assistant", ...message }, done: false }, options.lineEnd);
}

/** An error answer before any stream. */
export function ollamaError(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return jsonAnswer(status, { error: message }, headers);
}

/** The same error as a line of a stream that answered 200; the server ends the body after it. */
export function ollamaErrorLine(message: string, lineEnd: LineEnd = "\n"): string {
  return jsonLine({ error: message }, lineEnd);
}

function doneLine(options: OllamaChatOptions): string {
  const { doneReason = "stop", usage = { prompt_eval_count: 12, eval_count: 7 }, lineEnd } = options;
  const durations = {
    total_duration: 900_000_000,
    load_duration: 40_000_000,
    prompt_eval_duration: 60_000_000,
    eval_duration: 800_000_000,
  };
  const line = {
    ...envelope(options),
    message: { role: "assistant", content: "" },
    done: true,
    done_reason: doneReason,
    ...durations,
    ...usage,
  };
  return jsonLine(line, lineEnd);
}

function toolCallEntry(call: OllamaToolCall, index: number): Readonly<Record<string, unknown>> {
  const named = call.id === undefined ? {} : { id: call.id };
  return { ...named, function: { index, name: call.name, arguments: call.arguments } };
}

function envelope(options: OllamaChatOptions): Readonly<Record<string, unknown>> {
  return { model: options.model ?? "test-model", created_at: "2026-01-01T00:00:00.000000Z" };
}
