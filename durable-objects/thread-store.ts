// The tables of a thread's object, and the row of the thread itself. Writes happen inside the caller's transaction; knows no rules.
import type { JsonRecord } from "../schemas/json.ts";
import type { ThreadStatus } from "../schemas/thread.ts";
import { asRecord, parseJson } from "../src/wire/json.ts";
import { RUN_TABLES } from "./thread-run-store.ts";
import { STATE_TABLES } from "./thread-state.ts";
import { threadTexts } from "./thread-texts.ts";

const FORMAT = 1;

export interface ThreadRow {
  createdAt: number;
  updatedAt: number;
  assistantId: string | null;
  metadata: JsonRecord;
  /** What is left of the latest run that has ended. */
  status: Exclude<ThreadStatus, "busy">;
  activeRun: string | undefined;
  /** Of what the tenant's index is told; higher with each change, also of a thread that is made anew. */
  version: number;
  /** The index has not acknowledged this version. */
  dirty: boolean;
}

type Row = Record<string, SqlStorageValue>;

export interface ThreadStore {
  /** `undefined`: there is no such thread, or it is deleted. */
  thread(): ThreadRow | undefined;
  /** Makes the thread; of a deleted one the numbers and the version go on. */
  addThread(thread: Omit<ThreadRow, "version" | "dirty">): void;
  /** Counts as a change that the index is to be told, and gives its version. */
  saveThread(thread: ThreadRow): number;
  /** Only the counters stay. The rows of other tables are their stores' to remove, but not their large texts. */
  removeThread(): void;
  /** The next numbers of the thread, so many: the first of them. They are never given again. */
  takeNumbers(count: number): number;
  /** What the index has not been told: the version of a thread, or of its removal. */
  untold(): number | undefined;
  /** The index has acknowledged this version. */
  told(version: number): void;
  /** Bytes of storage in use. */
  size(): number;
  /** Whether the thread's tables are there. */
  isReady(): boolean;
}

/** Nothing is written, no table either, before the thread is made. */
export function threadStore(storage: DurableObjectStorage): ThreadStore {
  const { sql } = storage;
  const texts = threadTexts(storage);
  // Asked anew until it is so: the transaction that made the tables may have been rolled back.
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'thread'").toArray().length > 0;

  const read = (query: string, ...bindings: SqlStorageValue[]): Row[] =>
    isReady() ? sql.exec(query, ...bindings).toArray() : [];

  const write = (thread: Omit<ThreadRow, "version" | "dirty">): number => {
    const [row] = sql
      .exec(
        `UPDATE thread SET alive = 1, created_at = ?, updated_at = ?, assistant_id = ?, metadata = ?, status = ?,
       active_run = ?, version = version + 1, dirty = 1 RETURNING version`,
        thread.createdAt,
        thread.updatedAt,
        thread.assistantId,
        texts.keep("metadata", JSON.stringify(thread.metadata)),
        thread.status,
        thread.activeRun ?? null,
      )
      .toArray();
    return Number(row?.["version"]);
  };

  const threadOf = (row: Row): ThreadRow => ({
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    assistantId: maybeText(row["assistant_id"]) ?? null,
    metadata: asRecord(parseJson(texts.read("metadata", maybeText(row["metadata"]) ?? ""))?.value) ?? {},
    status: statusOf(row["status"]),
    activeRun: maybeText(row["active_run"]),
    version: Number(row["version"]),
    dirty: row["dirty"] === 1,
  });

  return {
    thread: () => read("SELECT * FROM thread WHERE alive = 1").map(threadOf)[0],
    addThread(thread) {
      if (!isReady()) createTables(sql);
      write(thread);
    },
    saveThread: write,
    removeThread() {
      sql.exec(
        `UPDATE thread SET alive = 0, assistant_id = NULL, metadata = '{}', status = 'idle', active_run = NULL,
         version = version + 1, dirty = 1`,
      );
      sql.exec("DELETE FROM thread_text");
    },
    takeNumbers(count) {
      const [row] = sql.exec("UPDATE thread SET seq = seq + ? RETURNING seq", count).toArray();
      return Number(row?.["seq"]) - count + 1;
    },
    untold: () => read("SELECT version FROM thread WHERE dirty = 1").map(({ version }) => Number(version))[0],
    told(version) {
      sql.exec("UPDATE thread SET dirty = 0 WHERE version = ?", version);
    },
    size: () => sql.databaseSize,
    isReady,
  };
}

function createTables(sql: SqlStorage): void {
  for (const statement of [
    `CREATE TABLE thread (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, alive INTEGER NOT NULL DEFAULT 0,
     seq INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0, dirty INTEGER NOT NULL DEFAULT 0,
     created_at INTEGER, updated_at INTEGER, assistant_id TEXT, status TEXT, active_run TEXT, metadata TEXT)`,
    `INSERT INTO thread (id, format) VALUES (0, ${FORMAT})`,
    `CREATE TABLE thread_text (name TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (name, part)) WITHOUT ROWID`,
    ...RUN_TABLES,
    ...STATE_TABLES,
  ]) {
    sql.exec(statement);
  }
}

const maybeText = (value: SqlStorageValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

const statusOf = (value: unknown): ThreadRow["status"] =>
  value === "interrupted" || value === "error" ? value : "idle";
