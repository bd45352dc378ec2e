// The product's record store in an object of its own, beside a bare INSERT loop: only the store is measured, no request and no check.
// The path is /{object name}/{what to do}?count={records}&batch={records at a time}. A clock stands still inside an object, so the
// times are the caller's: what an answer costs by itself is there to be subtracted.
import { DurableObject } from "cloudflare:workers";
import { threadRecords, type ThreadRecords } from "../../durable-objects/thread-records.ts";
import type { RecordDraft } from "../../schemas/thread.ts";
import { MARKS } from "../../src/thread/record-marks.ts";

interface Env {
  KEEPER: DurableObjectNamespace<Keeper>;
}

const PAGE = 51;
const text = "It is 18 degrees and clear in Oslo, with a light wind. ".repeat(6);

export class Keeper extends DurableObject<Env> {
  /** An object that was idle for a while is made anew. */
  #last = threadRecords(this.ctx.storage, () => 0).lastSeq();
  #records: ThreadRecords = threadRecords(this.ctx.storage, (count) => {
    this.#last += count;
    return this.#last - count + 1;
  });

  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const count = Number(url.searchParams.get("count"));
    const batch = Number(url.searchParams.get("batch"));
    switch (url.pathname.split("/")[2] ?? "") {
      case "append":
        await this.#inBatches(count, batch, (drafts) => this.#records.append("run", drafts));
        return Response.json({ kept: this.#last });
      case "insert":
        this.#prepareBare();
        await this.#inBatches(count, batch, (drafts) => this.#insert(drafts));
        return Response.json({ kept: this.#last });
      case "page":
        return Response.json({ rows: this.#pages(count) });
      case "run":
        return Response.json({ rows: this.#runPages(count) });
      default:
        return Response.json({ rows: 0 });
    }
  }

  /** Each batch on disk before the next, as each is by itself. */
  async #inBatches(count: number, batch: number, keep: (drafts: readonly RecordDraft[]) => unknown): Promise<void> {
    for (let from = 0; from < count; from += batch) {
      const drafts = Array.from({ length: Math.min(batch, count - from) }, (_, index) => draftOf(from + index));
      this.ctx.storage.transactionSync(() => keep(drafts));
      await this.ctx.storage.sync();
    }
  }

  #prepareBare(): void {
    this.ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS bare (seq INTEGER PRIMARY KEY, run_id TEXT NOT NULL, category TEXT NOT NULL,
       event_type TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL)`,
    );
  }

  #insert(drafts: readonly RecordDraft[]): void {
    for (const { category, eventType, content, metadata, at } of drafts) {
      this.ctx.storage.sql.exec(
        "INSERT INTO bare (seq, run_id, category, event_type, at, body) VALUES (?, ?, ?, ?, ?, ?)",
        ++this.#last,
        "run",
        category,
        eventType,
        at,
        JSON.stringify([content, metadata]),
      );
    }
  }

  /** So many pages of the thread, from the newest backwards and again from the newest; the rows of all. */
  #pages(count: number): number {
    let rows = 0;
    for (let before = this.#last + 1, page = 0; page < count; page++) {
      const { records } = this.#records.read(
        { messages: true, marks: MARKS.page },
        { before, limit: PAGE, from: "end" },
      );
      this.#records.lastMarked(["run"], MARKS.page | MARKS.answer);
      rows += records.length;
      before = records[0]?.seq ?? this.#last + 1;
    }
    return rows;
  }

  /** The same of one run, from the oldest on. */
  #runPages(count: number): number {
    let rows = 0;
    for (let after = 0, page = 0; page < count; page++) {
      const { records } = this.#records.read({ runId: "run", messages: true }, { after, limit: PAGE, from: "start" });
      rows += records.length;
      after = records.at(-1)?.seq ?? 0;
    }
    return rows;
  }
}

/** Every second record is a message, as in a run with tools. */
function draftOf(index: number): RecordDraft {
  const isMessage = index % 2 === 0;
  return {
    source: index,
    eventType: isMessage ? "llm.ai.response" : "tool.intent",
    category: isMessage ? "message" : "trace",
    content: isMessage
      ? { type: "ai", id: `message-${index}`, content: text, tool_calls: [] }
      : { tool_call_id: `call-${index}`, name: "weather", args: { city: "Oslo" } },
    metadata: isMessage ? { caller: "lead_agent", usage: { total_tokens: 5 }, latency_ms: 100, llm_call_index: 1 } : {},
    at: 1_764_490_000_000 + index,
  };
}

// oxlint-disable-next-line import/no-default-export -- the platform asks for one
export default {
  fetch(request, env) {
    const name = new URL(request.url).pathname.split("/")[1] ?? "";
    return env.KEEPER.getByName(name).fetch(request);
  },
} satisfies ExportedHandler<Env>;
