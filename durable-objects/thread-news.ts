// What runs tell their thread: records to be numbered, messages that become its state, an end. Each news is one transaction, and told twice it is kept once.
import {
  ROLLBACK,
  type RecordDraft,
  type ThreadNews,
  type ThreadNewsAnswer,
  type ThreadRunEnd,
} from "../schemas/thread.ts";
import { callIdsOf } from "../src/thread/model-messages.ts";
import { changesOf } from "../src/thread/reducer.ts";
import { stateMessages } from "../src/thread/state-messages.ts";
import type { ThreadRecords } from "./thread-records.ts";
import type { ThreadRunRow, ThreadRunStore } from "./thread-run-store.ts";
import type { ThreadStates } from "./thread-state.ts";
import type { ThreadStore } from "./thread-store.ts";

/** UTF-8 bytes of answers that the call of a result is looked for in. */
const MAX_LOOKED_BACK = 16 * 1024 * 1024;

export interface ThreadNewsDesk {
  take(news: ThreadNews, at: number): ThreadNewsAnswer;
  /** How a run ended of which there is no news. Its records may come yet. */
  endWithout(runId: string, end: ThreadRunEnd, at: number): void;
}

interface Parts {
  storage: DurableObjectStorage;
  store: ThreadStore;
  runs: ThreadRunStore;
  state: ThreadStates;
  records: Pick<ThreadRecords, "append">;
}

export function threadNews({ storage, store, runs, state, records }: Parts): ThreadNewsDesk {
  /** The thread has not gone on without the run. */
  const isLatest = (run: ThreadRunRow): boolean => run.status !== "lost" && state.head()?.runId === run.runId;

  /** Whether a call is in the state: it stands near the end, where its result has just come. */
  const isCalled = (checkpoint: number | undefined, toolCallId: string): boolean => {
    let room = MAX_LOOKED_BACK;
    for (const place of state.places(checkpoint).toReversed()) {
      if (place.type !== "ai") continue;
      if (callIdsOf([state.read(place)]).includes(toolCallId)) return true;
      room -= place.bytes;
      if (room < 0) return false;
    }
    return false;
  };

  const keepMessages = (run: ThreadRunRow, fresh: readonly RecordDraft[], withdrawn: readonly string[], at: number) => {
    const parent = state.head()?.id;
    const isThere = (id: string): boolean => state.has(parent, id);
    const hasCall = (id: string): boolean => id !== "" && isCalled(parent, id);
    const gone = [...new Set(withdrawn)].filter(isThere).map((id) => ({ type: "remove", id }));
    const reduced = changesOf([...gone, ...stateMessages(fresh, { hasMessage: isThere, hasCall })], isThere);
    if (!reduced.ok) throw new Error("Nothing is removed that is not there.");
    if (reduced.changes.length === 0) return;
    state.add({ parent, runId: run.runId, source: "loop", createdAt: at, changes: reduced.changes });
  };

  const keepEnd = (run: ThreadRunRow, end: ThreadRunEnd): void => {
    const head = state.head();
    if (head === undefined) return;
    if (end.error === ROLLBACK.error) return state.removeOf(run.runId);
    if (end.title !== undefined && end.title !== "") state.saveValues(head.id, { ...head.values, title: end.title });
    state.saveInterrupts(head.id, end.interrupts);
  };

  const end = (run: ThreadRunRow, told: ThreadRunEnd, at: number): void => {
    const latest = isLatest(run);
    runs.save({ ...run, status: told.status, stopReason: told.stopReason, error: told.error, updatedAt: at });
    if (latest) keepEnd(run, told);
    const thread = store.thread();
    if (thread === undefined || (!latest && thread.activeRun !== run.runId)) return;
    const activeRun = thread.activeRun === run.runId ? undefined : thread.activeRun;
    store.saveThread({ ...thread, activeRun, status: statusAfter(told), updatedAt: at });
  };

  return {
    take({ runId, records: told, through, withdrawn = [], end: ending }, at) {
      return storage.transactionSync(() => {
        const run = store.thread() === undefined ? undefined : runs.run(runId);
        if (run === undefined) return { known: false };
        if (through <= run.through && (ending === undefined || !isLive(run))) return { known: true };
        const fresh = told.filter(({ source }) => source > run.through);
        if (fresh.length > 0) records.append(runId, fresh);
        if (isLatest(run)) keepMessages(run, fresh, withdrawn, at);
        const heard: ThreadRunRow = { ...run, through, status: isLive(run) ? "running" : run.status };
        if (ending === undefined) runs.save(heard);
        else end(heard, ending, at);
        return { known: true };
      });
    },

    endWithout(runId, ending, at) {
      storage.transactionSync(() => {
        const run = store.thread() === undefined ? undefined : runs.run(runId);
        if (run !== undefined && (run.status === "pending" || run.status === "running")) end(run, ending, at);
      });
    },
  };
}

/** A run that was given up and says something runs after all. */
const isLive = ({ status }: ThreadRunRow): boolean => status === "pending" || status === "running" || status === "lost";

function statusAfter({ status, interrupts }: ThreadRunEnd): "idle" | "interrupted" | "error" {
  if (status === "error" || status === "timeout") return "error";
  return status === "interrupted" || interrupts.length > 0 ? "interrupted" : "idle";
}
