// Who reads a run: attaches streams to its log, and notices when the last reader has been gone for too long.
import type { AttachQuery, Refusal } from "../schemas/attach.ts";
import type { LogEntry } from "../schemas/event.ts";
import type { ThreadBase } from "../schemas/thread.ts";
import type { DialectRun, EntryDialect, LogDialect } from "../src/dialects/dialect.ts";
import { dialectIn, isDialectId } from "../src/dialects/index.ts";
import { damagedLog, goneLog, replacedText } from "../src/run/reader-faults.ts";
import { ownFrames, sharedFrames } from "./frames.ts";
import type { RunLog } from "./run-log.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { positionOf, seenOf } from "./run-view.ts";
import { emptyTranscript, readOn, type Transcript } from "./transcript.ts";
import { viewerStream, type ViewerOptions } from "./viewer.ts";
import type { Timer } from "./within.ts";

export interface Readers {
  /** `base`: what the run's thread held before it, for a dialect that tells it. */
  attach(query: AttachQuery, base?: ThreadBase): Response | Refusal;
  /** Resolves when nobody reads. */
  empty(): Promise<void>;
  /** The run is over: nobody's leaving matters any more. */
  stop(): void;
}

export interface ReadersOptions {
  log: RunLog;
  store: RunLogStore;
  row: RunRow;
  /** No reader has been there for `disconnectGraceMs`, and the run was to end then. */
  onAbandoned(): void;
}

export function runReaders({ log, store, row, onAbandoned }: ReadersOptions): Readers {
  const { runId, limits, policies } = row.plan;
  const shared = sharedFrames(dialectRun(row, undefined));
  let transcript: Transcript = emptyTranscript;
  let viewers = 0;
  let left = Promise.withResolvers<void>();
  let stopped = false;
  let graceTimer: Timer | undefined;

  function armGrace(): void {
    if (stopped || policies.onDisconnect === "continue") return;
    graceTimer = setTimeout(() => {
      if (viewers === 0) onAbandoned();
    }, limits.disconnectGraceMs);
  }

  function viewerLeft(): void {
    viewers--;
    if (viewers > 0) return;
    left.resolve();
    left = Promise.withResolvers();
    armGrace();
  }

  /** Reads on from where the last such reader stopped: a late joiner costs what is new. */
  function transcriptTo(end: number): Transcript {
    while (transcript.to < end) {
      const page = log.page(transcript.to);
      if ("damagedTo" in page) break;
      transcript = readOn(
        transcript,
        page.entries.filter(({ sequence }) => sequence <= end),
      );
    }
    return transcript;
  }

  type Start = Pick<ViewerOptions, "frames" | "cursor" | "opening">;

  /** A reader of entries. Its answer when there is nothing to read. */
  function readEntries(dialect: EntryDialect, { from }: AttachQuery, end: number): Start | Response | Refusal {
    const { cursor, opening } = positionOf(from, end, () => transcriptTo(end));
    if (cursor > log.visibleTo) return { refused: "cursor_ahead" };
    if (log.sealed && cursor === log.visibleTo) {
      return dialect.ending === undefined
        ? new Response(null, { status: 204 })
        : new Response(dialect.preamble + dialect.ending, { headers: { "content-type": dialect.contentType } });
    }
    const frames = shared(dialect);
    return { frames, cursor, opening: opening === undefined ? "" : frames.text([opening]).frames };
  }

  /** From the beginning, as far as they can be read. */
  function* entries(): Generator<LogEntry> {
    for (let to = -1; to < log.visibleTo;) {
      const page = log.page(to);
      if ("damagedTo" in page) return;
      yield* page.entries;
      to = page.entries.at(-1)?.sequence ?? log.visibleTo;
    }
  }

  function readLog(dialect: LogDialect, { from }: AttachQuery, end: number, base: ThreadBase | undefined): Start {
    const reading = dialect.follow(dialectRun(row, base), seenOf(from, end), log.visibleTo, entries());
    return { frames: ownFrames(reading), cursor: -1, opening: reading.opening };
  }

  // Readers that a restart has cut off have the same time to come back as any that left.
  if (row.terminal === undefined && row.attached) armGrace();

  return {
    attach(query, base) {
      if (row.swept) return { refused: "gone" };
      const dialect = isDialectId(query.dialect) ? dialectIn(query.dialect, query.framing) : undefined;
      if (dialect === undefined) return { refused: "not_found" };
      const end = row.terminal === undefined ? log.visibleTo : row.terminal - 1;
      const start = "follow" in dialect ? readLog(dialect, query, end, base) : readEntries(dialect, query, end);
      if (start instanceof Response || "refused" in start) return start;
      viewers++;
      if (policies.onDisconnect === "cancel" && !row.attached) {
        store.markAttached();
        row.attached = true;
      }
      if (graceTimer !== undefined) clearTimeout(graceTimer);
      const stream = viewerStream({
        log,
        dialect,
        ...start,
        heartbeatMs: limits.heartbeatMs,
        damage: damagedLog(runId),
        gone: goneLog(runId),
        replaced: replacedText(runId),
        onClose: viewerLeft,
      });
      return new Response(stream, { headers: { "content-type": dialect.contentType } });
    },
    empty: () => (viewers === 0 ? Promise.resolve() : left.promise),
    stop() {
      stopped = true;
      if (graceTimer !== undefined) clearTimeout(graceTimer);
    },
  };
}

/** The run as a dialect knows it. */
function dialectRun(row: RunRow, base: ThreadBase | undefined): DialectRun {
  const { runId, chat, thread, chain, agent, ingest } = row.plan;
  const models = chain.flatMap(({ id, target }) => (target.model === undefined ? [] : [[id, target.model]]));
  return {
    runId,
    startedAt: row.startedAt,
    models: Object.fromEntries(models),
    carried: agent?.carried ?? [],
    maxAttempts: chain.reduce((sum, { retries }) => sum + 1 + retries, 0),
    get ask() {
      return row.plan.ask;
    },
    ...(ingest !== undefined && { ingest }),
    ...(chat !== undefined && { chatId: chat.chatId }),
    ...(thread !== undefined && {
      thread: { threadId: thread.threadId, modes: thread.modes, ...(base !== undefined && { base }) },
    }),
  };
}
