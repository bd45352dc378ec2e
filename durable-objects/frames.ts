// Frames of a batch: encoded once per dialect, viewers that stand at the same place share the bytes; or for one reader alone, in a dialect that asks for that.
import type { LogEntry } from "../schemas/event.ts";
import type { DialectRun, EntryDialect, Reading } from "../src/dialects/dialect.ts";

/** Batches must come in order. What was not taken of one comes first in the next. */
export interface Frames {
  text(entries: readonly LogEntry[]): Batch<string>;
  bytes(entries: readonly LogEntry[]): Batch<Uint8Array>;
}

/** The frames of the first `taken` entries. */
export interface Batch<T> {
  frames: T;
  taken: number;
}

/** UTF-16 units after which a reader's own batch ends: a frame may be megabytes, and a page of the log may have many of them. */
const OWN_UNITS = 65_536;

export function sharedFrames(run: DialectRun): (dialect: EntryDialect) => Frames {
  const made = new Map<EntryDialect, Frames>();
  return (dialect) => {
    const frames = made.get(dialect) ?? keptFrames(dialect.encoder(run));
    made.set(dialect, frames);
    return frames;
  };
}

export const ownFrames = ({ encode }: Reading): Frames => framesBy(encode, OWN_UNITS);

function keptFrames(encode: (entry: LogEntry) => string): Frames {
  const { text, bytes } = framesBy(encode, Number.POSITIVE_INFINITY);
  let kept: { first: number; last: number; batch: Batch<Uint8Array> } | undefined;
  return {
    text,
    bytes(entries) {
      const first = entries[0]?.sequence ?? 0;
      const last = entries.at(-1)?.sequence ?? 0;
      if (kept?.first !== first || kept.last !== last) kept = { first, last, batch: bytes(entries) };
      return kept.batch;
    },
  };
}

function framesBy(encode: (entry: LogEntry) => string, most: number): Frames {
  const encoder = new TextEncoder();
  const text = (entries: readonly LogEntry[]): Batch<string> => {
    let frames = "";
    let taken = 0;
    for (const entry of entries) {
      frames += encode(entry);
      taken++;
      if (frames.length >= most) break;
    }
    return { frames, taken };
  };
  return {
    text,
    bytes(entries) {
      const { frames, taken } = text(entries);
      return { frames: encoder.encode(frames), taken };
    },
  };
}
