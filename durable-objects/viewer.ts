// One attached reader: a cursor, a dialect and a byte stream that is only filled when it is pulled. It keeps no queue and never writes to the log.
import * as v from "valibot";
import { payloadSchemas, type LogEntry } from "../schemas/event.ts";
import type { IndeRunError } from "../schemas/problem.ts";
import type { Dialect } from "../src/dialects/dialect.ts";
import { parseJson } from "../src/wire/json.ts";
import type { Frames } from "./frames.ts";
import type { RunLog } from "./run-log.ts";
import { within } from "./within.ts";

export interface ViewerOptions {
  log: RunLog;
  frames: Frames;
  dialect: Dialect;
  /** Last sequence that the reader needs no frames of; -1 for none. */
  cursor: number;
  /** Stands for everything up to `cursor`; sent first. */
  opening: string;
  heartbeatMs: number;
  /** What a reader is told when part of the log cannot be read. */
  damage: IndeRunError;
  /** What a reader is told that has not read to the end of a log that is gone. */
  gone: IndeRunError;
  /** What a reader is told that cannot replace what it has shown, and would have to. */
  replaced: IndeRunError;
  /** Runs once, when the reader has left or has everything. */
  onClose(): void;
}

/** Ends after the terminal. A reader that stalls costs nothing; one that leaves is noticed at the next write. */
export function viewerStream(options: ViewerOptions): ReadableStream<Uint8Array> {
  const { log, frames, dialect, heartbeatMs } = options;
  const replaces = "follow" in dialect || dialect.replaces;
  const encoder = new TextEncoder();
  let { cursor } = options;
  /** Goes out with the first bytes, whatever they are. */
  let prefix = dialect.preamble + options.opening;
  let hasOpening = options.opening !== "";
  let damaged = false;
  /** The reader was told of a failure that nothing may follow. */
  let failed = false;
  let open = true;
  /** When the reader was last sent something. */
  let sentAt = Date.now();

  const close = (): void => {
    if (!open) return;
    open = false;
    options.onClose();
  };

  const withPrefix = (text: string): Uint8Array => {
    const bytes = encoder.encode(prefix + text);
    prefix = "";
    hasOpening = false;
    return bytes;
  };

  /** The next bytes, if there are any. */
  const next = (): Uint8Array | undefined => {
    for (;;) {
      const page = log.page(cursor);
      if ("damagedTo" in page) {
        cursor = page.damagedTo;
        if (damaged) continue;
        damaged = true;
        failed = !replaces;
        return withPrefix(dialect.failure(options.damage));
      }
      if (page.entries.length === 0) return hasOpening ? withPrefix("") : undefined;
      const bytes = take(page.entries);
      if (bytes.length > 0) return bytes;
    }
  };

  /** Moves the cursor over the entries, or the first of them. No bytes when this dialect shows nothing of them. */
  const take = (read: readonly LogEntry[]): Uint8Array => {
    // After damage only the end is told: what lies between would hide the gap.
    const entries = damaged ? read.filter(({ type }) => type === "terminal") : read;
    const end = replaces ? -1 : entries.findIndex((entry) => isReplacement(entry, log, options.cursor));
    if (end >= 0) {
      failed = true;
      return withPrefix(frames.text(entries.slice(0, end)).frames + dialect.failure(options.replaced));
    }
    const isFirst = prefix !== "";
    const none = { frames: nothing, taken: 0 };
    const batch = isFirst ? frames.text(entries) : entries.length === 0 ? none : frames.bytes(entries);
    const last = batch.taken < entries.length ? entries[batch.taken - 1] : read.at(-1);
    cursor = last?.sequence ?? cursor;
    if (typeof batch.frames !== "string") return batch.frames;
    return batch.frames === "" && !hasOpening ? nothing : withPrefix(batch.frames);
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (open) {
          const bytes = next();
          if (bytes !== undefined) {
            controller.enqueue(bytes);
            sentAt = Date.now();
          }
          const isOver = log.sealed && cursor >= log.visibleTo;
          const isCut = log.gone && bytes === undefined && !isOver && !failed;
          if (isCut) controller.enqueue(withPrefix(dialect.failure(options.gone)));
          if (failed || isCut || isOver) {
            controller.close();
            close();
            return;
          }
          if (bytes !== undefined) return;
          if (cursor < log.visibleTo) continue;
          // A reader that leaves meanwhile is only forgotten at the next wake: nothing is held back by that. What wakes it
          // may be nothing that its dialect shows.
          // And the time may have been set back.
          const left = Math.min(sentAt + heartbeatMs - Date.now(), heartbeatMs);
          const moved = left > 0 && (await within(log.changed(), left));
          if (moved || !open) continue;
          controller.enqueue(withPrefix(dialect.heartbeat));
          sentAt = Date.now();
          return;
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}

const nothing = new Uint8Array();

/** Whether a reader that came with this cursor would have to replace what it has shown: what a crash voided only if it saw it. */
function isReplacement({ sequence, type, payload }: LogEntry, log: RunLog, cursor: number): boolean {
  if (type !== "content_snapshot") return false;
  const snapshot = parseJson(payload)?.value;
  if (!v.is(payloadSchemas.content_snapshot, snapshot)) return true;
  return snapshot.releasedFrom === undefined ? hasOutputBefore(log, sequence) : cursor >= snapshot.releasedFrom;
}

/** Whether a reader may have shown something by then. */
function hasOutputBefore(log: RunLog, sequence: number): boolean {
  for (let read = -1; ;) {
    const page = log.page(read);
    if ("damagedTo" in page) return true;
    const before = page.entries.filter((entry) => entry.sequence < sequence);
    if (before.some(({ type }) => OUTPUT.has(type))) return true;
    const last = before.at(-1);
    if (last === undefined) return false;
    read = last.sequence;
  }
}

const OUTPUT: ReadonlySet<string> = new Set(["content_delta", "reasoning_delta", "content_snapshot"]);
