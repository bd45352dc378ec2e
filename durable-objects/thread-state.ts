// The state of a thread: its messages and checkpoints, and every statement on them. A state is what was added on the way to its checkpoint and not removed on it, so branches share what came before. Knows no rules of runs.
import type { JsonRecord } from "../schemas/json.ts";
import type { Interrupt, LangMessage } from "../schemas/thread.ts";
import type { Change } from "../src/thread/reducer.ts";
import { utf8Length } from "../src/run/utf8.ts";
import { asArray, asRecord, isRecord, jsonText, parseJson } from "../src/wire/json.ts";
import { threadTexts } from "./thread-texts.ts";

/** UTF-16 units of what waits for a user in the row of its checkpoint, beside the values. */
const MAX_INTERRUPTS = 100_000;

export type CheckpointSource = "input" | "loop" | "update";

export interface Checkpoint {
  id: number;
  parent: number | undefined;
  runId: string | undefined;
  source: CheckpointSource;
  /** How many checkpoints lead to it, less one for the first, as LangGraph counts. */
  step: number;
  asNode: string | undefined;
  createdAt: number;
  /** Everything of the state but its messages. */
  values: JsonRecord;
  interrupts: Interrupt[];
}

export interface NewCheckpoint extends Pick<Checkpoint, "source" | "createdAt"> {
  parent: number | undefined;
  runId?: string;
  asNode?: string;
  changes: readonly Change[];
  /** What becomes of the values; left out: they stay. */
  values?: JsonRecord;
}

/** A message's place in a state; its text is read when it is wanted. */
export interface StatePlace {
  row: number;
  id: string;
  type: string;
  runId: string | undefined;
  /** The checkpoint that it came with. */
  added: number;
  /** UTF-8 bytes of the message. */
  bytes: number;
}

export interface ThreadStates {
  /** The latest. */
  head(): Checkpoint | undefined;
  checkpoint(id: number): Checkpoint | undefined;
  /** The latest of a run. */
  lastOf(runId: string): Checkpoint | undefined;
  /** Newest first, those before this one; lazily. */
  checkpoints(before: number | undefined, limit: number): Iterable<Checkpoint>;
  /** The messages at a checkpoint, in order. */
  places(checkpoint: number | undefined): StatePlace[];
  /** Whether a message of this id is in the state at a checkpoint. */
  has(checkpoint: number | undefined, id: string): boolean;
  /** How many messages of users came before this checkpoint, on whichever branch, also those that are gone; one that was changed is one. */
  askedBefore(checkpoint: number): number;
  read(place: StatePlace): LangMessage;
  /** Of many at once. */
  readAll(places: readonly StatePlace[]): LangMessage[];
  /** The number of the new checkpoint: higher than any before. */
  add(checkpoint: NewCheckpoint): number;
  saveValues(checkpoint: number, values: JsonRecord): void;
  saveInterrupts(checkpoint: number, interrupts: readonly Interrupt[]): void;
  /** The run's checkpoints go, and what came with them. Nothing else may have been built on them. */
  removeOf(runId: string): void;
  removeAll(): void;
}

/** A branch, as far as it belongs to a state. */
interface Stretch {
  branch: number;
  through: number;
}

type Row = Record<string, SqlStorageValue>;

