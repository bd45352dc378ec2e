// Frames of a batch, encoded once per dialect: viewers that stand at the same place share the bytes.
import type { LogEntry } from "../schemas/event.ts";
import type { Dialect, DialectRun } from "../src/dialects/dialect.ts";

export interface Frames {
  text(dialect: Dialect, entries: readonly LogEntry[]): string;
  bytes(dialect: Dialect, entries: readonly LogEntry[]): Uint8Array;
}

export function frames(run: DialectRun): Frames {
  const encoder = new TextEncoder();
  const encoders = new Map<Dialect, (entry: LogEntry) => string>();
  const kept = new Map<Dialect, { first: number; last: number; bytes: Uint8Array }>();

  const text: Frames["text"] = (dialect, entries) => {
    const encode = encoders.get(dialect) ?? dialect.encoder(run);
    encoders.set(dialect, encode);
    let joined = "";
    for (const entry of entries) joined += encode(entry);
    return joined;
  };

  return {
    text,
    bytes(dialect, entries) {
      const first = entries[0]?.sequence ?? 0;
      const last = entries.at(-1)?.sequence ?? 0;
      const before = kept.get(dialect);
      if (before?.first === first && before.last === last) return before.bytes;
      const bytes = encoder.encode(text(dialect, entries));
      kept.set(dialect, { first, last, bytes });
      return bytes;
    },
  };
}
