// The layout of a collection's tables, and how one of an earlier format comes to it. Keeps everything that is there.

const FORMAT = 3;

export function createCollection(sql: SqlStorage): void {
  for (const statement of [
    `CREATE TABLE collection (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
     documents INTEGER NOT NULL DEFAULT 0, chunks INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, last_ingest_at INTEGER,
     embedding TEXT, dimensions INTEGER, epoch INTEGER NOT NULL DEFAULT 0)`,
    `INSERT INTO collection (id, format, epoch) VALUES (0, ${FORMAT}, ${newEpoch})`,
    // The number of a document that is gone names no other one: its chunks' numbers may still be on their way to a reader.
    `CREATE TABLE document (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, doc_id TEXT NOT NULL,
     fingerprint TEXT NOT NULL, media TEXT NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL, lang TEXT, trust TEXT NOT NULL,
     bytes INTEGER NOT NULL, chunks INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
     parser TEXT NOT NULL, chunker TEXT NOT NULL)`,
    "CREATE TABLE source (document INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (document, part)) WITHOUT ROWID",
    `CREATE TABLE chunk (id INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL, headings TEXT NOT NULL, body TEXT NOT NULL,
     first INTEGER NOT NULL, last INTEGER NOT NULL)`,
    VECTORS,
  ]) {
    sql.exec(statement);
  }
}

/** Below 2^48. Nothing is left of a collection that was forgotten that the next one could count on from. */
const newEpoch = "abs(random() % 281474976710656)";

/** By the number of the first chunk of each row: its vector and those of the chunks behind it. */
const VECTORS = "CREATE TABLE vectors (id INTEGER PRIMARY KEY, body BLOB NOT NULL)";

/** Inside a transaction. Format 1 knew no vectors: its documents are embedded once they are put again. Format 2 knew no epochs. */
export function upgradeCollection(sql: SqlStorage): void {
  const { format } = sql.exec("SELECT format FROM collection").one();
  if (format === FORMAT) return;
  if (format === 1) {
    sql.exec("ALTER TABLE collection ADD COLUMN embedding TEXT");
    sql.exec("ALTER TABLE collection ADD COLUMN dimensions INTEGER");
    sql.exec(VECTORS);
  }
  sql.exec("ALTER TABLE collection ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0");
  sql.exec("UPDATE collection SET format = ?", FORMAT);
}
