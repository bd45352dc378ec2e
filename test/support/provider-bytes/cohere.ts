// Bytes of a Cohere Chat (v2) stream, in the documented order. It builds what the provider sends and never
// reads it back: the adapter under test must not share code with it.
import { sseEvent } from "./framing.ts";

/** One event, named twice as the provider does it. */
export const cohereEvent = (type: string, fields: Readonly<Record<string, unknown>> = {}): string =>
  sseEvent({ type, ...fields }, {}, type);

const inMessage = (message: unknown) => ({ delta: { message } });

export const cohereStart = (): string =>
  cohereEvent("message-start", { id: "0f3c", ...inMessage({ role: "assistant", content: [], tool_calls: [] }) });

export const cohereContentStart = (index: number, content: unknown): string =>
  cohereEvent("content-start", { index, ...inMessage({ content }) });

/** `content`: `{ text }` or `{ thinking }`. */
export const cohereDelta = (content: unknown, index = 0): string =>
  cohereEvent("content-delta", { index, ...inMessage({ content }) });

export const cohereText = (text: string, index = 0): string => cohereDelta({ text }, index);

export const cohereContentEnd = (index = 0): string => cohereEvent("content-end", { index });

export const coherePlan = (tool_plan: string): string => cohereEvent("tool-plan-delta", inMessage({ tool_plan }));

export const cohereToolStart = (index: number, id: string, name: string, input: unknown = ""): string =>
  cohereEvent("tool-call-start", {
    index,
    ...inMessage({ tool_calls: { id, type: "function", function: { name, arguments: input } } }),
  });

export const cohereToolDelta = (index: number, input: string): string =>
  cohereEvent("tool-call-delta", { index, ...inMessage({ tool_calls: { function: { arguments: input } } }) });

export const cohereToolEnd = (index: number): string => cohereEvent("tool-call-end", { index });

const counts = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens });

export const cohereEnd = (
  finish_reason: unknown = "COMPLETE",
  usage: unknown = { billed_units: counts(2, 7), tokens: counts(12, 7) },
  fields: Readonly<Record<string, unknown>> = {},
): string => cohereEvent("message-end", { delta: { finish_reason, usage, ...fields } });

/** The events of one text answer. */
export const cohereChat = (deltas: readonly string[]): string[] => [
  cohereStart(),
  cohereContentStart(0, { type: "text", text: "" }),
  ...deltas.map((text) => cohereText(text)),
  cohereContentEnd(),
  cohereEnd(),
];
