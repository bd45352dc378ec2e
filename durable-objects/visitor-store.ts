// The rows of a visitor's object and every statement on them, but for those on the items of chats. Writes happen inside the caller's turn.
import type { HostServer } from "../schemas/chat.ts";
import {
  chatOf,
  takenOf,
  textOf,
  turnOf,
  type ChatRow,
  type Row,
  type TakenDecision,
  type TurnRow,
} from "./visitor-rows.ts";
import { completeTables, createTables, hasTables } from "./visitor-tables.ts";

export interface VisitorStore {
  chat(chatId: string): ChatRow | undefined;
  chatById(id: number): ChatRow | undefined;
  /** Newest first, lazily. */
  chats(): Iterable<ChatRow>;
  addChat(chatId: string, at: number): ChatRow;
  saveChat(chat: ChatRow): void;
  removeChat(chat: ChatRow): void;
  turn(runId: string): TurnRow | undefined;
  /** The latest turn of a chat with this identity. */
  turnOf(chat: number, identity: string): TurnRow | undefined;
  lastTurn(chat: number): TurnRow | undefined;
  runIds(chat: number): string[];
  /** Turns of all chats that run, as far as is known. */
  begunTurns(): TurnRow[];
  /** A turn of the same run is replaced: its place is then that of a new one. */
  addTurn(turn: Omit<TurnRow, "id">): void;
  saveTurn(turn: TurnRow): void;
  removeTurn(runId: string): void;
  /** A turn that was replaced is in its place again. */
  restoreTurn(turn: TurnRow): void;
  /** Forgets the turns that ended before; false when none is left. */
  sweepTurns(before: number): boolean;
  decisions(chat: number): TakenDecision[];
  takeDecision(chat: number, decision: TakenDecision): void;
  /** What one turn was to carry out passes to another. */
  passDecisions(from: string, to: string): void;
  /** What a turn was to carry out is undecided again. */
  giveBackDecisions(runId: string): void;
  /** A transaction was rolled back: it may be the one that made the tables. */
  reread(): void;
  keepHost(host: HostServer): void;
  host(): HostServer | undefined;
  forgetHost(): void;
}

