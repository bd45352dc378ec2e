// The table of a tenant's threads and every statement on it. Knows no rules but the order and which of two versions is newer.
import type { ThreadEntry } from "../schemas/thread-index.ts";
import type { ThreadStatus } from "../schemas/thread.ts";
import { isPinned } from "../src/thread/search.ts";
import { isRecord, parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";

export interface ThreadEntries {
  /** Unless what is kept is as new. `entry` left out: the thread is gone, and nothing older brings it back. */
  keep(threadId: string, version: number, entry: ThreadEntry | undefined): void;
  /** Pinned ones first, then the newest change first, then the highest id; lazily. */
  list(status: ThreadStatus | undefined): Iterable<ThreadEntry>;
}

/** Nothing is written, no table either, before a thread is kept. */
export function threadEntries(storage: DurableObjectStorage): ThreadEntries {
  const { sql } = storage;
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entry'").toArray().length > 0;
  let ready = isReady();

  const prepare = (): void => {
    if (ready) return;
    for (const statement of [
      `CREATE TABLE entry (id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
       alive INTEGER NOT NULL, pinned INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT NOT NULL)`,
      "CREATE INDEX entry_order ON entry (pinned DESC, updated_at DESC, thread_id DESC) WHERE alive = 1",
      `CREATE TABLE entry_body (entry INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
       PRIMARY KEY (entry, part)) WITHOUT ROWID`,
    ]) {
      sql.exec(statement);
    }
    ready = true;
  };

  const bodyOf = (id: number): unknown => {
    const query = "SELECT body FROM entry_body WHERE entry = ? ORDER BY part";
    const parts = sql.exec<{ body: string }>(query, id).toArray();
    return parseJson(parts.map(({ body }) => body).join(""))?.value;
  };

  return {
    keep(threadId, version, entry) {
      storage.transactionSync(() => {
        prepare();
        const { pinned, updatedAt, status } =
          entry === undefined
            ? { pinned: false, updatedAt: 0, status: "" }
            : { pinned: isPinned(entry.metadata), updatedAt: entry.updatedAt, status: entry.status };
        const [row] = sql
          .exec<{ id: number }>(
            `INSERT INTO entry (thread_id, version, alive, pinned, updated_at, status) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (thread_id) DO UPDATE SET version = excluded.version, alive = excluded.alive,
             pinned = excluded.pinned, updated_at = excluded.updated_at, status = excluded.status
             WHERE excluded.version > entry.version RETURNING id`,
            threadId,
            version,
            entry === undefined ? 0 : 1,
            pinned ? 1 : 0,
            updatedAt,
            status,
          )
          .toArray();
        if (row === undefined) return;
        sql.exec("DELETE FROM entry_body WHERE entry = ?", row.id);
        for (const [part, body] of (entry === undefined ? [] : cutText(JSON.stringify(entry))).entries()) {
          sql.exec("INSERT INTO entry_body (entry, part, body) VALUES (?, ?, ?)", row.id, part, body);
        }
      });
    },
    *list(status) {
      if (!ready) return;
      const query = `SELECT id, status FROM entry WHERE alive = 1 ORDER BY pinned DESC, updated_at DESC, thread_id DESC`;
      for (const row of sql.exec<{ id: number; status: string }>(query)) {
        if (status !== undefined && row.status !== status) continue;
        const entry = bodyOf(row.id);
        if (isEntry(entry)) yield entry;
      }
    },
  };
}

/** Only this file writes it, so its shape is trusted once the row is there. */
const isEntry = (value: unknown): value is ThreadEntry => isRecord(value) && "threadId" in value && "metadata" in value;
