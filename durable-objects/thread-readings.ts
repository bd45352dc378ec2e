// What is read of a thread: how it stands, its runs, its states. Changes nothing, and no answer holds more than may cross between objects.
import type {
  LangMessage,
  ThreadBase,
  ThreadRunView,
  ThreadState,
  ThreadStateAnswer,
  ThreadStatus,
  ThreadView,
  ThreadWaiting,
  ThreadWaitingAnswer,
} from "../schemas/thread.ts";
import { checkpointId, checkpointNumber, ROOT, ROOT_CHECKPOINT } from "../src/thread/checkpoint-id.ts";
import { fitting } from "../src/thread/fitting.ts";
import { openCallsOf, settledCalls } from "../src/thread/open-calls.ts";
import type { ThreadRunRow, ThreadRunStore } from "./thread-run-store.ts";
import type { Checkpoint, StatePlace, ThreadStates } from "./thread-state.ts";
import type { ThreadRow, ThreadStore } from "./thread-store.ts";

/** Runs in a list. */
const MAX_RUNS = 100;
/** UTF-8 bytes of the messages that a live reader's first frame is built on. */
const MAX_BASE = 2 * 1024 * 1024;
/** UTF-8 bytes of the messages of a state that is asked for. */
const MAX_STATE = 8 * 1024 * 1024;
/** UTF-8 bytes of messages that a model's conversation is made from. */
const MAX_CONVERSATION = 16 * 1024 * 1024;
/** Of a conversation in which open calls are looked for. */
const MAX_OPEN = 1024 * 1024;
/** How many times its own bytes a conversation is made from: long results of tools are cut in it, so it reaches further back. */
const FURTHER_BACK = 8;

/** One step before the first input, as LangGraph counts. */
const ROOT_STATE: ThreadState = {
  checkpointId: ROOT_CHECKPOINT,
  parentCheckpointId: null,
  metadata: { source: "input", step: -2 },
  createdAt: 0,
  values: {},
  messages: [],
  interrupts: [],
};

export interface Conversation {
  messages: LangMessage[];
  /** The run that a message came from, of each that came from one. */
  runIds: ReadonlyMap<LangMessage, string>;
}

export interface ThreadReadings {
  view(): ThreadView | undefined;
  runs(): ThreadRunView[];
  run(runId: string): ThreadRunView | undefined;
  baseOf(runId: string): ThreadBase | undefined;
  state(id: string | undefined): ThreadStateAnswer;
  /** At the last checkpoint of a run; of one that was undone, or came to none, what it found. */
  stateAfter(runId: string): ThreadStateAnswer;
  /** What waits in a state for this run, which may have begun there already. */
  waiting(forRun: string, id: string | undefined): ThreadWaitingAnswer;
  waitingAt(checkpoint: number | undefined): ThreadWaiting | undefined;
  /** The calls of a state that have no result, of those that are the last. */
  openCalls(checkpoint: number): string[];
  /** Newest first, strictly before this one; only the first holds its messages. */
  history(limit: number, before: string | undefined): ThreadState[] | undefined;
  /** What a conversation of so many bytes is made from: the newest messages at a checkpoint, and all of the system's. */
  conversation(checkpoint: number | undefined, maxBytes: number): Conversation;
}

interface Parts {
  threadId: string;
  store: ThreadStore;
  runs: ThreadRunStore;
  state: ThreadStates;
}

