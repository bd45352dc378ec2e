// Bytes of a Gemini answer in both of its framings, server-sent events and one JSON array, and of its errors. It builds what
// the API sends and never reads it back: the adapter under test must not share code with it.
import { jsonAnswer, sseEvent } from "./framing.ts";
import type { Answer, Spelling } from "./framing.ts";

export const GEMINI_STREAM_TYPE = "text/event-stream";
export const GEMINI_ARRAY_TYPE = "application/json; charset=UTF-8";

type Fields = Readonly<Record<string, unknown>>;

export interface GeminiAnswerOptions {
  /** Come before the text. */
  readonly thoughts?: readonly string[];
  readonly deltas?: readonly string[];
  /** One chunk each, after the text. */
  readonly calls?: readonly Fields[];
  /** Default STOP, also after calls, as the API says it; null for an answer that breaks off. */
  readonly finishReason?: string | null;
  /** On the last chunk. */
  readonly usage?: Fields;
  readonly model?: string;
}

/** The chunks of one answer. */
export function geminiAnswer(options: GeminiAnswerOptions = {}): Fields[] {
  const { thoughts = [], deltas = [], calls = [], finishReason = "STOP", usage, model } = options;
  const parts = [
    ...thoughts.map((text) => ({ text, thought: true })),
    ...deltas.map((text) => ({ text })),
    ...calls.map((functionCall) => ({ functionCall })),
  ];
  const named = model === undefined ? {} : { modelVersion: model };
  const chunks: Fields[] = parts.map((part) => ({ ...geminiChunk([part]), ...named }));
  if (finishReason === null) return chunks;
  const last = { ...geminiChunk([{ text: "" }], { finishReason }), ...named };
  return [...chunks, usage === undefined ? last : { ...last, usageMetadata: usage }];
}

/** One chunk with these parts; further fields go to its candidate. */
export function geminiChunk(parts: readonly Fields[], candidate: Fields = {}): Fields {
  return { candidates: [{ content: { parts, role: "model" }, ...candidate, index: 0 }] };
}

/** The chunks as events, one string each. */
export function geminiEvents(chunks: readonly unknown[], spelling: Spelling = {}): string[] {
  return chunks.map((chunk) => sseEvent(chunk, spelling));
}

/** The chunks as pieces of one array, framing included, as the API writes it; `closed` false leaves the last bracket out. */
export function geminiArray(chunks: readonly unknown[], closed = true): string[] {
  const pieces = chunks.map((chunk, index) => (index === 0 ? "[" : ",\n") + JSON.stringify(chunk) + "\n");
  const opened = pieces.length === 0 ? ["[\n"] : pieces;
  return closed ? [...opened, "]\n"] : opened;
}

export interface GeminiErrorOptions {
  readonly message?: string;
  readonly details?: readonly Fields[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The error object that answers carry, and streams. */
export function geminiErrorObject(code: number, status: string, options: GeminiErrorOptions = {}): Fields {
  const { message = "scripted", details } = options;
  return { error: { code, message, status, ...(details !== undefined && { details }) } };
}

/** An error answer before any stream. */
export function geminiError(code: number, status: string, options: GeminiErrorOptions = {}): Answer {
  return jsonAnswer(code, geminiErrorObject(code, status, options), options.headers);
}

export const retryInfo = (retryDelay: string): Fields => ({
  "@type": "type.googleapis.com/google.rpc.RetryInfo",
  retryDelay,
});

export const quotaFailure = (...quotaIds: readonly string[]): Fields => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: quotaIds.map((quotaId) => ({ quotaId })),
});

export const errorInfo = (reason: string): Fields => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "googleapis.com",
});
