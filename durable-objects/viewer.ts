// One attached reader: a cursor, a dialect and a byte stream that is only filled when it is pulled. It keeps no queue and never writes to the log.
import type { LogEntry } from "../schemas/event.ts";
import type { IndeRunError } from "../schemas/problem.ts";
import type { Dialect } from "../src/dialects/dialect.ts";
import type { Frames } from "./frames.ts";
import type { RunLog } from "./run-log.ts";
import { within } from "./within.ts";

export interface ViewerOptions {
  log: RunLog;
  frames: Frames;
  dialect: Dialect;
  /** Last sequence the reader has seen; -1 for none. */
  cursor: number;
  /** Stands for everything up to `cursor`; sent first. */
  opening: LogEntry | undefined;
  heartbeatMs: number;
  /** What a reader is told when part of the log cannot be read. */
  damage: IndeRunError;
  /** Runs once, when the reader has left or has everything. */
  onClose(): void;
}

/** Ends after the terminal. A reader that stalls costs nothing; one that leaves is noticed at the next write. */
export function viewerStream(options: ViewerOptions): ReadableStream<Uint8Array> {
  const { log, frames, dialect, heartbeatMs } = options;
  const encoder = new TextEncoder();
  let { cursor } = options;
  /** Goes out with the first bytes, whatever they are. */
  let prefix = dialect.preamble + (options.opening === undefined ? "" : frames.text(dialect, [options.opening]));
  let hasOpening = options.opening !== undefined;
  let damaged = false;
  let open = true;

  const close = (): void => {
    if (!open) return;
    open = false;
    options.onClose();
  };

  const withPrefix = (text: string): Uint8Array => {
    const bytes = encoder.encode(prefix + text);
    prefix = "";
    return bytes;
  };

  /** The next bytes, if there are any. */
  const next = (): Uint8Array | undefined => {
    const page = log.page(cursor);
    if ("damagedTo" in page) {
      cursor = page.damagedTo;
      if (damaged) return undefined;
      damaged = true;
      return withPrefix(dialect.failure(options.damage));
    }
    // After damage only the end is told: what lies between would hide the gap.
    const entries = damaged ? page.entries.filter(({ type }) => type === "terminal") : page.entries;
    cursor = page.entries.at(-1)?.sequence ?? cursor;
    if (entries.length === 0 && !hasOpening) return undefined;
    hasOpening = false;
    return prefix === "" ? frames.bytes(dialect, entries) : withPrefix(frames.text(dialect, entries));
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (open) {
          const bytes = next();
          if (bytes !== undefined) controller.enqueue(bytes);
          if ((log.gone && bytes === undefined) || (log.sealed && cursor >= log.visibleTo)) {
            controller.close();
            close();
            return;
          }
          if (bytes !== undefined) return;
          if (cursor < log.visibleTo) continue;
          // A reader that leaves meanwhile is only forgotten at the next wake: nothing is held back by that.
          const moved = await within(log.changed(), heartbeatMs);
          if (moved || !open) continue;
          controller.enqueue(withPrefix(dialect.heartbeat));
          hasOpening = false;
          return;
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
