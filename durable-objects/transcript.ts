// What a reader of the log shows: its text and its reasoning. A cheaper fold than the run's whole state.
import type { LogEntry } from "../schemas/event.ts";
import { asRecord, parseJson } from "../src/wire/json.ts";

export interface Transcript {
  /** Last sequence taken in; -1 for none. */
  to: number;
  text: string;
  reasoning: string;
  /** Time of the last entry taken in. */
  at: number;
}

export const emptyTranscript: Transcript = { to: -1, text: "", reasoning: "", at: 0 };

/** Takes in entries that follow `before.to`, in order. */
export function readOn(before: Transcript, entries: readonly LogEntry[]): Transcript {
  const next = { ...before };
  for (const { sequence, at, type, payload, text } of entries) {
    next.to = sequence;
    next.at = at;
    if (type === "content_delta") next.text += text ?? textOf(payload, "text") ?? "";
    else if (type === "reasoning_delta") next.reasoning += text ?? textOf(payload, "text") ?? "";
    else if (type === "content_snapshot") {
      next.text = textOf(payload, "text") ?? "";
      next.reasoning = textOf(payload, "reasoning") ?? next.reasoning;
    }
  }
  return next;
}

function textOf(payload: string, key: string): string | undefined {
  const value = asRecord(parseJson(payload)?.value)?.[key];
  return typeof value === "string" ? value : undefined;
}
