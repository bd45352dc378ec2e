// Frames of a batch: encoded once per dialect, viewers that stand at the same place share the bytes; or for one reader alone, in a dialect that asks for that.
import type { LogEntry } from "../schemas/event.ts";
import type { DialectRun, EntryDialect, Reading } from "../src/dialects/dialect.ts";

/** Batches must come in order. */
export interface Frames {
  text(entries: readonly LogEntry[]): string;
  bytes(entries: readonly LogEntry[]): Uint8Array;
}

export function sharedFrames(run: DialectRun): (dialect: EntryDialect) => Frames {
  const made = new Map<EntryDialect, Frames>();
  return (dialect) => {
    const frames = made.get(dialect) ?? keptFrames(dialect.encoder(run));
    made.set(dialect, frames);
    return frames;
  };
}

export const ownFrames = ({ encode }: Reading): Frames => framesBy(encode);

function keptFrames(encode: (entry: LogEntry) => string): Frames {
  const { text, bytes } = framesBy(encode);
  let kept: { first: number; last: number; bytes: Uint8Array } | undefined;
  return {
    text,
    bytes(entries) {
      const first = entries[0]?.sequence ?? 0;
      const last = entries.at(-1)?.sequence ?? 0;
      if (kept?.first !== first || kept.last !== last) kept = { first, last, bytes: bytes(entries) };
      return kept.bytes;
    },
  };
}

function framesBy(encode: (entry: LogEntry) => string): Frames {
  const encoder = new TextEncoder();
  const text = (entries: readonly LogEntry[]): string => {
    let joined = "";
    for (const entry of entries) joined += encode(entry);
    return joined;
  };
  return { text, bytes: (entries) => encoder.encode(text(entries)) };
}
