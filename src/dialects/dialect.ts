// The seam of the dialect ring: how log entries become bytes for one kind of client. A dialect keeps no state that the cursor cannot rebuild.
import type { AskPlan } from "../../schemas/ask.ts";
import type { IngestPlan } from "../../schemas/collection.ts";
import type { LogEntry } from "../../schemas/event.ts";
import type { IndeRunError } from "../../schemas/problem.ts";
import type { StreamMode, ThreadBase } from "../../schemas/thread.ts";
import type { FollowedRun } from "../thread/followed.ts";

/** What a dialect may know of the run beside its log. */
export interface DialectRun extends FollowedRun {
  /** Unix epoch, milliseconds. */
  startedAt: number;
  chatId?: string;
  /** What was found for the question that the run answers. A run that still has to find it comes to have another one. */
  readonly ask?: AskPlan | undefined;
  /** The run keeps documents. */
  ingest?: IngestPlan;
  /** Of one step, at most. */
  maxAttempts?: number;
  thread?: DialectThread;
}

export interface DialectThread {
  threadId: string;
  modes: readonly StreamMode[];
  /** Left out: nothing was said before the run. */
  base?: ThreadBase;
}

export type Dialect = EntryDialect | LogDialect;

interface AnyDialect {
  contentType: string;
  /** Glued to the first bytes of a connection. */
  preamble: string;
  /** Sent while the reader waits; must read as nothing. */
  heartbeat: string;
  /** The frames that tell a reader of a fault of the server. They carry no id. */
  failure(error: IndeRunError): string;
}

/** Each entry has its frames, whatever came before it: readers that stand at the same place share them. */
export interface EntryDialect extends AnyDialect {
  /**
   * Its clients can replace text that they have shown. Those of another dialect are told of a failure instead, and nothing
   * after it: at a retraction, and where a crash has voided what they have seen.
   */
  replaces: boolean;
  /** What a reader gets that comes back with everything seen; `undefined`: no content. */
  ending: string | undefined;
  /** Gives the frames of an entry; empty when this client is not shown it. Only the last frame carries the id. */
  encoder(run: DialectRun): (entry: LogEntry) => string;
}

/** Its frames tell more than their entry has: each reader has its own way through the log, from the beginning, and every frame an id. */
export interface LogDialect extends AnyDialect {
  /**
   * `end`: the last entry that readers may see; `log`: the entries to there, as far as they can be read, for what the id of a
   * frame is worth. The same entries give the same frames; those that were seen are left out.
   */
  follow(run: DialectRun, seen: Seen, end: number, log: Iterable<LogEntry>): Reading;
}

/** How far a reader has come: nowhere, past an entry, or past the frame of this id, whatever that id is worth. */
export type Seen = "nothing" | { after: number } | { id: string };

export interface Reading {
  /** Comes before the frames of all entries. */
  opening: string;
  /** Takes in all entries in order; those that are missing are damaged. */
  encode(entry: LogEntry): string;
}
