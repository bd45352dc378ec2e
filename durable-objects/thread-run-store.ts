// The runs of a thread, and every statement on them. Writes happen inside the caller's transaction; knows no rules.
import type { JsonRecord } from "../schemas/json.ts";
import type { MultitaskStrategy, ThreadRunStatus } from "../schemas/thread.ts";
import { asRecord, parseJson } from "../src/wire/json.ts";
import { threadTexts } from "./thread-texts.ts";

export interface ThreadRunRow {
  id: number;
  runId: string;
  requestHash: string;
  /** `lost`: given up before it was started. It is shown to nobody, unless it does say something yet. */
  status: ThreadRunStatus | "lost";
  /** Nothing but its producer's records is known of it: no object of ours runs it. */
  pushed: boolean;
  strategy: MultitaskStrategy;
  assistantId: string | null;
  metadata: JsonRecord;
  kwargs: JsonRecord;
  createdAt: number;
  updatedAt: number;
  stopReason: string | null;
  error: string | null;
  /** The source of the last record that it has told. */
  through: number;
  /** The checkpoint with what the run brought. */
  opened: number | undefined;
  /** The run whose open calls it settles. */
  continues: string | undefined;
  /** How many were told to start it and have not said that they could not. */
  starters: number;
  /** The reason with which it is to be cancelled once it is started. */
  cancel: string | undefined;
  /** What its beginning changed in the thread. */
  before: Before;
}

/** The thread as it was; `version`: as the beginning of the run left it. `made`: the run's beginning made it. */
export interface Before {
  made: boolean;
  updatedAt: number;
  version: number;
}

type Row = Record<string, SqlStorageValue>;

export interface ThreadRunStore {
  run(runId: string): ThreadRunRow | undefined;
  /** Newest first, without those that are lost; lazily. The arguments of what does not fit into one answer are left out. */
  list(limit: number): Iterable<ThreadRunRow>;
  /** Of all runs. */
  runIds(): string[];
  /** Of those that objects of ours run. */
  ownRunIds(): string[];
  /** Of the runs with one of these words. */
  /** The latest last. */
  runIdsOf(statuses: readonly ThreadRunStatus[]): string[];
  /** Runs in whose place another one has succeeded. */
  superseded(): string[];
  /** Whole seconds that those of these runs took which have ended. */
  durations(runIds: readonly string[]): Map<string, number>;
  /** One of the same name is replaced. */
  add(run: Omit<ThreadRunRow, "id">): void;
  /** All but what a run has had from its beginning. */
  save(run: ThreadRunRow): void;
  remove(runId: string): void;
  removeAll(): void;
}

/** UTF-16 units of a run's metadata in its row, beside its arguments. */
const MAX_METADATA = 100_000;
/** UTF-16 units of the arguments of a list: what an answer between objects may hold is bounded. */
const MAX_LIST = 8_000_000;

