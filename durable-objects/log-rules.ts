// What holds for an event before anybody may see it: how many numbers are reserved ahead, and what must be stored first. Pure.
import type { LogEvent, OtherEvent } from "../schemas/event.ts";

const MAX_RESERVE = 4096;

export type Logged = LogEvent | OtherEvent;

export interface LogOptions {
  /** Flush before deliver: nothing is reserved. */
  strict: boolean;
  /** Milliseconds an entry may wait for its flush. */
  flushMs: number;
  /** Numbers reserved ahead, at least. */
  reserveEvents: number;
  sealed: boolean;
}

/**
 * Numbers to reserve beyond the last one of a flush: twice what comes in `flushMs` at the present rate, so that the next
 * flush is due by its clock and not by the block running out. Grows by doubling at most.
 */
export function reservation(
  { taken, elapsedMs, before }: { taken: number; elapsedMs: number; before: number },
  { strict, reserveEvents, flushMs }: Pick<LogOptions, "strict" | "reserveEvents" | "flushMs">,
): number {
  if (strict) return 0;
  const wanted = (2 * taken * flushMs) / Math.max(1, Math.min(elapsedMs, flushMs));
  return Math.min(MAX_RESERVE, Math.max(reserveEvents, Math.min(Math.ceil(wanted), 2 * before)));
}

/** The reservation of a run that starts or was recovered. */
export const firstReservation = ({ strict, reserveEvents }: LogOptions): number => (strict ? 0 : reserveEvents);

/** What a reader may only see once it is stored: it cannot be taken back by a crash. */
export function isFlushFirst(event: Logged): boolean {
  switch (event.type) {
    case "attempt":
      return event.payload.phase === "committed";
    case "step":
      // From here on the step's tools may run.
      return event.payload.phase === "finished";
    case "content_snapshot":
    case "tool_call":
    case "tool_result":
    case "max_steps":
    case "retrieval":
    case "terminal":
      return true;
    case "content_delta":
    case "reasoning_delta":
    case "tool_call_delta":
    case "lifecycle":
    case "diagnostic":
    case "usage":
    case "tool_progress":
    case "preparation_progress":
    case "context_usage":
    case "title":
    case "other":
      return false;
  }
}

/** Where a run has got to something that others may go by. The terminal is told apart. */
export const isMilestone = ({ type, payload }: Logged): boolean =>
  type === "tool_result" || (type === "step" && payload.phase === "finished");
