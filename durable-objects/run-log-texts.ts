// The plan and the request of a run, and what it brings its thread: in the run's row, or, where that would be too large for one, in rows of their own.
import { cutText } from "./row-parts.ts";

/** UTF-16 units of all together that the run's row holds: at most 1.5 MB of UTF-8, below the platform's 2 MB. */
const MAX_ROW = 500_000;

export type TextName = "plan" | "request" | "opening";
export type Texts = Record<Exclude<TextName, "opening">, string> & { opening: string | null };
type Query = (sql: string, ...bindings: SqlStorageValue[]) => Record<string, SqlStorageValue>[];

export interface RunTexts {
  /** Stores them, inside the caller's transaction. What it answers is for the columns of the run's row. */
  keep(texts: Texts): Texts;
  /** Likewise, of texts that take the place of others. `beside`: UTF-16 units that the row holds already. */
  replace(texts: Pick<Texts, "plan" | "request">, beside: number): Pick<Texts, "plan" | "request">;
  /** A text whose column holds this. */
  read(name: TextName, column: string): string;
  /** The text is gone from its column, and so from here. */
  forget(name: TextName): void;
}

/** The column of a text that has rows of its own is empty. Such a table is there only for a run that needs it. */
export function runTexts(query: Query): RunTexts {
  const isThere = (): boolean =>
    query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'run_text'").length > 0;
  let large: boolean | undefined;

  function write(named: Record<string, string>): void {
    query(
      `CREATE TABLE IF NOT EXISTS run_text (name TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
       PRIMARY KEY (name, part)) WITHOUT ROWID`,
    );
    for (const [name, text] of Object.entries(named)) {
      query("DELETE FROM run_text WHERE name = ?", name);
      for (const [part, body] of cutText(text).entries()) {
        query("INSERT INTO run_text (name, part, body) VALUES (?, ?, ?)", name, part, body);
      }
    }
  }

  return {
    keep(kept) {
      const { plan, request, opening } = kept;
      large = plan.length + request.length + (opening ?? "").length > MAX_ROW;
      if (!large) return kept;
      write({ plan, request, opening: opening ?? "" });
      return { plan: "", request: "", opening: opening === null ? null : "" };
    },
    replace({ plan, request }, beside) {
      large ??= isThere();
      large ||= plan.length + request.length + beside > MAX_ROW;
      if (!large) return { plan, request };
      write({ plan, request });
      return { plan: "", request: "" };
    },
    read(name, column) {
      if (column !== "") return column;
      const parts = query("SELECT body FROM run_text WHERE name = ? ORDER BY part", name);
      return parts.map(({ body }) => (typeof body === "string" ? body : "")).join("");
    },
    forget(name) {
      large ??= isThere();
      if (large) query("DELETE FROM run_text WHERE name = ?", name);
    },
  };
}
