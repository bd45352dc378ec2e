// What the records of each run of a thread add up to, kept beside them. The store of the records makes the table. Knows no runs but by name.
import type { RecordDraft } from "../schemas/thread.ts";
import { emptyTally, tallied, type RunTally } from "../src/thread/usage.ts";
import { isRecord, parseJson } from "../src/wire/json.ts";

export interface ThreadTallies {
  add(runId: string, drafts: readonly RecordDraft[]): void;
  /** An empty one for a run without records. */
  of(runId: string): RunTally;
  clear(): void;
}

export function threadTallies(sql: SqlStorage, isReady: () => boolean): ThreadTallies {
  const of = (runId: string): RunTally => {
    if (!isReady()) return emptyTally();
    const [row] = sql.exec<{ tally: string }>("SELECT tally FROM run_tally WHERE run_id = ?", runId).toArray();
    const stored = row === undefined ? undefined : parseJson(row.tally)?.value;
    return isTally(stored) ? stored : emptyTally();
  };
  return {
    of,
    add(runId, drafts) {
      const tally = tallied(of(runId), drafts);
      if (tally === undefined) return;
      sql.exec("INSERT OR REPLACE INTO run_tally (run_id, tally) VALUES (?, ?)", runId, JSON.stringify(tally));
    },
    clear() {
      sql.exec("DELETE FROM run_tally");
    },
  };
}

/** Only this file writes tallies, so their shape is trusted once the row is there. */
const isTally = (value: unknown): value is RunTally => isRecord(value) && "callers" in value && "counted" in value;
