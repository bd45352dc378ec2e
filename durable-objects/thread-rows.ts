// What readers are given of a thread's records: messages and pages of them, a run's events, its changes, what was used. Changes nothing.
import type {
  MessagePage,
  MessageRow,
  MessagesQuery,
  PageQuery,
  RowsAnswer,
  RunEventsQuery,
  RunMessagePage,
  RunMessagesQuery,
  RunTotals,
  ThreadTokenUsage,
  WorkspaceChanges,
  WorkspaceQuery,
} from "../schemas/thread-rows.ts";
import type { ThreadRecord } from "../schemas/thread.ts";
import { isSecretKey } from "../src/run/secret-keys.ts";
import { MARKS } from "../src/thread/record-marks.ts";
import { redacted } from "../src/thread/redaction.ts";
import { messagePage, messageRows, runMessagePage, type RunNotes } from "../src/thread/rows.ts";
import { runTotals, tokenUsage } from "../src/thread/usage.ts";
import { workspaceChanges } from "../src/thread/workspace.ts";
import type { ThreadFeedback } from "./thread-feedback.ts";
import type { RecordRange, ThreadRecords } from "./thread-records.ts";
import type { ThreadRunStore } from "./thread-run-store.ts";
import type { ThreadStore } from "./thread-store.ts";

export interface ThreadRows {
  messages(query: MessagesQuery): RowsAnswer<MessageRow>;
  messagesPage(query: PageQuery): MessagePage;
  runMessages(query: RunMessagesQuery): RunMessagePage;
  runEvents(query: RunEventsQuery): RowsAnswer<ThreadRecord>;
  workspaceChanges(query: WorkspaceQuery): WorkspaceChanges;
  tokenUsage(includeActive: boolean): ThreadTokenUsage;
  runTotals(runIds: readonly string[]): Record<string, RunTotals>;
}

interface Parts {
  store: ThreadStore;
  runs: ThreadRunStore;
  records: ThreadRecords;
  feedback: ThreadFeedback;
}

export function threadRows({ store, runs, records, feedback }: Parts): ThreadRows {
  const hidden = (): string[] => (store.isReady() ? runs.superseded() : []);

  const notesOn = (rows: readonly ThreadRecord[]): RunNotes => {
    const runIds = namesIn(rows);
    return { feedback: feedback.notes(runIds), durations: durationsOf(runIds) };
  };
  const durationsOf = (runIds: readonly string[]): Map<string, number> =>
    store.isReady() ? runs.durations(runIds) : new Map<string, number>();

  return {
    messages(query) {
      const read = records.read({ messages: true, without: hidden() }, rangeOf(query, query.limit));
      return read.cut ? { refused: "too_large" } : { rows: messageRows(read.records, notesOn(read.records)) };
    },
    messagesPage(query) {
      const { limit } = query;
      const filter = { messages: true, marks: MARKS.page, without: hidden() };
      const read = records.read(filter, rangeOf(query, limit + 1));
      const last = records.lastMarked(namesIn(read.records), MARKS.page | MARKS.answer);
      return messagePage(read.records, read.cut, limit, last, notesOn(read.records));
    },
    runMessages(query) {
      const { runId, limit } = query;
      const range = rangeOf(query, limit + 1);
      const read = records.read({ runId, messages: true }, range);
      return runMessagePage(read.records, read.cut, limit, range.from, durationsOf([runId]));
    },
    runEvents({ runId, eventTypes, taskId, ...query }) {
      const filter = {
        runId,
        ...(eventTypes !== undefined && { eventTypes }),
        ...(taskId !== undefined && { taskId }),
      };
      const read = records.read(filter, { ...rangeOf(query, query.limit), from: "start" });
      if (read.cut) return { refused: "too_large" };
      return { rows: read.records.map((row) => ({ ...row, metadata: redacted(row.metadata, isSecretKey) })) };
    },
    workspaceChanges({ runId, ...wanted }) {
      const filter = { runId, eventTypes: ["workspace_changes"] };
      return workspaceChanges(records.read(filter, { limit: 1, from: "end" }).records[0], wanted);
    },
    tokenUsage(includeActive) {
      const counted = ["success", "error", ...(includeActive ? (["running"] as const) : [])] as const;
      const runIds = store.isReady() ? runs.runIdsOf(counted) : [];
      return tokenUsage(runIds.map((runId) => records.tallies.of(runId)));
    },
    runTotals: (runIds) => Object.fromEntries(runIds.map((runId) => [runId, runTotals(records.tallies.of(runId))])),
  };
}

/** With a lower bound the first records above it are meant, without one the last. */
const rangeOf = ({ afterSeq, beforeSeq }: Omit<MessagesQuery, "limit">, limit: number): RecordRange => ({
  limit,
  from: afterSeq === undefined ? "end" : "start",
  ...(afterSeq !== undefined && { after: afterSeq }),
  ...(beforeSeq !== undefined && { before: beforeSeq }),
});

const namesIn = (rows: readonly ThreadRecord[]): string[] => [...new Set(rows.map(({ runId }) => runId))];
