// The run's two tables and every statement on them. Writes happen inside the caller's turn; whether they are on disk is the caller's business.
import type { LogEntry } from "../schemas/event.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { RunStatus } from "../schemas/run.ts";
import type { ThreadRef } from "../schemas/thread.ts";
import { asRecord, parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";
import { runTexts } from "./run-log-texts.ts";
import type { ProducerPlace, RunLogStore, RunOpening } from "./run-row.ts";
import { decodeSegment, encodeSegment } from "./segment-codec.ts";

/** A segment's key is its first sequence times this, plus the part: one that does not fit into a row goes on in the next. */
const PARTS = 1024;
/** UTF-16 units of payload after which a segment is closed. */
const SEGMENT_UNITS = 32_768;
/** Entries after which a segment is closed: what one page of a replay holds at most. */
const SEGMENT_ENTRIES = 2048;
const FORMAT = 1;

export function runLogStore(storage: DurableObjectStorage): RunLogStore {
  let rowsWritten = 0;
  let rowsRead = 0;
  /** Entries of the segment that the next flush still adds to. */
  let open: LogEntry[] = [];
  let openUnits = 0;
  /** False for a run that was stored before a run could go on from another. */
  let continuable = true;
  /** Where the producer of a pushed run stands, as the next write says it. */
  let producer: ProducerPlace | undefined;

  const query = (sql: string, ...bindings: SqlStorageValue[]): Record<string, SqlStorageValue>[] => {
    const cursor = storage.sql.exec(sql, ...bindings);
    const rows = cursor.toArray();
    rowsWritten += cursor.rowsWritten;
    rowsRead += cursor.rowsRead;
    return rows;
  };

  const texts = runTexts(query);

  const exists = (): boolean => query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'run'").length > 0;

  /** Upserts the open segment: by its integer key, one billed row however often. */
  const writeOpen = (reservedTo: number): void => {
    const [first] = open;
    const last = open.at(-1);
    if (first === undefined || last === undefined) return;
    // Beside the entries, so that nothing more is billed. Tables of older runs, which nobody pushes, have no such column.
    const place = producer === undefined ? [] : [JSON.stringify(producer)];
    const isPushed = producer !== undefined;
    for (const [part, body] of cutText(encodeSegment(open)).entries()) {
      query(
        `INSERT INTO segment (id, last, reserved, written, body${isPushed ? ", producer" : ""})
         VALUES (?, ?, ?, ?, ?${isPushed ? ", ?" : ""}) ON CONFLICT (id) DO UPDATE
         SET last = excluded.last, reserved = excluded.reserved, written = excluded.written, body = excluded.body
         ${isPushed ? ", producer = excluded.producer" : ""}`,
        first.sequence * PARTS + part,
        last.sequence,
        reservedTo,
        rowsWritten + 1,
        body,
        ...place,
      );
    }
  };

  const closeOpen = (): void => {
    open = [];
    openUnits = 0;
  };

  const append = (entries: readonly LogEntry[], reservedTo: number): void => {
    if (entries.length === 0 && open.length === 0 && producer !== undefined) {
      query(
        "UPDATE segment SET reserved = ?, producer = ? WHERE id = (SELECT MAX(id) FROM segment)",
        reservedTo,
        JSON.stringify(producer),
      );
    }
    for (const entry of entries) {
      open.push(entry);
      openUnits += entry.payload.length;
      if (openUnits < SEGMENT_UNITS && open.length < SEGMENT_ENTRIES) continue;
      writeOpen(reservedTo);
      closeOpen();
    }
    writeOpen(reservedTo);
  };

  /** The segment that holds the sequence after this one, found by key: no other row is read. */
  const segmentAfter = (after: number): { base: number; last: number } | undefined => {
    const key = (after + 1) * PARTS;
    const [at] = query("SELECT id, last FROM segment WHERE id <= ? ORDER BY id DESC LIMIT 1", key);
    const holds = at !== undefined && Number(at["last"]) > after;
    const [row] = holds ? [at] : query("SELECT id, last FROM segment WHERE id > ? ORDER BY id LIMIT 1", key);
    if (row === undefined) return undefined;
    return { base: Math.floor(Number(row["id"]) / PARTS) * PARTS, last: Number(row["last"]) };
  };

  const newestPlace = (): SqlStorageValue | undefined =>
    query("SELECT producer FROM segment ORDER BY id DESC LIMIT 1")[0]?.["producer"];

  return {
    load() {
      if (!exists()) return undefined;
      const [row] = query("SELECT * FROM run WHERE id = 0");
      if (row === undefined) return undefined;
      const plan = parseJson(texts.read("plan", textOf(row["plan"])));
      if (!isPlan(plan?.value)) return undefined;
      continuable = row["continued_by"] !== undefined;
      if (plan.value.push !== undefined) producer = placeOf(newestPlace());
      rowsWritten = Math.max(rowsWritten, Number(query("SELECT MAX(written) AS written FROM segment")[0]?.["written"]));
      return {
        plan: plan.value,
        status: statusOf(row["status"]),
        startedAt: Number(row["started_at"]),
        sealedAt: row["sealed_at"] === null ? undefined : Number(row["sealed_at"]),
        terminal: row["terminal"] === null ? undefined : Number(row["terminal"]),
        swept: row["swept"] === 1,
        recoveries: Number(row["recoveries"]),
        attached: row["attached"] === 1,
        continuedBy: typeof row["continued_by"] === "string" ? row["continued_by"] : undefined,
        told: row["told"] === 1,
        // A run that was stored before it could be in a thread has no such column.
        projected: typeof row["projected"] === "number" ? row["projected"] : -1,
        producer,
      };
    },
    request() {
      const [row] = query("SELECT request FROM run WHERE id = 0");
      const column = row?.["request"];
      if (typeof column !== "string") return undefined;
      const parsed = parseJson(texts.read("request", column));
      return isRequest(parsed?.value) ? parsed.value : undefined;
    },
    marks() {
      const [row] = query("SELECT last, reserved FROM segment ORDER BY id DESC LIMIT 1");
      if (row === undefined) return { durableTo: -1, reservedTo: -1 };
      return { durableTo: Number(row["last"]), reservedTo: Number(row["reserved"]) };
    },
    accept(plan, startedAt, entries, reservedTo) {
      const { request, thread, ...kept } = plan;
      const [ref, opening] = thread === undefined ? [] : withoutOpening(thread);
      const stored = ref === undefined ? kept : { ...kept, thread: ref };
      storage.transactionSync(() => {
        query(
          `CREATE TABLE run (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, plan TEXT NOT NULL, request TEXT,
           status TEXT NOT NULL, started_at INTEGER NOT NULL, sealed_at INTEGER, terminal INTEGER,
           swept INTEGER NOT NULL, recoveries INTEGER NOT NULL, attached INTEGER NOT NULL, rows_written INTEGER,
           rows_read INTEGER, continued_by TEXT, told INTEGER NOT NULL, projected INTEGER, opening TEXT)`,
        );
        query(
          `CREATE TABLE segment (id INTEGER PRIMARY KEY, last INTEGER NOT NULL, reserved INTEGER NOT NULL,
           written INTEGER NOT NULL, body TEXT NOT NULL, producer TEXT)`,
        );
        const columns = texts.keep({
          plan: JSON.stringify(stored),
          request: JSON.stringify(request),
          opening: opening === undefined ? null : JSON.stringify(opening),
        });
        query(
          `INSERT INTO run (id, format, plan, request, status, started_at, swept, recoveries, attached, told, opening)
           VALUES (0, ?, ?, ?, 'running', ?, 0, 0, 0, 0, ?)`,
          FORMAT,
          columns.plan,
          columns.request,
          startedAt,
          columns.opening,
        );
        append(entries, reservedTo);
      });
    },
    complete({ thread, ...kept }, request) {
      const stored = thread === undefined ? kept : { ...kept, thread: withoutOpening(thread)[0] };
      storage.transactionSync(() => {
        const [row] = query("SELECT COALESCE(LENGTH(opening), 0) AS units FROM run WHERE id = 0");
        const columns = texts.replace(
          { plan: JSON.stringify(stored), request: JSON.stringify(request) },
          Number(row?.["units"]),
        );
        query("UPDATE run SET plan = ?, request = ? WHERE id = 0", columns.plan, columns.request);
      });
    },
    flush(entries, reservedTo, place) {
      producer = place ?? producer;
      storage.transactionSync(() => append(entries, reservedTo));
    },
    recover(entries, reservedTo, recoveries) {
      storage.transactionSync(() => {
        append(entries, reservedTo);
        query("UPDATE run SET recoveries = ? WHERE id = 0", recoveries);
      });
    },
    seal(entries, status, at, keepsRequest, place) {
      const terminal = entries.at(-1);
      if (terminal === undefined) return;
      producer = place ?? producer;
      storage.transactionSync(() => {
        append(entries.slice(0, -1), terminal.sequence);
        // The terminal has a segment of its own: it outlives the events.
        closeOpen();
        append([terminal], terminal.sequence);
        closeOpen();
        const keeps = keepsRequest && continuable;
        if (!keeps) texts.forget("request");
        query(
          `UPDATE run SET status = ?, sealed_at = ?, terminal = ?, request = iif(?, request, NULL),
           rows_written = ?, rows_read = ? WHERE id = 0`,
          status,
          at,
          terminal.sequence,
          keeps ? 1 : 0,
          // This row, and the alarm that retention needs.
          rowsWritten + 2,
          rowsRead + 1,
        );
      });
    },
    read(after) {
      const row = segmentAfter(after);
      if (row === undefined) return { entries: [] };
      const body = query("SELECT body FROM segment WHERE id >= ? AND id < ? ORDER BY id", row.base, row.base + PARTS);
      const entries = decodeSegment(body.map((part) => textOf(part["body"])).join(""), row.base / PARTS);
      if (entries?.at(-1)?.sequence !== row.last) return { damagedTo: row.last };
      return { entries: entries.filter(({ sequence }) => sequence > after) };
    },
    markContinued(runId) {
      query("UPDATE run SET continued_by = ? WHERE id = 0", runId);
    },
    eraseRequest() {
      storage.transactionSync(() => {
        query("UPDATE run SET request = NULL WHERE id = 0");
        texts.forget("request");
      });
    },
    markTold() {
      query("UPDATE run SET told = 1 WHERE id = 0");
    },
    opening() {
      const [row] = query("SELECT opening FROM run WHERE id = 0");
      const column = row?.["opening"];
      const parsed = typeof column === "string" ? parseJson(texts.read("opening", column)) : undefined;
      return isOpening(parsed?.value) ? parsed.value : {};
    },
    markProjected(through) {
      storage.transactionSync(() => {
        query("UPDATE run SET projected = ?, opening = NULL WHERE id = 0", through);
        texts.forget("opening");
      });
    },
    markAttached() {
      query("UPDATE run SET attached = 1 WHERE id = 0");
    },
    sweepEvents() {
      storage.transactionSync(() => {
        query("DELETE FROM segment WHERE id < (SELECT terminal FROM run WHERE id = 0) * ?", PARTS);
        query("UPDATE run SET swept = 1, request = NULL WHERE id = 0");
        texts.forget("request");
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

function placeOf(stored: SqlStorageValue | undefined): ProducerPlace | undefined {
  const place = typeof stored === "string" ? asRecord(parseJson(stored)?.value) : undefined;
  if (place === undefined) return undefined;
  return {
    epoch: Number(place["epoch"]),
    next: Number(place["next"]),
    last: Number(place["last"]),
    heardAt: Number(place["heardAt"]),
  };
}

const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");

const statusOf = (value: unknown): RunStatus =>
  value === "completed" || value === "error" || value === "cancelled" ? value : "running";

/** Only `accept` writes plans and requests, so their shape is trusted once the row is there. */
function isPlan(value: unknown): value is Omit<RunPlan, "request"> {
  return typeof value === "object" && value !== null && "runId" in value && "chain" in value;
}

function isRequest(value: unknown): value is RunPlan["request"] {
  return typeof value === "object" && value !== null && "task" in value;
}

/** What a run begins with in its thread is kept apart: it goes once the thread has it. */
const withoutOpening = ({ human, results, ...ref }: ThreadRef): [ref: ThreadRef, opening: RunOpening] => [
  ref,
  { ...(human !== undefined && { human }), ...(results !== undefined && { results }) },
];

function isOpening(value: unknown): value is RunOpening {
  return typeof value === "object" && value !== null;
}
