// One attached reader: a cursor, a dialect and a byte stream that is only filled when it is pulled. It keeps no queue and never writes to the log.
import type { LogEntry } from "../schemas/event.ts";
import type { Dialect } from "../src/dialects/dialect.ts";
import type { RunLog } from "./run-log.ts";
import { within } from "./within.ts";

export interface ViewerOptions {
  runId: string;
  log: RunLog;
  dialect: Dialect;
  /** Last sequence the reader has seen; -1 for none. */
  cursor: number;
  /** Stands for everything up to `cursor`; sent first. */
  opening: LogEntry | undefined;
  heartbeatMs: number;
  /** Runs once, when the reader has left or has everything. */
  onClose(): void;
}

/** Ends after the terminal. A reader that stalls costs nothing; one that leaves is noticed at the next write. */
export function viewerStream(options: ViewerOptions): ReadableStream<Uint8Array> {
  const { runId, log, dialect, heartbeatMs } = options;
  const encoder = new TextEncoder();
  let { cursor, opening } = options;
  let prefix = dialect.preamble;
  let open = true;
  const leave = Promise.withResolvers<void>();

  const close = (): void => {
    if (!open) return;
    open = false;
    leave.resolve();
    options.onClose();
  };

  const next = (): string => {
    const text = opening === undefined ? "" : dialect.encode(runId, opening);
    opening = undefined;
    const entries = log.page(cursor);
    cursor = entries.at(-1)?.sequence ?? cursor;
    return text + entries.map((entry) => dialect.encode(runId, entry)).join("");
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (open) {
          const text = next();
          const finished = log.gone || (log.sealed && cursor >= log.durableTo);
          if (text !== "") {
            controller.enqueue(encoder.encode(prefix + text));
            prefix = "";
          }
          if (finished) {
            controller.close();
            close();
          }
          if (text !== "" || finished) return;
          const moved = await within(Promise.race([log.changed(), leave.promise]), heartbeatMs);
          if (moved) continue;
          controller.enqueue(encoder.encode(prefix + dialect.heartbeat));
          prefix = "";
          return;
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
