// DeerFlow's frames and their ids: every frame of a log has one, `{sequence + 1}-{k}`, counted per entry. Knows nothing of what frames say.
import type { Seen } from "./dialect.ts";

/** A frame of an entry, by its place among that entry's frames. */
export interface Place {
  sequence: number;
  frame: number;
}

export const NOTHING: Place = { sequence: -2, frame: 0 };

/** Ids of another making, and such as the log has not come to, are nothing seen. */
export function placeOf(seen: Seen, end: number): Place {
  if (seen === "nothing") return NOTHING;
  if ("after" in seen) return { sequence: seen.after, frame: Number.POSITIVE_INFINITY };
  const [, entry, frame] = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,8})$/.exec(seen.id) ?? [];
  const place = { sequence: Number(entry) - 1, frame: Number(frame) };
  const isKnown = place.sequence <= end && (place.sequence >= 0 || place.frame === 0);
  return entry !== undefined && isKnown ? place : NOTHING;
}

export interface FrameWriter {
  /** A frame with the next id of its entry; `data` is only asked for when the reader has not seen it. */
  add(event: string, data: () => string): void;
  /** One that tells no place, and that no reader has seen. */
  addLast(event: string, data: string): void;
  wire(): string;
  /** How many frames with an id the entry has. */
  count(): number;
}

/** The frames of the entry `sequence`; -1: those before all entries. */
export function frameWriter(sequence: number, seen: Place): FrameWriter {
  let wire = "";
  let next = 0;
  return {
    add(event, data) {
      const frame = next++;
      const isSeen = sequence < seen.sequence || (sequence === seen.sequence && frame <= seen.frame);
      if (!isSeen) wire += `event: ${event}\ndata: ${data()}\nid: ${sequence + 1}-${frame}\n\n`;
    },
    addLast(event, data) {
      wire += `event: ${event}\ndata: ${data}\n\n`;
    },
    wire: () => wire,
    count: () => next,
  };
}
