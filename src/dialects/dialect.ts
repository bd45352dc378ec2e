// The seam of the dialect ring: how log entries become bytes for one kind of client. A dialect keeps no state that the cursor cannot rebuild.
import type { LogEntry } from "../../schemas/event.ts";
import type { IndeRunError } from "../../schemas/problem.ts";

export interface Dialect {
  contentType: string;
  /** Glued to the first bytes of a connection. */
  preamble: string;
  /** Sent while the reader waits; must read as nothing. */
  heartbeat: string;
  /** Gives the frames of an entry; empty when this client is not shown it. Only the last frame carries the id. */
  encoder(runId: string): (entry: LogEntry) => string;
  /** The frames that tell a reader of a fault of the server. They carry no id. */
  failure(error: IndeRunError): string;
}
