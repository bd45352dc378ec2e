// Bytes of a Workers AI stream and of its errors. It builds what the provider sends and never reads it back: the adapter under
// test must not share code with it.
import { jsonAnswer, sseEvent } from "./framing.ts";
import type { Answer } from "./framing.ts";

export interface WorkersAiOptions {
  readonly deltas?: readonly unknown[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
  /** Default true: `[DONE]` comes last. */
  readonly done?: boolean;
}

/** One event of the native form; `p` pads it to hide its length. */
export const workersAiToken = (response: unknown): string => sseEvent({ response, p: "abc" });

export const workersAiDone = sseEvent("[DONE]");

/** The events of one answer: tokens, usage with an empty token, `[DONE]`. */
export function workersAiChat({ deltas = [], usage, done = true }: WorkersAiOptions = {}): string[] {
  return [
    ...deltas.map(workersAiToken),
    ...(usage === undefined ? [] : [sseEvent({ response: "", usage })]),
    ...(done ? [workersAiDone] : []),
  ];
}

/** The error of the REST API. */
export function workersAiError(status: number, code: number, message = "scripted"): Answer {
  return jsonAnswer(status, { errors: [{ code, message }], success: false, result: {}, messages: [] });
}

/** The error as the binding's raw response has it. */
export function workersAiBindingError(status: number, internalCode: number, message = "scripted"): Answer {
  return jsonAnswer(status, { internalCode, message, name: "InferenceUpstreamError", description: message });
}
