// What visitors reported about answers, the latest of them, in a table of the tenant's object.
import type { ContentReport } from "../schemas/dialects/sveda-embed.ts";

/** Reports that are kept. */
const MAX_REPORTS = 1000;

export interface ReportStore {
  keep(report: ContentReport): void;
  /** Newest first. */
  list(): ContentReport[];
}

/** The table is made with the first report; the oldest ones make room. */
export function reportStore(storage: DurableObjectStorage): ReportStore {
  const { sql } = storage;
  const prepare = (): void => {
    sql.exec(
      "CREATE TABLE IF NOT EXISTS report (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, visitor TEXT NOT NULL, reason TEXT NOT NULL, excerpt TEXT NOT NULL)",
    );
  };
  return {
    keep({ at, visitor, reason, excerpt }) {
      prepare();
      // An excerpt may have been cut inside of a character.
      const texts = [visitor, reason, excerpt].map((text) => text.toWellFormed());
      sql.exec("INSERT INTO report (at, visitor, reason, excerpt) VALUES (?, ?, ?, ?)", at, ...texts);
      sql.exec("DELETE FROM report WHERE id <= (SELECT MAX(id) FROM report) - ?", MAX_REPORTS);
    },
    list() {
      prepare();
      return sql
        .exec<{ at: number; visitor: string; reason: string; excerpt: string }>(
          "SELECT at, visitor, reason, excerpt FROM report ORDER BY id DESC",
        )
        .toArray();
    },
  };
}
