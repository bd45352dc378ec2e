// Who reads a run: attaches streams to its log, and notices when the last reader has been gone for too long.
import type { AttachQuery, Refusal } from "../schemas/attach.ts";
import { dialectIn, isDialectId } from "../src/dialects/index.ts";
import { damagedLog, replacedText } from "../src/run/outcome.ts";
import { frames } from "./frames.ts";
import type { RunLog } from "./run-log.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { positionOf } from "./run-view.ts";
import { emptyTranscript, readOn, type Transcript } from "./transcript.ts";
import { viewerStream } from "./viewer.ts";
import type { Timer } from "./within.ts";

export interface Readers {
  attach(query: AttachQuery): Response | Refusal;
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
  const { runId, limits, policies, chat } = row.plan;
  const shared = frames({ runId, startedAt: row.startedAt, ...(chat !== undefined && { chatId: chat.chatId }) });
  let transcript: Transcript = emptyTranscript;
  let viewers = 0;
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
    if (viewers === 0) armGrace();
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

  // Readers that a restart has cut off have the same time to come back as any that left.
  if (row.terminal === undefined && row.attached) armGrace();

  return {
    attach(query) {
      if (row.swept) return { refused: "gone" };
      const dialect = isDialectId(query.dialect) ? dialectIn(query.dialect, query.framing) : undefined;
      if (dialect === undefined) return { refused: "not_found" };
      const end = row.terminal === undefined ? log.visibleTo : row.terminal - 1;
      const position = positionOf(query.from, end, () => transcriptTo(end));
      if (position.cursor > log.visibleTo) return { refused: "cursor_ahead" };
      const headers = { "content-type": dialect.contentType };
      if (log.sealed && position.cursor === log.visibleTo) {
        return dialect.ending === undefined
          ? new Response(null, { status: 204 })
          : new Response(dialect.preamble + dialect.ending, { headers });
      }
      viewers++;
      if (policies.onDisconnect === "cancel" && !row.attached) {
        store.markAttached();
        row.attached = true;
      }
      if (graceTimer !== undefined) clearTimeout(graceTimer);
      const stream = viewerStream({
        log,
        frames: shared,
        dialect,
        ...position,
        heartbeatMs: limits.heartbeatMs,
        damage: damagedLog(runId),
        replaced: replacedText(runId),
        onClose: viewerLeft,
      });
      return new Response(stream, { headers });
    },
    stop() {
      stopped = true;
      if (graceTimer !== undefined) clearTimeout(graceTimer);
    },
  };
}
