// JSON texts of a thread that may be larger than a row of storage: in their column, or, where one is too large, in rows of their own. Knows no content.
import { cutText } from "./row-parts.ts";

export interface ThreadTexts {
  /**
   * Stores a text under this name, inside the caller's transaction. What it answers is for the column. `room`: UTF-16 units that
   * the column has in its row; left out: the row holds nothing else that is large.
   */
  keep(name: string, text: string, room?: number): string;
  /** The text whose column holds this. */
  read(name: string, column: string): string;
  /** The text whose column held this is gone. */
  drop(name: string, column: string): void;
}

/** The column of a text that has rows of its own is empty. The table is made by the thread's store. */
export function threadTexts({ sql }: DurableObjectStorage): ThreadTexts {
  const drop = (name: string): void => {
    sql.exec("DELETE FROM thread_text WHERE name = ?", name);
  };

  return {
    keep(name, text, room = text.length) {
      const parts = cutText(text);
      if (parts.length === 1 && text.length <= room) return text;
      drop(name);
      for (const [part, body] of parts.entries()) {
        sql.exec("INSERT INTO thread_text (name, part, body) VALUES (?, ?, ?)", name, part, body);
      }
      return "";
    },
    read(name, column) {
      if (column !== "") return column;
      const query = "SELECT body FROM thread_text WHERE name = ? ORDER BY part";
      return sql
        .exec<{ body: string }>(query, name)
        .toArray()
        .map(({ body }) => body)
        .join("");
    },
    drop(name, column) {
      if (column === "") drop(name);
    },
  };
}