/** Nothing is written, no table either, before the first chat or host is kept. */
export function visitorStore({ sql }: DurableObjectStorage): VisitorStore {
  let ready = hasTables(sql);
  if (ready) completeTables(sql);

  const prepare = (): void => {
    if (ready) return;
    createTables(sql);
    ready = true;
  };
  const read = (query: string, ...bindings: SqlStorageValue[]): Row[] =>
    ready ? sql.exec(query, ...bindings.map(whole)).toArray() : [];
  const write = (query: string, ...bindings: SqlStorageValue[]): void => {
    prepare();
    sql.exec(query, ...bindings.map(whole));
  };
  const one = <T>(rows: Row[], of: (row: Row) => T): T | undefined => rows.map(of)[0];

  const chat = (chatId: string): ChatRow | undefined =>
    one(read("SELECT * FROM chat WHERE chat_id = ?", chatId), chatOf);

  const insertTurn = (turn: Omit<TurnRow, "id">, id: number | null): void => {
    const { runId, identity, liveOnly, state, at, promptAt, starters, incomplete } = turn;
    write("DELETE FROM turn WHERE run_id = ?", runId);
    write(
      `INSERT INTO turn (id, run_id, chat, identity, live_only, state, at, prompt_at, starters, incomplete)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      runId,
      turn.chat,
      nameOf(identity),
      liveOnly ? 1 : 0,
      state,
      at,
      promptAt,
      starters,
      incomplete ? 1 : 0,
    );
  };

  return {
    chat,
    chatById: (id) => one(read("SELECT * FROM chat WHERE id = ?", id), chatOf),
    *chats() {
      if (!ready) return;
      for (const row of sql.exec("SELECT * FROM chat ORDER BY updated_at DESC, id DESC")) yield chatOf(row);
    },
    addChat(chatId, at) {
      write("INSERT INTO chat (chat_id, created_at, updated_at) VALUES (?, ?, ?)", chatId, at, at);
      const added = chat(chatId);
      if (added === undefined) throw new Error("A row that was written is not there.");
      return added;
    },
    saveChat(row) {
      write(
        `UPDATE chat SET title = ?, title_run = ?, preview = ?, tokens = ?, version = ?, updated_at = ?, active_run = ?,
         summary = ?, summary_through = ?, asked_through = ? WHERE id = ?`,
        row.title,
        row.titleRun ?? null,
        row.preview,
        row.tokens,
        row.version,
        row.updatedAt,
        row.activeRun ?? null,
        row.summary ?? null,
        row.summaryThrough,
        row.askedThrough ?? null,
        row.id,
      );
    },
    removeChat({ id }) {
      write("DELETE FROM chat WHERE id = ?", id);
      write("DELETE FROM turn WHERE chat = ?", id);
      write("DELETE FROM decision WHERE chat = ?", id);
      write("DELETE FROM item WHERE chat = ?", id);
      write("DELETE FROM undo WHERE chat = ?", id);
    },
    turn: (runId) => one(read("SELECT * FROM turn WHERE run_id = ?", runId), turnOf),
    turnOf: (id, identity) =>
      one(
        read("SELECT * FROM turn WHERE chat = ? AND identity = ? ORDER BY id DESC LIMIT 1", id, nameOf(identity)),
        turnOf,
      ),
    lastTurn: (id) => one(read("SELECT * FROM turn WHERE chat = ? ORDER BY id DESC LIMIT 1", id), turnOf),
    runIds: (id) => read("SELECT run_id FROM turn WHERE chat = ?", id).map((row) => textOf(row["run_id"])),
    begunTurns: () =>
      read("SELECT turn.* FROM chat JOIN turn ON turn.run_id = chat.active_run WHERE active_run IS NOT NULL").map(
        turnOf,
      ),
    addTurn: (turn) => insertTurn(turn, null),
    saveTurn({ id, state, at, promptAt, starters, incomplete }) {
      const query = "UPDATE turn SET state = ?, at = ?, prompt_at = ?, starters = ?, incomplete = ? WHERE id = ?";
      write(query, state, at, promptAt, starters, incomplete ? 1 : 0, id);
    },
    removeTurn(runId) {
      write("DELETE FROM turn WHERE run_id = ?", runId);
    },
    restoreTurn: (turn) => insertTurn(turn, turn.id),
    sweepTurns(before) {
      if (!ready) return false;
      write("DELETE FROM turn WHERE at < ? AND run_id NOT IN (SELECT run_id FROM decision)", before);
      return read("SELECT 1 FROM turn LIMIT 1").length > 0;
    },
    decisions: (id) => read("SELECT call_id, decision, run_id FROM decision WHERE chat = ?", id).map(takenOf),
    takeDecision(id, { toolCallId, decision, runId }) {
      write(
        "INSERT INTO decision (chat, call_id, decision, run_id) VALUES (?, ?, ?, ?)",
        id,
        toolCallId,
        decision,
        runId,
      );
    },
    passDecisions(from, to) {
      write("UPDATE decision SET run_id = ? WHERE run_id = ?", to, from);
    },
    giveBackDecisions(runId) {
      write("DELETE FROM decision WHERE run_id = ?", runId);
    },
    reread() {
      ready = hasTables(sql);
    },
    keepHost({ url, token, expiresAt }) {
      write("UPDATE visitor SET host_url = ?, host_token = ?, host_until = ?", url, token ?? null, expiresAt);
    },
    host() {
      const [row] = read("SELECT host_url, host_token, host_until FROM visitor WHERE host_url IS NOT NULL");
      if (row === undefined) return undefined;
      const token = row["host_token"];
      return {
        url: textOf(row["host_url"]),
        ...(typeof token === "string" && { token }),
        expiresAt: Number(row["host_until"]),
      };
    },
    forgetHost() {
      if (ready) write("UPDATE visitor SET host_url = NULL, host_token = NULL, host_until = NULL");
    },
  };
}

/** Storage keeps whole characters only: what is looked for must be what was kept. */
const whole = (value: SqlStorageValue): SqlStorageValue => (typeof value === "string" ? value.toWellFormed() : value);
/** Names that differ stay different. */
const nameOf = (identity: string): string => (identity.isWellFormed() ? identity : JSON.stringify(identity));