/** The tables are made by the thread's store. */
export function threadRunStore(storage: DurableObjectStorage): ThreadRunStore {
  const { sql } = storage;
  const texts = threadTexts(storage);

  const runOf = (row: Row, withKwargs = true): ThreadRunRow => {
    const id = Number(row["id"]);
    const jsonOf = (name: "metadata" | "kwargs"): JsonRecord =>
      asRecord(parseJson(texts.read(`run/${id}/${name}`, maybeText(row[name]) ?? ""))?.value) ?? {};
    return {
      id,
      runId: maybeText(row["run_id"]) ?? "",
      requestHash: maybeText(row["request_hash"]) ?? "",
      status: statusOf(row["status"]),
      pushed: row["pushed"] === 1,
      strategy: strategyOf(row["strategy"]),
      assistantId: maybeText(row["assistant_id"]) ?? null,
      metadata: jsonOf("metadata"),
      kwargs: withKwargs ? jsonOf("kwargs") : {},
      createdAt: Number(row["created_at"]),
      updatedAt: Number(row["updated_at"]),
      stopReason: maybeText(row["stop_reason"]) ?? null,
      error: maybeText(row["error"]) ?? null,
      through: Number(row["through"]),
      opened: typeof row["opened"] === "number" ? row["opened"] : undefined,
      continues: maybeText(row["continues"]),
      starters: Number(row["starters"]),
      cancel: maybeText(row["cancel"]),
      before: {
        made: row["made"] === 1,
        updatedAt: Number(row["before_updated_at"]),
        version: Number(row["thread_version"]),
      },
    };
  };

  const remove = (runId: string): void => {
    for (const { id } of sql.exec("DELETE FROM run WHERE run_id = ? RETURNING id", runId).toArray()) {
      texts.drop(`run/${Number(id)}/metadata`, "");
      texts.drop(`run/${Number(id)}/kwargs`, "");
    }
  };

  return {
    run: (runId) =>
      sql
        .exec("SELECT * FROM run WHERE run_id = ?", runId)
        .toArray()
        .map((row) => runOf(row))[0],
    *list(limit) {
      let units = 0;
      for (const row of sql.exec("SELECT * FROM run WHERE status <> 'lost' ORDER BY id DESC LIMIT ?", limit)) {
        units += Number(row["units"]);
        yield runOf(row, units <= MAX_LIST);
      }
    },
    runIds: () =>
      sql
        .exec("SELECT run_id FROM run")
        .toArray()
        .map((row) => maybeText(row["run_id"]) ?? ""),
    ownRunIds: () =>
      sql
        .exec("SELECT run_id FROM run WHERE pushed = 0")
        .toArray()
        .map((row) => maybeText(row["run_id"]) ?? ""),
    runIdsOf: (statuses) =>
      sql
        .exec(
          "SELECT run_id FROM run WHERE status IN (SELECT value FROM json_each(?)) ORDER BY id",
          JSON.stringify(statuses),
        )
        .toArray()
        .map((row) => maybeText(row["run_id"]) ?? ""),
    superseded: () =>
      sql
        .exec("SELECT DISTINCT replaces FROM run WHERE replaces <> run_id AND status = 'success'")
        .toArray()
        .map((row) => maybeText(row["replaces"]) ?? ""),
    durations(runIds) {
      const rows = sql
        .exec(
          `SELECT run_id, updated_at - created_at AS took FROM json_each(?) AS asked JOIN run ON run.run_id = asked.value
           WHERE status NOT IN ('pending', 'running', 'lost')`,
          JSON.stringify(runIds),
        )
        .toArray();
      return new Map(rows.map((row) => [maybeText(row["run_id"]) ?? "", Math.floor(Number(row["took"]) / 1000)]));
    },
    add(run) {
      remove(run.runId);
      const [metadata, kwargs] = [JSON.stringify(run.metadata), JSON.stringify(run.kwargs)];
      const [row] = sql
        .exec<{ id: number }>(
          `INSERT INTO run (run_id, request_hash, status, pushed, strategy, assistant_id, metadata, kwargs, units,
           created_at, updated_at, stop_reason, error, through, opened, continues, starters, cancel, made,
           before_updated_at, thread_version)
           VALUES (?, ?, ?, ?, ?, ?, '', '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
          run.runId,
          run.requestHash,
          run.status,
          run.pushed ? 1 : 0,
          run.strategy,
          run.assistantId,
          kwargs.length,
          run.createdAt,
          run.updatedAt,
          run.stopReason,
          run.error,
          run.through,
          run.opened ?? null,
          run.continues ?? null,
          run.starters,
          run.cancel ?? null,
          run.before.made ? 1 : 0,
          run.before.updatedAt,
          run.before.version,
        )
        .toArray();
      if (row === undefined) throw new Error("A row that was written is not there.");
      sql.exec(
        "UPDATE run SET replaces = ?, metadata = ?, kwargs = ? WHERE id = ?",
        replacedBy(run),
        texts.keep(`run/${row.id}/metadata`, metadata, MAX_METADATA),
        texts.keep(`run/${row.id}/kwargs`, kwargs),
        row.id,
      );
    },
    save(run) {
      sql.exec(
        `UPDATE run SET status = ?, updated_at = ?, stop_reason = ?, error = ?, through = ?, opened = ?, starters = ?,
         cancel = ? WHERE id = ?`,
        run.status,
        run.updatedAt,
        run.stopReason,
        run.error,
        run.through,
        run.opened ?? null,
        run.starters,
        run.cancel ?? null,
        run.id,
      );
    },
    remove,
    removeAll() {
      sql.exec("DELETE FROM run");
    },
  };
}

/** What the thread's store makes with its other tables. */
export const RUN_TABLES = [
  `CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL UNIQUE, request_hash TEXT NOT NULL,
   status TEXT NOT NULL, pushed INTEGER NOT NULL, strategy TEXT NOT NULL, assistant_id TEXT, units INTEGER NOT NULL,
   created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, stop_reason TEXT, error TEXT, through INTEGER NOT NULL,
   opened INTEGER, continues TEXT, starters INTEGER NOT NULL, cancel TEXT, made INTEGER NOT NULL,
   before_updated_at INTEGER NOT NULL, thread_version INTEGER NOT NULL, replaces TEXT, metadata TEXT NOT NULL, kwargs TEXT NOT NULL)`,
  "CREATE INDEX run_replaces ON run (replaces) WHERE replaces IS NOT NULL",
];

/** The run that this one is made in place of, as its metadata says. */
const replacedBy = ({ metadata }: Pick<ThreadRunRow, "metadata">): string | null => {
  const named = metadata["regenerate_from_run_id"];
  return typeof named === "string" && named !== "" ? named.toWellFormed() : null;
};

const maybeText = (value: SqlStorageValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

const strategyOf = (value: unknown): MultitaskStrategy =>
  value === "interrupt" || value === "rollback" ? value : "reject";

const STATUSES = ["pending", "running", "success", "error", "timeout", "interrupted"] as const;
const statusOf = (value: unknown): ThreadRunRow["status"] => STATUSES.find((status) => status === value) ?? "lost";
