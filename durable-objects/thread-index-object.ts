// The object of a tenant's threads: what each says of itself, for searches. Knows no thread's content, and changes none.
import { DurableObject } from "cloudflare:workers";
import type { ThreadEntry, ThreadSearch } from "../schemas/thread-index.ts";
import { fitting } from "../src/thread/fitting.ts";
import { matches } from "../src/thread/search.ts";
import { threadEntries } from "./thread-entries.ts";

export class ThreadIndexObject extends DurableObject<Env> {
  #entries = threadEntries(this.ctx.storage);

  /** Keeps what a thread says of itself, unless something newer is known. `entry` left out: the thread is deleted. */
  tell(threadId: string, version: number, entry?: ThreadEntry): void {
    this.#entries.keep(threadId, version, entry);
  }

  /** Pinned ones first, then the newest change first. As many as fit into one answer: whoever gets fewer asks on behind them. */
  search(asked: ThreadSearch): ThreadEntry[] {
    return fitting(this.#found(asked));
  }

  *#found({ metadata, status, limit, offset }: ThreadSearch): Generator<ThreadEntry> {
    let passed = 0;
    for (const entry of this.#entries.list(status)) {
      if (!matches(entry.metadata, metadata) || passed++ < offset) continue;
      if (passed > offset + limit) return;
      yield entry;
    }
  }
}