export function threadReadings({ threadId, store, runs, state }: Parts): ThreadReadings {
  const newest = (places: readonly StatePlace[], maxBytes: number, stays?: string): StatePlace[] => {
    let room = maxBytes;
    let kept = places.length;
    for (const { bytes } of places.toReversed()) {
      room -= bytes;
      // The newest is there, whatever its size.
      if (room < 0 && kept < places.length) break;
      kept--;
    }
    return places.filter(({ type }, index) => index >= kept || type === stays);
  };

  const stateOf = (checkpoint: Checkpoint, withMessages: boolean): ThreadState => {
    const { id, parent, runId, source, step, asNode, createdAt, values, interrupts } = checkpoint;
    const metadata = runId === undefined ? {} : runs.run(runId)?.metadata;
    const places = withMessages ? newest(state.places(id), MAX_STATE) : [];
    const messages = state.readAll(places);
    return {
      checkpointId: checkpointId(id),
      parentCheckpointId: parent === undefined ? null : checkpointId(parent),
      metadata: { ...metadata, ...(asNode !== undefined && { as_node: asNode }), source, step },
      createdAt,
      values,
      messages: messages.map((message, index) => ({ message, runId: places[index]?.runId ?? null })),
      interrupts,
    };
  };

  const conversation = (checkpoint: number | undefined, maxBytes: number): Conversation => {
    const places = newest(state.places(checkpoint), Math.min(MAX_CONVERSATION, maxBytes * FURTHER_BACK), "system");
    const messages = state.readAll(places);
    const runIds = new Map<LangMessage, string>();
    for (const [index, message] of messages.entries()) {
      const runId = places[index]?.runId;
      if (runId !== undefined) runIds.set(message, runId);
    }
    return { messages, runIds };
  };

  /** A change without a run leaves what waits to the run before it. */
  const runBefore = (checkpoint: Checkpoint): string | undefined => {
    if (checkpoint.runId !== undefined || checkpoint.parent === undefined) return checkpoint.runId;
    const parent = state.checkpoint(checkpoint.parent);
    return parent && runBefore(parent);
  };

  const waitingAt = (id: number | undefined): ThreadWaiting | undefined => {
    const checkpoint = id === undefined ? undefined : state.checkpoint(id);
    const callIds = checkpoint?.interrupts.map((interrupt) => interrupt.id) ?? [];
    const runId = checkpoint && runBefore(checkpoint);
    if (runId === undefined || callIds.length === 0) return undefined;
    return { runId, callIds, settled: settledCalls(conversation(id, MAX_OPEN).messages, callIds) };
  };

  const runView = (run: ThreadRunRow): ThreadRunView[] => {
    const { runId, assistantId, status, metadata, kwargs, strategy, createdAt, updatedAt, stopReason, error } = run;
    if (status === "lost") return [];
    const ends = { createdAt, updatedAt, stopReason, error };
    const isPushed = run.pushed && ({ pushed: true } as const);
    return [{ runId, threadId, assistantId, status, metadata, kwargs, strategy, ...ends, ...isPushed }];
  };

  function* runViews(): Generator<ThreadRunView> {
    for (const run of runs.list(MAX_RUNS)) yield* runView(run);
  }

  function* states(before: number | undefined, limit: number): Generator<ThreadState> {
    let isFirst = true;
    for (const checkpoint of state.checkpoints(before, limit)) {
      yield stateOf(checkpoint, isFirst);
      isFirst = false;
    }
  }

  return {
    view() {
      const thread = store.thread();
      if (thread === undefined) return undefined;
      const head = state.head();
      const interrupts = thread.activeRun === undefined ? (head?.interrupts ?? []) : [];
      const title = head?.values["title"];
      return {
        threadId,
        status: statusOf(thread, interrupts.length > 0),
        createdAt: thread.createdAt,
        updatedAt: thread.updatedAt,
        metadata: thread.metadata,
        ...(typeof title === "string" && title !== "" && { title }),
        interrupts: head === undefined || interrupts.length === 0 ? {} : { [checkpointId(head.id)]: interrupts },
      };
    },
    runs: () => (store.thread() === undefined ? [] : fitting(runViews())),
    run(runId) {
      const run = store.thread() === undefined ? undefined : runs.run(runId);
      return run && runView(run)[0];
    },
    baseOf(runId) {
      const run = store.thread() === undefined ? undefined : runs.run(runId);
      const opened = run?.opened === undefined ? undefined : state.checkpoint(run.opened);
      if (opened === undefined) return undefined;
      return { messages: state.readAll(newest(state.places(opened.id), MAX_BASE)), values: opened.values };
    },
    state(id) {
      if (store.thread() === undefined) return { found: false, refused: "unknown_thread" };
      const number = id === undefined ? undefined : checkpointNumber(id);
      if (number === ROOT) return { found: true, state: ROOT_STATE };
      const checkpoint = id === undefined ? state.head() : number && state.checkpoint(number);
      if (checkpoint) return { found: true, state: stateOf(checkpoint, true) };
      return id === undefined ? { found: true } : { found: false, refused: "unknown_checkpoint" };
    },
    stateAfter(runId) {
      if (store.thread() === undefined) return { found: false, refused: "unknown_thread" };
      const opened = runs.run(runId)?.opened;
      const [before] = opened === undefined ? [state.head()] : state.checkpoints(opened, 1);
      const checkpoint = state.lastOf(runId) ?? before;
      return { found: true, ...(checkpoint !== undefined && { state: stateOf(checkpoint, true) }) };
    },
    history(limit, before) {
      if (store.thread() === undefined) return undefined;
      const bound = before === undefined ? undefined : checkpointNumber(before);
      if (before !== undefined && bound === undefined) return [];
      return fitting(states(bound, limit));
    },
    waiting(forRun, id) {
      if (store.thread() === undefined) return { found: false, refused: "unknown_thread" };
      const number = id === undefined ? undefined : checkpointNumber(id);
      const asked = id === undefined ? state.head() : number && state.checkpoint(number);
      if (id !== undefined && number !== ROOT && !asked) return { found: false, refused: "unknown_checkpoint" };
      const opened = runs.run(forRun)?.opened;
      const begun = opened === undefined ? undefined : state.checkpoint(opened);
      const waiting = waitingAt(begun === undefined ? asked && asked.id : begun.parent);
      return { found: true, ...(waiting !== undefined && { waiting }) };
    },
    waitingAt,
    openCalls: (checkpoint) => openCallsOf(conversation(checkpoint, MAX_OPEN).messages),
    conversation,
  };
}

function statusOf({ activeRun, status }: ThreadRow, waits: boolean): ThreadStatus {
  if (activeRun !== undefined) return "busy";
  return waits ? "interrupted" : status;
}
