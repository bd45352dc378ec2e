// What a run's storage holds and can do. Types only: no statement, no platform.
import type { LogEntry } from "../schemas/event.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { Cost, RunStatus } from "../schemas/run.ts";
import type { ThreadRef } from "../schemas/thread.ts";

/** The messages that a run in a thread begins with. */
export type RunOpening = Pick<ThreadRef, "human" | "results">;

export interface RunRow {
  plan: Omit<RunPlan, "request">;
  status: RunStatus;
  startedAt: number;
  sealedAt: number | undefined;
  /** Sequence of the terminal, once sealed. */
  terminal: number | undefined;
  /** Events older than the terminal are gone. */
  swept: boolean;
  recoveries: number;
  /** Some reader has attached; kept only where leaving means cancelling. */
  attached: boolean;
  /** The run that goes on from this one, or was about to. */
  continuedBy: string | undefined;
  /** The chat that the run is a turn of knows how it ended. */
  told: boolean;
  /** Sequence up to which the run's thread has the records; -1 for none. */
  projected: number;
  /** Where the producer of a pushed run stands on disk; `undefined` before the first was heard of. */
  producer: ProducerPlace | undefined;
}

/** Where the producer of a pushed run stands. */
export interface ProducerPlace {
  epoch: number;
  /** Its number of the next event. */
  next: number;
  /** Sequence in the log of its last event; -1 for none. */
  last: number;
  /** When it was heard of. Unix epoch, milliseconds. */
  heardAt: number;
}

/** `durableTo`: last sequence stored. `reservedTo`: last sequence that readers may have seen. -1 for none. */
export interface Marks {
  durableTo: number;
  reservedTo: number;
}

/** Entries of one segment; or the last sequence of a segment that is damaged. */
export type Page = { entries: LogEntry[] } | { damagedTo: number };

export interface RunLogStore {
  load(): RunRow | undefined;
  /** The request, while the run is live, or waits to be continued. */
  request(): RunPlan["request"] | undefined;
  marks(): Marks;
  /** The accept transaction: tables, the run, its first events and its first reservation. */
  accept(plan: RunPlan, startedAt: number, entries: readonly LogEntry[], reservedTo: number): void;
  /** The plan and the request that the run goes on with, in the place of those that it was accepted with. One transaction. */
  complete(plan: RunRow["plan"], request: RunPlan["request"]): void;
  /**
   * One transaction: the entries, and the mark up to which later ones may be shown before they are stored. `producer`: where
   * the producer stands with them, here and in what is written later.
   */
  flush(entries: readonly LogEntry[], reservedTo: number, producer?: ProducerPlace): void;
  /** The recovery transaction: a flush that counts. */
  recover(entries: readonly LogEntry[], reservedTo: number, recoveries: number): void;
  /** The seal transaction: the last entries, the terminal, the status; the request is erased, unless a run may go on from this one. */
  seal(
    entries: readonly LogEntry[],
    status: RunStatus,
    at: number,
    keepsRequest: boolean,
    producer?: ProducerPlace,
  ): void;
  /** This run goes on from here, and no other, as long as it exists. */
  markContinued(runId: string): void;
  /** Nothing goes on from here any more. */
  eraseRequest(): void;
  markTold(): void;
  /** What a run in a thread begins with, until its thread has that. */
  opening(): RunOpening;
  /** The thread has the records up to this sequence, and with them what the run began with. */
  markProjected(through: number): void;
  /** Entries after `after`, from one segment; none when there are none. */
  read(after: number): Page;
  markAttached(): void;
  /** Deletes all entries but the terminal, and the request. */
  sweepEvents(): void;
  /** Unix epoch, milliseconds. Billed as one row. */
  setAlarm(at: number): Promise<void>;
  /** As SQLite counts; frozen when the run is sealed. */
  cost(): Cost;
}