/** The tables are made by the thread's store. */
export function threadState(storage: DurableObjectStorage): ThreadStates {
  const { sql } = storage;
  const texts = threadTexts(storage);

  const rowOf = (id: number): Row | undefined => sql.exec("SELECT * FROM checkpoint WHERE id = ?", id).toArray()[0];

  const checkpointOf = (row: Row): Checkpoint => ({
    id: Number(row["id"]),
    parent: numberOf(row["parent"]),
    runId: textOf(row["run_id"]),
    source: sourceOf(row["source"]),
    step: Number(row["step"]),
    asNode: textOf(row["as_node"]),
    createdAt: Number(row["created_at"]),
    values: valuesAt(numberOf(row["values_at"])),
    interrupts: interruptsOf(Number(row["id"]), row["interrupts"]),
  });

  const interruptsOf = (id: number, column: SqlStorageValue | undefined): Interrupt[] => {
    if (typeof column !== "string") return [];
    return asArray(parseJson(texts.read(`interrupts/${id}`, column))?.value).filter(isInterrupt);
  };

  const valuesAt = (id: number | undefined): JsonRecord => {
    if (id === undefined) return {};
    const text = texts.read(`values/${id}`, textOf(rowOf(id)?.["state"]) ?? "");
    return asRecord(parseJson(text)?.value) ?? {};
  };

  /** From the newest branch to the oldest. */
  const stretchesOf = (checkpoint: number | undefined): Stretch[] => {
    const stretches: Stretch[] = [];
    for (let through = checkpoint; through !== undefined;) {
      const branch = numberOf(rowOf(through)?.["branch"]);
      if (branch === undefined) throw new Error("A checkpoint is on no branch.");
      stretches.push({ branch, through });
      through = numberOf(rowOf(branch)?.["parent"]);
    }
    return stretches;
  };

  const removedIn = (stretches: readonly Stretch[]): Set<number> =>
    new Set(
      stretches.flatMap(({ branch, through }) =>
        sql
          .exec<{ message: number }>(
            "SELECT message FROM state_removal WHERE branch = ? AND removed <= ?",
            branch,
            through,
          )
          .toArray()
          .map(({ message }) => message),
      ),
    );

  const find = (checkpoint: number | undefined, id: string): { row: number; place: number } | undefined => {
    const rows = sql
      .exec<{
        id: number;
        branch: number;
        added: number;
        place: number;
      }>("SELECT id, branch, added, place FROM state_message WHERE message_id = ? ORDER BY id DESC", id.toWellFormed())
      .toArray();
    if (rows.length === 0) return undefined;
    const stretches = stretchesOf(checkpoint);
    const isOn = (branch: number, at: number): boolean =>
      stretches.some((stretch) => stretch.branch === branch && at <= stretch.through);
    const found = rows.find(
      (row) =>
        isOn(row.branch, row.added) &&
        !sql
          .exec<{ branch: number; removed: number }>(
            "SELECT branch, removed FROM state_removal WHERE message = ?",
            row.id,
          )
          .toArray()
          .some(({ branch, removed }) => isOn(branch, removed)),
    );
    return found && { row: found.id, place: found.place };
  };

  const apply = (at: { checkpoint: number; branch: number; parent: number | undefined }, runId: string | undefined) => {
    const remove = (row: number): void => {
      sql.exec("INSERT INTO state_removal (branch, removed, message) VALUES (?, ?, ?)", at.branch, at.checkpoint, row);
    };
    return (change: Change): void => {
      const known = find(at.parent, change.change === "removed" ? change.id : change.message.id);
      if (known !== undefined) remove(known.row);
      if (change.change === "removed") return;
      const { message } = change;
      const text = jsonText(message);
      if (text === undefined) throw new Error("A message is nested too deeply to be kept.");
      const [row] = sql
        .exec<{ id: number }>(
          `INSERT INTO state_message (message_id, type, branch, added, place, run_id, bytes, body)
           VALUES (?, ?, ?, ?, ?, ?, ?, '') RETURNING id`,
          message.id.toWellFormed(),
          message.type.toWellFormed(),
          at.branch,
          at.checkpoint,
          known?.place ?? 0,
          runId ?? null,
          utf8Length(text),
        )
        .toArray();
      if (row === undefined) throw new Error("A row that was written is not there.");
      const place = known?.place ?? row.id;
      const body = texts.keep(`message/${row.id}`, text);
      sql.exec("UPDATE state_message SET place = ?, body = ? WHERE id = ?", place, body, row.id);
    };
  };

  const saveValues = (checkpoint: number, values: JsonRecord): void => {
    const text = texts.keep(`values/${checkpoint}`, JSON.stringify(values));
    sql.exec("UPDATE checkpoint SET state = ?, values_at = id WHERE id = ?", text, checkpoint);
  };

  const messageOf = ({ row }: StatePlace, body = bodyOf(row)): LangMessage => {
    const message = parseJson(texts.read(`message/${row}`, body))?.value;
    if (!isMessage(message)) throw new Error("A message that was kept is not there.");
    return message;
  };

  const bodyOf = (row: number): string =>
    sql.exec<{ body: string }>("SELECT body FROM state_message WHERE id = ?", row).toArray()[0]?.body ?? "";

  return {
    head: () => sql.exec("SELECT * FROM checkpoint ORDER BY id DESC LIMIT 1").toArray().map(checkpointOf)[0],
    checkpoint: (id) => [rowOf(id)].flatMap((row) => (row === undefined ? [] : [checkpointOf(row)]))[0],
    lastOf: (runId) =>
      sql
        .exec("SELECT * FROM checkpoint WHERE run_id = ? ORDER BY id DESC LIMIT 1", runId)
        .toArray()
        .map(checkpointOf)[0],
    *checkpoints(before, limit) {
      const query = "SELECT * FROM checkpoint WHERE id < ? ORDER BY id DESC LIMIT ?";
      for (const row of sql.exec(query, before ?? Number.MAX_SAFE_INTEGER, limit)) yield checkpointOf(row);
    },
    places(checkpoint) {
      const stretches = stretchesOf(checkpoint);
      const removed = removedIn(stretches);
      const rows = stretches.flatMap(({ branch, through }) =>
        sql
          .exec(
            "SELECT id, message_id, type, place, run_id, added, bytes FROM state_message WHERE branch = ? AND added <= ?",
            branch,
            through,
          )
          .toArray()
          .filter(({ id }) => !removed.has(Number(id))),
      );
      return rows.sort((one, other) => Number(one["place"]) - Number(other["place"])).map(placeOf);
    },
    has: (checkpoint, id) => find(checkpoint, id) !== undefined,
    askedBefore: (checkpoint) =>
      sql
        .exec<{ asked: number }>(
          "SELECT COUNT(DISTINCT message_id) AS asked FROM state_message WHERE type = 'human' AND added < ?",
          checkpoint,
        )
        .one().asked,
    read: (place) => messageOf(place),
    readAll(places) {
      const query = "SELECT id, body FROM state_message WHERE id IN (SELECT value FROM json_each(?))";
      const rows = JSON.stringify(places.map(({ row }) => row));
      const bodies = new Map<number, string>();
      for (const { id, body } of sql.exec<{ id: number; body: string }>(query, rows)) bodies.set(id, body);
      return places.map((place) => messageOf(place, bodies.get(place.row)));
    },
    add({ parent, runId, source, asNode, createdAt, changes, values }) {
      const before = parent === undefined ? undefined : rowOf(parent);
      const [row] = sql
        .exec<{ id: number }>(
          `INSERT INTO checkpoint (parent, branch, run_id, source, step, as_node, created_at, values_at)
           VALUES (?, 0, ?, ?, ?, ?, ?, ?) RETURNING id`,
          parent ?? null,
          runId ?? null,
          source,
          before === undefined ? -1 : Number(before["step"]) + 1,
          asNode ?? null,
          createdAt,
          before?.["values_at"] ?? null,
        )
        .toArray();
      if (row === undefined) throw new Error("A row that was written is not there.");
      const own = numberOf(before?.["branch"]);
      const goesOn =
        own !== undefined &&
        sql.exec("SELECT 1 FROM checkpoint WHERE branch = ? AND id > ? LIMIT 1", own, parent ?? 0).toArray().length ===
          0;
      const branch = goesOn ? own : row.id;
      sql.exec("UPDATE checkpoint SET branch = ? WHERE id = ?", branch, row.id);
      for (const change of changes) apply({ checkpoint: row.id, branch, parent }, runId)(change);
      if (values !== undefined) saveValues(row.id, values);
      return row.id;
    },
    saveValues,
    saveInterrupts(checkpoint, interrupts) {
      const name = `interrupts/${checkpoint}`;
      const text = interrupts.length === 0 ? null : texts.keep(name, JSON.stringify(interrupts), MAX_INTERRUPTS);
      sql.exec("UPDATE checkpoint SET interrupts = ? WHERE id = ?", text, checkpoint);
    },
    removeOf(runId) {
      const query = "SELECT id, branch FROM checkpoint WHERE run_id = ?";
      for (const { id, branch } of sql.exec<{ id: number; branch: number }>(query, runId).toArray()) {
        const messages = sql
          .exec<{ id: number }>("DELETE FROM state_message WHERE branch = ? AND added = ? RETURNING id", branch, id)
          .toArray();
        for (const message of messages) texts.drop(`message/${message.id}`, "");
        texts.drop(`values/${id}`, "");
        texts.drop(`interrupts/${id}`, "");
        sql.exec("DELETE FROM state_removal WHERE branch = ? AND removed = ?", branch, id);
        sql.exec("DELETE FROM checkpoint WHERE id = ?", id);
      }
    },
    removeAll() {
      for (const table of ["checkpoint", "state_message", "state_removal"]) sql.exec(`DELETE FROM ${table}`);
    },
  };
}

