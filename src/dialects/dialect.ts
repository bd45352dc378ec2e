// The seam of the dialect ring: how log entries become bytes for one kind of client. A dialect keeps no state that the cursor cannot rebuild.
import type { LogEntry } from "../../schemas/event.ts";
import type { IndeRunError } from "../../schemas/problem.ts";

/** What a dialect may know of the run beside its log. */
export interface DialectRun {
  runId: string;
  /** Unix epoch, milliseconds. */
  startedAt: number;
  chatId?: string;
}

export interface Dialect {
  contentType: string;
  /** Glued to the first bytes of a connection. */
  preamble: string;
  /** Sent while the reader waits; must read as nothing. */
  heartbeat: string;
  /**
   * Its clients can replace text that they have shown. Those of another dialect are told of a failure instead, and nothing
   * after it: at a retraction, and where a crash has voided what they have seen.
   */
  replaces: boolean;
  /** What a reader gets that comes back with everything seen; `undefined`: no content. */
  ending: string | undefined;
  /** Gives the frames of an entry; empty when this client is not shown it. Only the last frame carries the id. */
  encoder(run: DialectRun): (entry: LogEntry) => string;
  /** The frames that tell a reader of a fault of the server. They carry no id. */
  failure(error: IndeRunError): string;
}
