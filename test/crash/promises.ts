// What a restart may change and what it must not, checked on events as readers received them. Reads nothing from a server.
import { expect } from "vitest";
import { framesOf, shownText, type WireEvent } from "../support/api.ts";

/** An event with its bytes: readers must agree to the letter. */
export interface Received {
  readonly data: string;
  readonly event: WireEvent;
}

/** The whole frames of an SSE stream that may have been cut anywhere. */
export function receivedIn(raw: string): Received[] {
  const whole = raw.slice(0, raw.lastIndexOf("\n\n") + 2);
  return framesOf(whole).map(({ id, data }) => {
    const event: WireEvent = JSON.parse(data);
    expect(id, data).toBe(String(event.sequence));
    return { data, event };
  });
}

export const eventsIn = (received: readonly Received[]): WireEvent[] => received.map(({ event }) => event);

/** Numbers that a recovery voided. */
export interface Released {
  from: number;
  to: number;
}

const isReleased = ({ type, payload }: WireEvent): boolean =>
  type === "diagnostic" && payload["code"] === "sequence_released";

/** What one reader has collected over all of its connections: every number once, one end, and that end's text. */
export function expectWhole(events: readonly WireEvent[]): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
  const end = events.at(-1);
  expect(end?.type).toBe("terminal");
  expect(shownText(events)).toBe(end?.payload["finalText"] ?? end?.payload["partialText"]);
}

/**
 * A log as it stands after its restarts: times never go back, and each recovery that voided numbers after the commit
 * point restates text and reasoning right behind them. Gives the voided ranges.
 */
export function expectRestated(standing: readonly WireEvent[]): Released[] {
  for (const [index, event] of standing.entries()) {
    expect(event.timestamp).toBeGreaterThanOrEqual(standing[index - 1]?.timestamp ?? 0);
  }
  const ranges = releasedRanges(standing);
  const restated = ranges.filter(({ from, to }) => {
    const before = standing.slice(0, from);
    const next = standing[to + 1];
    if (!before.some(({ type, payload }) => type === "attempt" && payload["phase"] === "committed")) return false;
    expect(next).toMatchObject({
      type: "content_snapshot",
      timestamp: standing[from]?.timestamp,
      payload: { text: shownText(before), reasoning: shownReasoning(before), releasedFrom: from },
    });
    return true;
  });
  const restatements = standing.filter(({ payload }) => payload["releasedFrom"] !== undefined);
  expect(restatements.map(({ payload }) => payload["releasedFrom"])).toEqual(restated.map(({ from }) => from));
  return ranges;
}

/** Two recoveries before the commit point can leave ranges side by side: their times tell them apart. */
function releasedRanges(standing: readonly WireEvent[]): Released[] {
  const ranges: Released[] = [];
  for (const event of standing) {
    if (!isReleased(event)) continue;
    const { sequence } = event;
    const last = ranges.at(-1);
    if (last?.to === sequence - 1 && standing[last.to]?.timestamp === event.timestamp) last.to = sequence;
    else ranges.push({ from: sequence, to: sequence });
  }
  return ranges;
}

/** Every number that a reader saw still carries the same bytes, unless it was voided; what was flushed first never is. */
export function expectKept(seen: readonly Received[], standing: readonly Received[]): void {
  let first = false;
  for (const { data, event } of seen) {
    const { type, payload } = event;
    const now = standing[event.sequence];
    const output = outputs.includes(type);
    const kept = isFlushFirst(event) || (first && output);
    if (now?.data !== data) {
      expect(kept, `lost or changed: ${data}`).toBe(false);
      expect(now !== undefined && isReleased(now.event), `changed: ${data}\nnow: ${now?.data}`).toBe(true);
    }
    if (output) first = false;
    if (type === "attempt" && payload["phase"] === "committed") first = true;
  }
}

const outputs = ["content_delta", "content_snapshot", "reasoning_delta", "tool_call", "tool_call_delta"];

function isFlushFirst({ type, payload }: WireEvent): boolean {
  if (type === "attempt") return payload["phase"] === "committed";
  return type === "content_snapshot" || type === "tool_call" || type === "terminal";
}

/** What a strict run showed is unchanged, and no number was ever reserved. */
export function expectUntouched(seen: readonly Received[], standing: readonly Received[]): void {
  expect(standing.slice(0, seen.length).map(({ data }) => data)).toEqual(seen.map(({ data }) => data));
  expect(standing.filter(({ event }) => isReleased(event))).toEqual([]);
}

function shownReasoning(events: readonly WireEvent[]): string {
  let reasoning = "";
  for (const { type, payload } of events) {
    if (type === "reasoning_delta") reasoning += String(payload["text"]);
    const restated = type === "content_snapshot" ? payload["reasoning"] : undefined;
    if (typeof restated === "string") reasoning = restated;
  }
  return reasoning;
}
