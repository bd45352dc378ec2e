// The tables of a visitor's object: made with the first thing that is kept, and completed when they are of an older layout.

const FORMAT = 1;

/** What an older layout lacks in the table of turns. */
const ADDED = new Map([
  ["starters", "ALTER TABLE turn ADD COLUMN starters INTEGER NOT NULL DEFAULT 1"],
  ["incomplete", "ALTER TABLE turn ADD COLUMN incomplete INTEGER NOT NULL DEFAULT 0"],
]);

export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'visitor'").toArray().length > 0;

/** Nothing of a visitor is kept yet. */
export function createTables(sql: SqlStorage): void {
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
     prompt_at INTEGER NOT NULL)`,
    "CREATE INDEX turn_identity ON turn (chat, identity)",
    `CREATE TABLE decision (chat INTEGER NOT NULL, call_id TEXT NOT NULL, decision TEXT NOT NULL, run_id TEXT NOT NULL,
     PRIMARY KEY (chat, call_id)) WITHOUT ROWID`,
    `CREATE TABLE item (chat INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL, part INTEGER NOT NULL,
     body TEXT NOT NULL, PRIMARY KEY (chat, kind, place, part)) WITHOUT ROWID`,
  ]) {
    sql.exec(statement);
  }
  completeTables(sql);
}

/** What an older layout lacks is added; nothing is written where nothing is missing. */
export function completeTables(sql: SqlStorage): void {
  const columns = new Set<unknown>();
  for (const { name } of sql.exec("SELECT name FROM pragma_table_info('turn')")) columns.add(name);
  for (const [column, statement] of ADDED) if (!columns.has(column)) sql.exec(statement);
  sql.exec(
    `CREATE TABLE IF NOT EXISTS undo (chat INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (chat, part)) WITHOUT ROWID`,
  );
}