/** What its store makes with the thread's other tables. */
export const STATE_TABLES = [
  `CREATE TABLE checkpoint (id INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER, branch INTEGER NOT NULL, run_id TEXT,
   source TEXT NOT NULL, step INTEGER NOT NULL, as_node TEXT, created_at INTEGER NOT NULL, interrupts TEXT,
   values_at INTEGER, state TEXT)`,
  "CREATE INDEX checkpoint_branch ON checkpoint (branch, id)",
  "CREATE INDEX checkpoint_run ON checkpoint (run_id) WHERE run_id IS NOT NULL",
  `CREATE TABLE state_message (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL, type TEXT NOT NULL,
   branch INTEGER NOT NULL, added INTEGER NOT NULL, place INTEGER NOT NULL, run_id TEXT, bytes INTEGER NOT NULL,
   body TEXT NOT NULL)`,
  "CREATE INDEX state_message_branch ON state_message (branch, added)",
  "CREATE INDEX state_message_id ON state_message (message_id)",
  `CREATE TABLE state_removal (branch INTEGER NOT NULL, removed INTEGER NOT NULL, message INTEGER NOT NULL,
   PRIMARY KEY (message, branch, removed)) WITHOUT ROWID`,
  "CREATE INDEX state_removal_branch ON state_removal (branch, removed)",
];

const numberOf = (value: SqlStorageValue | undefined): number | undefined =>
  typeof value === "number" ? value : undefined;
const textOf = (value: SqlStorageValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;
const sourceOf = (value: unknown): CheckpointSource => (value === "input" || value === "loop" ? value : "update");

/** Only this file writes them, so their shape is trusted once the row is there. */
const isInterrupt = (value: unknown): value is Interrupt => isRecord(value) && "id" in value && "value" in value;
const isMessage = (value: unknown): value is LangMessage => isRecord(value) && "id" in value && "type" in value;

const placeOf = (row: Row): StatePlace => ({
  row: Number(row["id"]),
  id: textOf(row["message_id"]) ?? "",
  type: textOf(row["type"]) ?? "",
  runId: textOf(row["run_id"]),
  added: Number(row["added"]),
  bytes: Number(row["bytes"]),
});
