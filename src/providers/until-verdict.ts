// A reader of one body from a format's frames: events until the verdict, which is the last one and there is exactly one of. Knows no format.
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Stage } from "../wire/stage.ts";

export interface FrameReading<Frame> {
  /** The verdict has come: nothing more is read. */
  isDone(): boolean;
  /** Adds what one frame says. */
  frame(events: ProviderEvent[], frame: Frame): void;
  /** The body is over without a verdict: adds it. */
  bodyEnd(events: ProviderEvent[]): void;
}

export function untilVerdict<Frame>(
  frames: Stage<Uint8Array, Frame>,
  { isDone, frame, bodyEnd }: FrameReading<Frame>,
): Stage<Uint8Array, ProviderEvent> {
  let shown = false;

  /** An answer that gives no reason for its end and has shown nothing is none. */
  const proven = (events: ProviderEvent[]): ProviderEvent[] => {
    shown ||= events.some(isOutput);
    const last = events.at(-1);
    if (shown || last?.type !== "verdict" || last.verdict !== "complete") return events;
    if (last.stopReason !== undefined || last.finalText !== undefined) return events;
    return [...events.slice(0, -1), { type: "verdict", verdict: "truncated" }];
  };

  const read = (batch: readonly Frame[]): ProviderEvent[] => {
    const events: ProviderEvent[] = [];
    for (const one of batch) {
      if (isDone()) break;
      frame(events, one);
    }
    return events;
  };

  return {
    feed: (bytes) => (isDone() ? [] : proven(read(frames.feed(bytes)))),
    end: () => {
      if (isDone()) return [];
      const events = read(frames.end());
      if (!isDone()) bodyEnd(events);
      return proven(events);
    },
  };
}

/** Whether a user sees it. */
export const isOutput = ({ type }: ProviderEvent): boolean =>
  type === "text" || type === "snapshot" || type === "reasoning" || type === "tool_call" || type === "tool_call_delta";
