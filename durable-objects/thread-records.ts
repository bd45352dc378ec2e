// A thread's records: numbered when they are kept, read by page. Every statement on them. Writes happen inside the caller's transaction.
import type { RecordDraft, ThreadRecord } from "../schemas/thread.ts";
import { marksOf } from "../src/thread/record-marks.ts";
import { cutTrace } from "../src/thread/stored-content.ts";
import { isRecord, parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";
import { threadTallies, type ThreadTallies } from "./thread-tallies.ts";

/** UTF-16 units of what is read at once, but for a single record: twice as many bytes pass an RPC boundary. */
const READ_UNITS = 12_000_000;

export interface RecordFilter {
  runId?: string;
  /** Only records of the category `message`. */
  messages?: boolean;
  /** Only records with all of these `MARKS`. */
  marks?: number;
  eventTypes?: readonly string[];
  /** What `task_id` of the metadata is. */
  taskId?: string;
  /** Runs whose records are left out. */
  without?: readonly string[];
}

/** Both bounds are left out themselves. */
export interface RecordRange {
  after?: number;
  before?: number;
  limit: number;
  /** Which end of what fits is given. */
  from: "start" | "end";
}

export interface RecordsRead {
  /** Always in ascending order. */
  records: ThreadRecord[];
  /** There is more within the limit, and it is too large to be read at once. */
  cut: boolean;
}

export interface ThreadRecords {
  /** Numbers and keeps records of one run, without a gap between them. Gives the number of the first. */
  append(runId: string, drafts: readonly RecordDraft[]): number;
  read(filter: RecordFilter, range: RecordRange): RecordsRead;
  /** The number of each run's last record that has all of these marks, where there is one. */
  lastMarked(runIds: readonly string[], marks: number): Map<string, number>;
  /** The number of the last record; 0 when there is none. */
  lastSeq(): number;
  /** Forgets all records. */
  clear(): void;
  readonly tallies: ThreadTallies;
}

type Row = Record<string, SqlStorageValue>;

/**
 * Nothing is written, no table either, before the first record is kept. `takeNumbers` gives the first of so many numbers that
 * no record ever had.
 */
export function threadRecords({ sql }: DurableObjectStorage, takeNumbers: (count: number) => number): ThreadRecords {
  // Asked anew until it is so: the transaction that made the tables may have been rolled back.
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'record'").toArray().length > 0;
  const tallies = threadTallies(sql, isReady);

  const insert = (seq: number, runId: string, draft: RecordDraft): void => {
    const { eventType, category, content, metadata, at, userId } = draft;
    const [body = "", ...further] = cutText(JSON.stringify([content, metadata]));
    sql.exec(
      `INSERT INTO record (seq, run_id, category, event_type, task_id, marks, at, user_id, parts, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      seq,
      runId,
      category.toWellFormed(),
      eventType.toWellFormed(),
      typeof metadata["task_id"] === "string" ? metadata["task_id"].toWellFormed() : null,
      marksOf(draft),
      at,
      userId?.toWellFormed() ?? null,
      further.length,
      body,
    );
    for (const [part, text] of further.entries()) {
      sql.exec("INSERT INTO record_part (seq, part, body) VALUES (?, ?, ?)", seq, part, text);
    }
  };

  const bodyOf = (row: Row): string => {
    const first = textOf(row["body"]);
    if (row["parts"] === 0) return first;
    const further = sql.exec("SELECT body FROM record_part WHERE seq = ? ORDER BY part", row["seq"] ?? null).toArray();
    return first + further.map(({ body }) => textOf(body)).join("");
  };

  return {
    tallies,
    append(runId, drafts) {
      if (!isReady()) createTables(sql);
      const first = takeNumbers(drafts.length);
      for (const [index, draft] of drafts.entries()) insert(first + index, runId, cutTrace(draft));
      tallies.add(runId, drafts);
      return first;
    },
    read(filter, range) {
      const records: ThreadRecord[] = [];
      if (!isReady()) return { records, cut: false };
      let units = 0;
      for (const row of sql.exec(...selection(filter, range))) {
        const body = bodyOf(row);
        units += body.length;
        if (units > READ_UNITS && records.length > 0) return { records: inOrder(records, range), cut: true };
        records.push(recordOf(row, body));
      }
      return { records: inOrder(records, range), cut: false };
    },
    lastMarked(runIds, marks) {
      if (!isReady()) return new Map();
      const rows = sql.exec(
        `SELECT value AS run_id, (SELECT seq FROM record INDEXED BY record_run WHERE run_id = value
         AND category = 'message' AND (marks & ?) = ? ORDER BY seq DESC LIMIT 1) AS seq FROM json_each(?)`,
        marks,
        marks,
        JSON.stringify(runIds),
      );
      const found = rows.toArray().filter(({ seq }) => seq !== null);
      return new Map(found.map(({ run_id, seq }) => [textOf(run_id), Number(seq)]));
    },
    lastSeq: () => (isReady() ? Number(sql.exec("SELECT MAX(seq) AS last FROM record").one()["last"]) : 0),
    clear() {
      if (!isReady()) return;
      sql.exec("DELETE FROM record");
      sql.exec("DELETE FROM record_part");
      tallies.clear();
    },
  };
}

function createTables(sql: SqlStorage): void {
  for (const statement of [
    `CREATE TABLE record (seq INTEGER PRIMARY KEY, run_id TEXT NOT NULL, category TEXT NOT NULL, event_type TEXT NOT NULL,
     task_id TEXT, marks INTEGER NOT NULL, at INTEGER NOT NULL, user_id TEXT, parts INTEGER NOT NULL, body TEXT NOT NULL)`,
    // Each holds all that its readers choose by: what is passed over is never read.
    "CREATE INDEX record_run ON record (run_id, seq, category, event_type, task_id, marks)",
    "CREATE INDEX record_message ON record (seq, run_id, marks) WHERE category = 'message'",
    `CREATE TABLE record_part (seq INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (seq, part)) WITHOUT ROWID`,
    "CREATE TABLE run_tally (run_id TEXT PRIMARY KEY, tally TEXT NOT NULL) WITHOUT ROWID",
  ]) {
    sql.exec(statement);
  }
}

/** The statement, and what it is bound to. */
function selection(filter: RecordFilter, range: RecordRange): [string, ...SqlStorageValue[]] {
  const { runId, messages = false, marks, eventTypes, taskId, without = [] } = filter;
  const parts: [condition: string, ...SqlStorageValue[]][] = [];
  if (runId !== undefined) parts.push(["run_id = ?", runId]);
  if (messages) parts.push(["category = 'message'"]);
  if (marks !== undefined) parts.push(["(marks & ?) = ?", marks, marks]);
  if (eventTypes !== undefined)
    parts.push(["event_type IN (SELECT value FROM json_each(?))", JSON.stringify(eventTypes)]);
  if (taskId !== undefined) parts.push(["task_id = ?", taskId.toWellFormed()]);
  if (without.length > 0) parts.push(["run_id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(without)]);
  if (range.after !== undefined) parts.push(["seq > ?", range.after]);
  if (range.before !== undefined) parts.push(["seq < ?", range.before]);
  const index = runId !== undefined ? "INDEXED BY record_run" : messages ? "INDEXED BY record_message" : "";
  const conditions = parts.map(([condition]) => condition);
  return [
    `SELECT seq, run_id, category, event_type, at, user_id, parts, body FROM record ${index}
     WHERE ${["1", ...conditions].join(" AND ")} ORDER BY seq ${range.from === "start" ? "ASC" : "DESC"} LIMIT ?`,
    ...parts.flatMap(([, ...values]) => values),
    range.limit,
  ];
}

const inOrder = (records: ThreadRecord[], { from }: RecordRange): ThreadRecord[] =>
  from === "start" ? records : records.toReversed();

function recordOf(row: Row, body: string): ThreadRecord {
  const parsed = parseJson(body)?.value;
  const [content, metadata]: unknown[] = Array.isArray(parsed) ? parsed : [];
  return {
    seq: Number(row["seq"]),
    runId: textOf(row["run_id"]),
    eventType: textOf(row["event_type"]),
    category: textOf(row["category"]),
    content,
    metadata: isRecord(metadata) ? metadata : {},
    at: Number(row["at"]),
    userId: typeof row["user_id"] === "string" ? row["user_id"] : null,
  };
}

const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");
