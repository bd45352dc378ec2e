// The object of one thread: the only place where runs of the thread begin, where their records are numbered, and where its state is kept. Asks no model itself.
import { DurableObject } from "cloudflare:workers";
import type { JsonRecord } from "../schemas/json.ts";
import type { ThreadView } from "../schemas/thread.ts";
import { threadStore, type ThreadRow } from "./thread-store.ts";

export interface ThreadRequest {
  metadata: JsonRecord;
  assistantId?: string | null;
}

export class ThreadObject extends DurableObject<Env> {
  #threadId = this.ctx.id.name?.slice(this.ctx.id.name.indexOf("/") + 1) ?? "";
  #store = threadStore(this.ctx.storage);

  /** The thread, made when it is not there; one that is stays as it is. */
  create({ metadata, assistantId = null }: ThreadRequest): ThreadView {
    const now = Date.now();
    const made = {
      createdAt: now,
      updatedAt: now,
      assistantId,
      metadata,
      status: "idle",
      activeRun: undefined,
    } as const;
    const known = this.#store.thread();
    if (known !== undefined) return this.#viewOf(known);
    this.ctx.storage.transactionSync(() => this.#store.addThread(made));
    return this.#viewOf(made);
  }

  view(): ThreadView | undefined {
    const thread = this.#store.thread();
    return thread && this.#viewOf(thread);
  }

  /** Merges what is given key by key. To pin a thread is no change of the thread. */
  patch(metadata: JsonRecord): ThreadView | undefined {
    const thread = this.#store.thread();
    if (thread === undefined) return undefined;
    const updatedAt = isPin(metadata) ? thread.updatedAt : Date.now();
    const patched = { ...thread, metadata: { ...thread.metadata, ...metadata }, updatedAt };
    this.ctx.storage.transactionSync(() => this.#store.saveThread(patched));
    return this.#viewOf(patched);
  }

  #viewOf({ createdAt, updatedAt, metadata, status, activeRun }: Omit<ThreadRow, "version" | "dirty">): ThreadView {
    return {
      threadId: this.#threadId,
      status: activeRun === undefined ? status : "busy",
      createdAt,
      updatedAt,
      metadata,
      interrupts: {},
    };
  }
}

function isPin(metadata: JsonRecord): boolean {
  const entries = Object.entries(metadata);
  return (
    entries.length === 1 && entries.every(([key, value]) => key === "deerflow_pinned" && typeof value === "boolean")
  );
}
