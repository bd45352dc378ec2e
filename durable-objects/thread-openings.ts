// How runs begin in a thread, and how one that was not started is taken back. Each change is one transaction; nothing here waits.
import type { JsonRecord } from "../schemas/json.ts";
import type { LangMessage, ThreadRunAnswer, ThreadRunRequest, ThreadUpdate } from "../schemas/thread.ts";
import { fitMessages } from "../src/run/fit-messages.ts";
import { utf8Length } from "../src/run/utf8.ts";
import { checkpointNumber, ROOT } from "../src/thread/checkpoint-id.ts";
import { MAX_PIECE } from "../src/thread/fitting.ts";
import { callIdsOf, modelMessages } from "../src/thread/model-messages.ts";
import { changesOf, type Change } from "../src/thread/reducer.ts";
import { jsonText } from "../src/wire/json.ts";
import type { ThreadReadings } from "./thread-readings.ts";
import type { ThreadRunRow, ThreadRunStore } from "./thread-run-store.ts";
import type { ThreadStates } from "./thread-state.ts";
import type { ThreadRow, ThreadStore } from "./thread-store.ts";

export type BegunRun = Extract<ThreadRunAnswer, { begun: true }>;
/** Why what comes in does not fit into the state of the thread. */
export type Misfit =
  | { refused: "unknown_checkpoint" | "full" }
  | { refused: "invalid_message"; index: number; message: string };
/** The state that something is applied to, and what it changes there. */
export interface Fit {
  refused?: never;
  parent: number | undefined;
  changes: Change[];
  values: JsonRecord | undefined;
}

type Incoming = Pick<ThreadUpdate, "input" | "checkpointId" | "maxThreadBytes"> & {
  values?: JsonRecord;
  metadata?: JsonRecord;
  kwargs?: JsonRecord;
};

type Settling = Pick<ThreadRunRequest, "checkpointId" | "continues" | "settles">;

export interface ThreadOpenings {
  /** Whether this fits into the thread as it is. Changes nothing. */
  fit(incoming: Incoming): Fit | Misfit;
  /** Whether just the calls that it settles wait where it is to begin. */
  isAwaited(request: Settling): boolean;
  /** Begins a run under its name: the thread if it is missing, what the run brings, the run. One that does not fit changes nothing. */
  begin(request: ThreadRunRequest, at: number): BegunRun | ({ begun: false } & (Misfit | { refused: "not_waiting" }));
  /** Changes the state without a run: gives the new checkpoint. What waits for a user goes on waiting, as long as it is an open call there. */
  update(fitting: Fit, update: Pick<ThreadUpdate, "asNode">, at: number): number;
  /** The answer for a run that has begun: somebody else is about to start it too. */
  again(run: ThreadRunRow, maxConversationBytes: number): BegunRun;
  /** Whoever was to start this run could not. True when nobody else may start it any more. */
  refuse(runId: string): boolean;
  /** A begun run that nobody will start: the thread is as it was before it. `lost`: its name is kept, for it may be started yet. */
  undo(runId: string, how: "gone" | "lost"): void;
}

interface Parts {
  storage: DurableObjectStorage;
  store: ThreadStore;
  runs: ThreadRunStore;
  state: ThreadStates;
  readings: ThreadReadings;
}

