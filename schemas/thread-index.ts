// What a thread's object tells the index of the tenant's threads, and what the index is asked. Plain values: they cross an RPC boundary.
import type { JsonRecord } from "./json.ts";
import type { ThreadStatus, ThreadView } from "./thread.ts";

/** A thread as a search shows it. */
export type ThreadEntry = ThreadView;

export interface ThreadSearch {
  /** Each key must be there with exactly this value. */
  metadata: JsonRecord;
  status?: ThreadStatus;
  limit: number;
  offset: number;
}
