// The run's two tables and every statement on them. Writes happen inside the caller's turn; durability is the caller's business.
import type { LogEntry } from "../schemas/event.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { Cost, RunStatus } from "../schemas/run.ts";
import { parseJson } from "../src/wire/json.ts";

/** Rows of one segment: a batch whose text does not fit into one row goes on in the next part. */
const PARTS = 1024;
/** UTF-16 units per row: at most 1.5 MB of UTF-8, below the platform's 2 MB. */
const ROW_UNITS = 500_000;
const FORMAT = 1;

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
}

export interface RunLogStore {
  load(): RunRow | undefined;
  /** The accept transaction: tables, the run and its first events. */
  accept(plan: RunPlan, startedAt: number, entries: readonly LogEntry[]): void;
  append(entries: readonly LogEntry[]): void;
  /** The seal transaction: the last events, the terminal, the status; the request text is erased. */
  seal(entries: readonly LogEntry[], status: RunStatus, at: number): void;
  /** Entries after `after`, from one segment; empty when there is none. */
  read(after: number): LogEntry[];
  /** Deletes all entries but the terminal. */
  sweepEvents(): void;
  /** Unix epoch, milliseconds. Billed as one row. */
  setAlarm(at: number): Promise<void>;
  /** As SQLite counts; frozen when the run is sealed. */
  cost(): Cost;
}

export function runLogStore(storage: DurableObjectStorage): RunLogStore {
  let rowsWritten = 0;
  let rowsRead = 0;

  const query = (sql: string, ...bindings: SqlStorageValue[]): Record<string, SqlStorageValue>[] => {
    const cursor = storage.sql.exec(sql, ...bindings);
    const rows = cursor.toArray();
    rowsWritten += cursor.rowsWritten;
    rowsRead += cursor.rowsRead;
    return rows;
  };

  const exists = (): boolean =>
    query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'run'").length > 0;

  const insert = (entries: readonly LogEntry[]): void => {
    const [first] = entries;
    if (first === undefined) return;
    let rest = entries.map(({ at, type, payload }) => `${at}\t${type}\t${payload}\n`).join("");
    for (let part = 0; rest !== ""; part++) {
      const cut = isHighSurrogate(rest, ROW_UNITS - 1) ? ROW_UNITS - 1 : ROW_UNITS;
      query("INSERT INTO segment (id, body) VALUES (?, ?)", first.sequence * PARTS + part, rest.slice(0, cut));
      rest = rest.slice(cut);
    }
  };

  const body = (base: number): string =>
    query("SELECT body FROM segment WHERE id >= ? AND id < ? ORDER BY id", base, base + PARTS)
      .map((row) => String(row["body"]))
      .join("");

  return {
    load() {
      if (!exists()) return undefined;
      const [row] = query("SELECT * FROM run WHERE id = 0");
      const plan = parseJson(String(row?.["plan"]));
      if (row === undefined || !isPlan(plan?.value)) return undefined;
      return {
        plan: plan.value,
        status: statusOf(row["status"]),
        startedAt: Number(row["started_at"]),
        sealedAt: row["sealed_at"] === null ? undefined : Number(row["sealed_at"]),
        terminal: row["terminal"] === null ? undefined : Number(row["terminal"]),
        swept: row["swept"] === 1,
        recoveries: Number(row["recoveries"]),
      };
    },
    accept(plan, startedAt, entries) {
      const { request, ...kept } = plan;
      storage.transactionSync(() => {
        query(
          `CREATE TABLE run (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, plan TEXT NOT NULL, request TEXT,
           status TEXT NOT NULL, started_at INTEGER NOT NULL, sealed_at INTEGER, terminal INTEGER,
           swept INTEGER NOT NULL, recoveries INTEGER NOT NULL, rows_written INTEGER, rows_read INTEGER)`,
        );
        query("CREATE TABLE segment (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
        query(
          `INSERT INTO run (id, format, plan, request, status, started_at, swept, recoveries)
           VALUES (0, ?, ?, ?, 'running', ?, 0, 0)`,
          FORMAT,
          JSON.stringify(kept),
          JSON.stringify(request),
          startedAt,
        );
        insert(entries);
      });
    },
    append: (entries) => storage.transactionSync(() => insert(entries)),
    seal(entries, status, at) {
      storage.transactionSync(() => {
        insert(entries.slice(0, -1));
        // The terminal has a segment of its own: it outlives the events.
        insert(entries.slice(-1));
        query(
          `UPDATE run SET status = ?, sealed_at = ?, terminal = ?, request = NULL, rows_written = ?, rows_read = ?
           WHERE id = 0`,
          status,
          at,
          entries.at(-1)?.sequence ?? null,
          // This row, and the alarm that retention needs.
          rowsWritten + 2,
          rowsRead + 1,
        );
      });
    },
    read(after) {
      const next = after + 1;
      const [at] = query("SELECT id FROM segment WHERE id <= ? ORDER BY id DESC LIMIT 1", next * PARTS);
      const [from] = at === undefined ? query("SELECT id FROM segment ORDER BY id LIMIT 1") : [at];
      if (from === undefined) return [];
      const first = Math.floor(Number(from["id"]) / PARTS);
      const entries = parseBody(body(first * PARTS), first).filter(({ sequence }) => sequence > after);
      if (entries.length > 0) return entries;
      const [following] = query("SELECT id FROM segment WHERE id > ? ORDER BY id LIMIT 1", (first + 1) * PARTS - 1);
      if (following === undefined) return [];
      const base = Math.floor(Number(following["id"]) / PARTS);
      return parseBody(body(base * PARTS), base).filter(({ sequence }) => sequence > after);
    },
    sweepEvents() {
      storage.transactionSync(() => {
        query("DELETE FROM segment WHERE id < (SELECT terminal FROM run WHERE id = 0) * ?", PARTS);
        query("UPDATE run SET swept = 1 WHERE id = 0");
      });
    },
    setAlarm(at) {
      rowsWritten++;
      return storage.setAlarm(at);
    },
    cost() {
      const [sealed] = query("SELECT rows_written, rows_read FROM run WHERE id = 0 AND terminal IS NOT NULL");
      const [stored] = query("SELECT COALESCE(SUM(LENGTH(CAST(body AS BLOB))), 0) AS bytes FROM segment");
      return {
        rowsWritten: sealed === undefined ? rowsWritten : Number(sealed["rows_written"]),
        rowsRead: sealed === undefined ? rowsRead : Number(sealed["rows_read"]),
        bytesStored: Number(stored?.["bytes"]),
      };
    },
  };
}

/** A segment's text: one line per entry, `at TAB type TAB payload`; JSON text holds neither tab nor line end. */
function parseBody(text: string, first: number): LogEntry[] {
  const lines = text.split("\n");
  lines.pop();
  return lines.map((line, index) => {
    const afterAt = line.indexOf("\t");
    const afterType = line.indexOf("\t", afterAt + 1);
    return {
      sequence: first + index,
      at: Number(line.slice(0, afterAt)),
      type: line.slice(afterAt + 1, afterType),
      payload: line.slice(afterType + 1),
    };
  });
}

const isHighSurrogate = (text: string, index: number): boolean => {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00;
};

const statusOf = (value: unknown): RunStatus =>
  value === "completed" || value === "error" || value === "cancelled" ? value : "running";

/** Only `accept` writes plans, so the shape is trusted once the row is there. */
function isPlan(value: unknown): value is Omit<RunPlan, "request"> {
  return typeof value === "object" && value !== null && "runId" in value && "chain" in value;
}
