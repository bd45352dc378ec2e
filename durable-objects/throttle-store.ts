// Counts attempts per name in windows of fixed length, in a table of the object that uses it. Never decides what is counted.
import type { Throttle } from "../schemas/chat.ts";

const MINUTE_MS = 60_000;

export interface ThrottleStore {
  /** Counts one attempt and gives `undefined`, or, when the window is used up, the milliseconds until the next one. */
  take(name: string, throttle: Throttle, now: number): number | undefined;
  /** Forgets the windows that are over. */
  sweep(now: number): void;
}

/** The table is made when something is first counted. Windows that are over are swept when another one begins. */
export function throttleStore(storage: DurableObjectStorage): ThrottleStore {
  const { sql } = storage;
  let ready = false;
  const prepare = (): void => {
    if (ready) return;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS throttle (name TEXT PRIMARY KEY, used INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID",
    );
    sql.exec("CREATE INDEX IF NOT EXISTS throttle_until ON throttle (until)");
    ready = true;
  };
  const sweep = (now: number): void => {
    prepare();
    sql.exec("DELETE FROM throttle WHERE until <= ?", now);
  };
  return {
    sweep,
    take(name, { max, minutes }, now) {
      if (max === 0) return undefined;
      prepare();
      const [row] = sql
        .exec<{ used: number; until: number }>("SELECT used, until FROM throttle WHERE name = ?", name)
        .toArray();
      // A window longer than it could have been made was begun under other settings, or another clock.
      if (row !== undefined && row.until > now && row.until <= now + minutes * MINUTE_MS) {
        if (row.used >= max) return row.until - now;
        sql.exec("UPDATE throttle SET used = used + 1 WHERE name = ?", name);
        return undefined;
      }
      sweep(now);
      const until = now + minutes * MINUTE_MS;
      sql.exec("INSERT OR REPLACE INTO throttle (name, used, until) VALUES (?, 1, ?)", name, until);
      return undefined;
    },
  };
}
