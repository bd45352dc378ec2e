// What is said between the edge, a run and the object of a thread, which numbers and keeps what the thread's runs record. Plain values: they cross an RPC boundary.
import type { JsonRecord } from "./json.ts";
import type { Message } from "./run.ts";

/** What a reader of a run's live frames may ask for. */
export type StreamMode = "values" | "messages-tuple" | "updates" | "custom" | "tasks" | "checkpoints" | "debug";

/** The thread that a run belongs to: its object gets the run's records, and hears how it ended before anybody else. */
export interface ThreadRef {
  threadId: string;
  /** What the run is called where it was started: an assistant, or the route. */
  chain: string | null;
  /** Which frames its live readers are sent. */
  modes: readonly StreamMode[];
  /** The user's message that the run answers, as a record holds it. */
  human?: JsonRecord;
  /** Tool messages that the request brought: results of calls that an earlier run left open. */
  results?: JsonRecord[];
}

/** A message as LangChain dumps it: `type`, `content`, `id` and what else it has. */
export type LangMessage = JsonRecord & { type: string; id: string };

/** A record before its thread has numbered it. */
export interface RecordDraft {
  /** The number of the log event, or the position in the producer's sequence, that it comes from. */
  source: number;
  eventType: string;
  category: string;
  content: unknown;
  metadata: JsonRecord;
  /** Unix epoch, milliseconds; what producers push may have microseconds behind the point. */
  at: number;
  userId?: string | null;
}

/** A record with its number in the thread: from 1, strictly increasing, never used again. */
export interface ThreadRecord extends Omit<RecordDraft, "source"> {
  seq: number;
  runId: string;
}

export type ThreadRunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

/** A call that waits for a client's result or a user's approval: what an interrupt is about. */
export interface Interrupt {
  id: string;
  value: JsonRecord;
}

export interface ThreadRunEnd {
  status: Exclude<ThreadRunStatus, "pending" | "running">;
  /** The finer word, and what is told of a failure. */
  stopReason: string | null;
  error: string | null;
  /** Calls that wait; with them the status is `interrupted`. */
  interrupts: Interrupt[];
  /** Replaces the thread's title, when there is one. */
  title?: string;
}

/** What a run tells its thread, again and again until it is acknowledged. */
export interface ThreadNews {
  runId: string;
  /** In order of their source. */
  records: RecordDraft[];
  /** Every record whose source is not above this is in this news, or in one before it. */
  through: number;
  /** Messages that were shown and then withdrawn: they are in no state any more. */
  withdrawn?: string[];
  end?: ThreadRunEnd;
}

/** `known` is false when the thread, or the run in it, is gone: then nothing was kept, and nothing needs to be told again. */
export interface ThreadNewsAnswer {
  known: boolean;
}

/** What is to be done when a run of the thread is active. */
export type MultitaskStrategy = "reject" | "interrupt" | "rollback";

/** A run that is about to start in a thread. */
export interface ThreadRunRequest {
  threadId: string;
  runId: string;
  /** The same for a repeat of the same start. */
  requestHash: string;
  /** What is done when the thread is not there. */
  ifMissing: "create" | "refuse";
  strategy: MultitaskStrategy;
  /** The state to start from; left out: the newest. */
  checkpointId?: string;
  /** Messages to be applied to the state, by the reducer's rules (`remove` included); each has an id. */
  input: LangMessage[];
  /** Further state that the input brings. */
  values?: JsonRecord;
  /** The run whose open calls this one settles. */
  continues?: string;
  /** Those calls: it begins only in a state in which just they wait. */
  settles?: string[];
  assistantId: string | null;
  metadata: JsonRecord;
  /** As the request had them, secrets removed. */
  kwargs: JsonRecord;
  /** UTF-8 bytes of the conversation that a model is to read; of a longer one the newest. */
  maxConversationBytes: number;
  /** Bytes of storage that the thread may use: one that would use more takes nothing in. */
  maxThreadBytes: number;
}

export type ThreadRunAnswer =
  /**
   * `repeat`: the run exists or is being started under this very name and request. `asked`: how many messages of users the
   * thread has had before the run, whether or not they are still there.
   */
  | {
      begun: true;
      repeat: boolean;
      messages: Message[];
      callIds: string[];
      asked: number;
      human?: JsonRecord;
      title?: string;
    }
  | {
      begun: false;
      refused: "unknown_thread" | "unknown_checkpoint" | "active_run" | "conflict" | "full" | "not_waiting";
    }
  /** `index`: of the input message that the reducer refuses. */
  | { begun: false; refused: "invalid_message"; index: number; message: string };

/** A thread as its readers see it. Times are Unix epoch milliseconds. */
export interface ThreadView {
  threadId: string;
  status: ThreadStatus;
  createdAt: number;
  updatedAt: number;
  metadata: JsonRecord;
  title?: string;
  interrupts: Record<string, Interrupt[]>;
}

export interface ThreadRunView {
  runId: string;
  /** It is carried out elsewhere: a run of ours that has its name is another one. */
  pushed?: true;
  threadId: string;
  assistantId: string | null;
  status: ThreadRunStatus;
  metadata: JsonRecord;
  kwargs: JsonRecord;
  strategy: MultitaskStrategy;
  createdAt: number;
  updatedAt: number;
  stopReason: string | null;
  error: string | null;
}

/** What a live reader's first `values` frame is built on: the state with the run's input applied, newest 2 MiB. */
export interface ThreadBase {
  messages: LangMessage[];
  values: JsonRecord;
}

/** A state of a thread, at a checkpoint. */
export interface ThreadState {
  checkpointId: string;
  parentCheckpointId: string | null;
  /** `source`, `step`, and the user's own keys. */
  metadata: JsonRecord;
  createdAt: number;
  values: JsonRecord;
  /** Each with the run it came from. */
  messages: { message: LangMessage; runId: string | null }[];
  interrupts: Interrupt[];
}

export type ThreadStateAnswer =
  /** `state` is left out before anything was said in the thread. */
  { found: true; state?: ThreadState } | { found: false; refused: "unknown_thread" | "unknown_checkpoint" };

/** The calls that wait in a state, and the run that left them there. */
export interface ThreadWaiting {
  runId: string;
  callIds: string[];
  /** What the state has as results of calls beside them. */
  settled: Extract<Message, { role: "tool" }>[];
}

export type ThreadWaitingAnswer =
  /** `waiting` is left out where nothing waits. */
  { found: true; waiting?: ThreadWaiting } | { found: false; refused: "unknown_thread" | "unknown_checkpoint" };

/** A change of a thread's state that no run makes. */
export interface ThreadUpdate {
  /** As those of a start. */
  input: LangMessage[];
  values: JsonRecord;
  checkpointId?: string;
  asNode?: string;
  maxThreadBytes: number;
}

export type ThreadUpdateAnswer =
  | { updated: true; state: ThreadState }
  | { updated: false; refused: "unknown_thread" | "unknown_checkpoint" | "active_run" | "full" }
  | { updated: false; refused: "invalid_message"; index: number; message: string };

/** How a run was told to end. `ended`: it has. */
export type ThreadCancelAnswer =
  | { cancelled: true; ended: boolean }
  | { cancelled: false; refused: "unknown_run" }
  | { cancelled: false; refused: "not_cancellable"; status: ThreadRunStatus };

/** The reason with which a run is cancelled that is to leave no trace in its thread's state, and the error that it then ends with. */
export const ROLLBACK = { reason: "rollback", error: "Rolled back by user" } as const;