export function threadOpenings({ storage, store, runs, state, readings }: Parts): ThreadOpenings {
  const fit = (incoming: Incoming): Fit | Misfit => {
    const { input, values, metadata, kwargs, checkpointId, maxThreadBytes } = incoming;
    const ready = store.thread() !== undefined;
    const known = checkpointId === undefined || !ready ? undefined : checkpointNumber(checkpointId);
    const from = known === undefined ? undefined : state.checkpoint(known);
    if (checkpointId !== undefined && from === undefined && known !== ROOT) return { refused: "unknown_checkpoint" };
    const base = known === ROOT ? undefined : (from ?? (ready ? state.head() : undefined));
    const reduced = changesOf(input, (id) => ready && state.has(base?.id, id));
    if (!reduced.ok) return { refused: "invalid_message", index: reduced.index, message: reduced.message };
    const unwritable = input.findIndex((message) => jsonText(message) === undefined);
    if (unwritable >= 0) return { refused: "invalid_message", index: unwritable, message: "is nested too deeply" };
    const bytes = utf8Length(jsonText([input, values, metadata, kwargs]) ?? "");
    if (store.size() + bytes > maxThreadBytes) return { refused: "full" };
    const changesValues = values !== undefined && Object.keys(values).length > 0;
    const merged = changesValues ? { ...base?.values, ...values } : undefined;
    if (merged !== undefined && JSON.stringify(merged).length > MAX_PIECE) return { refused: "full" };
    return { parent: base?.id, changes: reduced.changes, values: merged };
  };

  const isAwaited = ({ checkpointId, continues, settles = [] }: Settling): boolean => {
    if (settles.length === 0) return true;
    const ready = store.thread() !== undefined;
    const from = checkpointId === undefined ? (ready ? state.head()?.id : undefined) : checkpointNumber(checkpointId);
    const waiting = ready ? readings.waitingAt(from) : undefined;
    const waits = new Set(waiting?.callIds);
    return waiting?.runId === continues && waits.size === settles.length && settles.every((id) => waits.has(id));
  };

  const threadFor = (request: ThreadRunRequest, at: number): { thread: ThreadRow; made: boolean } => {
    const known = store.thread();
    if (known !== undefined) return { thread: known, made: false };
    const { assistantId } = request;
    store.addThread({ createdAt: at, updatedAt: at, assistantId, metadata: {}, status: "idle", activeRun: undefined });
    const thread = store.thread();
    if (thread === undefined) throw new Error("A thread that was made is not there.");
    return { thread, made: true };
  };

  const answerFor = (run: ThreadRunRow, maxConversationBytes: number, repeat: boolean): BegunRun => {
    const opened = run.opened === undefined ? undefined : state.checkpoint(run.opened);
    const { messages, runIds } = readings.conversation(opened?.id, maxConversationBytes);
    const isOpen = (message: LangMessage): boolean =>
      run.continues !== undefined && runIds.get(message) === run.continues;
    const title = opened?.values["title"];
    const own = messages.filter((message) => message.type === "human" && runIds.get(message) === run.runId);
    const human = own.find(isShown);
    return {
      begun: true,
      repeat,
      messages: fitMessages(modelMessages(messages, isOpen), maxConversationBytes),
      callIds: callIdsOf(messages),
      asked: opened === undefined ? 0 : state.askedBefore(opened.id),
      ...(human !== undefined && { human }),
      ...(typeof title === "string" && { title }),
    };
  };

  const begun = (runId: string): ThreadRunRow => {
    const run = runs.run(runId);
    if (run === undefined) throw new Error("A run that has begun is not there.");
    return run;
  };

  const takeBack = (run: ThreadRunRow, how: "gone" | "lost"): void => {
    const thread = store.thread();
    if (thread === undefined) return;
    state.removeOf(run.runId);
    if (how === "lost") runs.save({ ...run, status: "lost", opened: undefined });
    else runs.remove(run.runId);
    const untouched = thread.version === run.before.version;
    if (how === "gone" && run.before.made && untouched && runs.runIds().length === 0) return store.removeThread();
    const activeRun = thread.activeRun === run.runId ? undefined : thread.activeRun;
    store.saveThread({ ...thread, activeRun, updatedAt: untouched ? run.before.updatedAt : thread.updatedAt });
  };

  return {
    fit,
    isAwaited,

    begin(request, at) {
      const fitting = fit(request);
      if (fitting.refused !== undefined) return { begun: false, ...fitting };
      if (!isAwaited(request)) return { begun: false, refused: "not_waiting" };
      const { runId } = request;
      storage.transactionSync(() => {
        const { thread, made } = threadFor(request, at);
        const { parent, changes, values } = fitting;
        const opened = state.add({
          parent,
          runId,
          source: "input",
          createdAt: at,
          changes,
          ...(values !== undefined && { values }),
        });
        const version = store.saveThread({ ...thread, activeRun: runId, updatedAt: at });
        runs.add({
          runId,
          requestHash: request.requestHash,
          status: "pending",
          pushed: false,
          strategy: request.strategy,
          assistantId: request.assistantId,
          metadata: request.metadata,
          kwargs: request.kwargs,
          createdAt: at,
          updatedAt: at,
          stopReason: null,
          error: null,
          through: -1,
          opened,
          continues: request.continues,
          starters: 1,
          cancel: undefined,
          before: { made, updatedAt: thread.updatedAt, version },
        });
      });
      return answerFor(begun(runId), request.maxConversationBytes, false);
    },

    update({ parent, changes, values }, { asNode }, at) {
      return storage.transactionSync(() => {
        const thread = store.thread();
        if (thread === undefined) throw new Error("There is no thread to change.");
        const waited = (state.head()?.interrupts ?? []).length > 0;
        const added = state.add({
          parent,
          source: "update",
          createdAt: at,
          changes,
          ...(asNode !== undefined && { asNode }),
          ...(values !== undefined && { values }),
        });
        const waiting = parent === undefined ? [] : (state.checkpoint(parent)?.interrupts ?? []);
        const calls = new Set(waiting.length > 0 ? readings.openCalls(added) : []);
        const open = waiting.filter(({ id }) => calls.has(id));
        if (open.length > 0) state.saveInterrupts(added, open);
        const status = waited && open.length === 0 ? "idle" : thread.status;
        store.saveThread({ ...thread, status, updatedAt: at });
        return added;
      });
    },

    again(run, maxConversationBytes) {
      if (run.status === "pending") runs.save({ ...run, starters: run.starters + 1 });
      return answerFor(run, maxConversationBytes, true);
    },

    refuse(runId) {
      const run = runs.run(runId);
      if (run?.status !== "pending") return false;
      const starters = Math.max(0, run.starters - 1);
      runs.save({ ...run, starters });
      return starters === 0;
    },

    undo(runId, how) {
      storage.transactionSync(() => {
        const run = store.thread() === undefined ? undefined : runs.run(runId);
        if (run?.status !== "pending" || (how === "gone" && run.starters > 0)) return;
        takeBack(run, how);
      });
    },
  };
}

/** Whether the user sees a message. */
const isShown = ({ additional_kwargs: extra }: LangMessage): boolean =>
  !(typeof extra === "object" && extra !== null && "hide_from_ui" in extra && extra.hide_from_ui === true);
