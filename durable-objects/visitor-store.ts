// The tables of a visitor's object and every statement on them, but for those on the items of chats. Writes happen inside the caller's turn.
import type { HostServer } from "../schemas/chat.ts";
import type { KnownTurn, TurnState } from "../src/chat/turn-rules.ts";

const FORMAT = 1;

export interface ChatRow {
  id: number;
  chatId: string;
  title: string;
  /** The run whose provisional title this is. */
  titleRun: string | undefined;
  preview: string;
  tokens: number;
  version: number;
  createdAt: number;
  updatedAt: number;
  activeRun: string | undefined;
  summary: string | undefined;
  /** Entries that the summary covers. */
  summaryThrough: number;
  /** Entries that a summary was asked for. */
  askedThrough: number | undefined;
}

export interface TurnRow extends KnownTurn {
  id: number;
  chat: number;
  identity: string;
  at: number;
  promptAt: number;
  /** How many were told to start it and have not said that they could not. */
  starters: number;
}

export interface TakenDecision {
  toolCallId: string;
  decision: "approve" | "deny";
  runId: string;
}

type Row = Record<string, SqlStorageValue>;

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
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'visitor'").toArray().length > 0;
  let ready = isReady();

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
    const { runId, identity, liveOnly, state, at, promptAt, starters } = turn;
    write("DELETE FROM turn WHERE run_id = ?", runId);
    write(
      `INSERT INTO turn (id, run_id, chat, identity, live_only, state, at, prompt_at, starters)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      runId,
      turn.chat,
      nameOf(identity),
      liveOnly ? 1 : 0,
      state,
      at,
      promptAt,
      starters,
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
    saveTurn({ id, state, at, promptAt, starters }) {
      write(
        "UPDATE turn SET state = ?, at = ?, prompt_at = ?, starters = ? WHERE id = ?",
        state,
        at,
        promptAt,
        starters,
        id,
      );
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
    decisions: (id) =>
      read("SELECT call_id, decision, run_id FROM decision WHERE chat = ?", id).map((row) => ({
        toolCallId: textOf(row["call_id"]),
        decision: row["decision"] === "approve" ? "approve" : "deny",
        runId: textOf(row["run_id"]),
      })),
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
      ready = isReady();
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

function createTables(sql: SqlStorage): void {
  for (const statement of [
    "CREATE TABLE visitor (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, host_url TEXT, host_token TEXT, host_until INTEGER)",
    `INSERT INTO visitor (id, format) VALUES (0, ${FORMAT})`,
    `CREATE TABLE chat (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT NOT NULL UNIQUE, title TEXT NOT NULL DEFAULT '',
     title_run TEXT, preview TEXT NOT NULL DEFAULT '', tokens INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0,
     created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, active_run TEXT, summary TEXT,
     summary_through INTEGER NOT NULL DEFAULT 0, asked_through INTEGER)`,
    "CREATE INDEX chat_updated ON chat (updated_at)",
    "CREATE INDEX chat_active ON chat (active_run) WHERE active_run IS NOT NULL",
    `CREATE TABLE turn (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL UNIQUE, chat INTEGER NOT NULL,
     identity TEXT NOT NULL, live_only INTEGER NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL,
     prompt_at INTEGER NOT NULL, starters INTEGER NOT NULL)`,
    "CREATE INDEX turn_identity ON turn (chat, identity)",
    `CREATE TABLE decision (chat INTEGER NOT NULL, call_id TEXT NOT NULL, decision TEXT NOT NULL, run_id TEXT NOT NULL,
     PRIMARY KEY (chat, call_id)) WITHOUT ROWID`,
    `CREATE TABLE item (chat INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL, part INTEGER NOT NULL,
     body TEXT NOT NULL, PRIMARY KEY (chat, kind, place, part)) WITHOUT ROWID`,
    `CREATE TABLE undo (chat INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (chat, part)) WITHOUT ROWID`,
  ]) {
    sql.exec(statement);
  }
}

/** Storage keeps whole characters only: what is looked for must be what was kept. */
const whole = (value: SqlStorageValue): SqlStorageValue => (typeof value === "string" ? value.toWellFormed() : value);
/** Names that differ stay different. */
const nameOf = (identity: string): string => (identity.isWellFormed() ? identity : JSON.stringify(identity));

const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");
const maybeText = (value: SqlStorageValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

const stateOf = (value: unknown): TurnState =>
  value === "begun" || value === "completed" || value === "error" || value === "cancelled" ? value : "lost";

const chatOf = (row: Row): ChatRow => ({
  id: Number(row["id"]),
  chatId: textOf(row["chat_id"]),
  title: textOf(row["title"]),
  titleRun: maybeText(row["title_run"]),
  preview: textOf(row["preview"]),
  tokens: Number(row["tokens"]),
  version: Number(row["version"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  activeRun: maybeText(row["active_run"]),
  summary: maybeText(row["summary"]),
  summaryThrough: Number(row["summary_through"]),
  askedThrough: row["asked_through"] === null ? undefined : Number(row["asked_through"]),
});

const turnOf = (row: Row): TurnRow => ({
  id: Number(row["id"]),
  runId: textOf(row["run_id"]),
  chat: Number(row["chat"]),
  identity: textOf(row["identity"]),
  liveOnly: row["live_only"] === 1,
  state: stateOf(row["state"]),
  at: Number(row["at"]),
  promptAt: Number(row["prompt_at"]),
  starters: Number(row["starters"]),
});
