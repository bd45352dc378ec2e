// The runs of deleted chats and threads, kept by name until they are forgotten, too: what a user deletes is nowhere to be read. Knows no chat.
import { pass } from "./gate.ts";
import type { RunCalls } from "./run-calls.ts";

/** When a run that may still be read to its end, or be about to start, is forgotten after its chat. */
const LEAVING_MS = 30_000;
/** When a run that could not be forgotten is tried again. */
const AGAIN_MS = 60_000;
/** Runs that are forgotten at a time. */
const AT_A_TIME = 20;

export interface ForgottenRuns {
  /** `active`: of them, the one whose turn runs. */
  add(runIds: readonly string[], active: string | undefined, now: number): void;
  /** Forgets the runs whose time has come. Gives the time of the next one, `undefined` when none is left. */
  forget(): Promise<number | undefined>;
  /** The time of the next one. */
  due(): number | undefined;
}

export function forgottenRuns(ctx: DurableObjectState, runs: RunCalls): ForgottenRuns {
  const { sql } = ctx.storage;
  const exists = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'gone'").toArray().length > 0;

  async function forgetOne(runId: string): Promise<void> {
    await pass("forgetting", ctx);
    try {
      await runs.forget(runId);
      sql.exec("DELETE FROM gone WHERE run_id = ?", runId);
    } catch {
      sql.exec("UPDATE gone SET due = ? WHERE run_id = ?", Date.now() + AGAIN_MS, runId);
    }
  }

  const nextDue = (): number | undefined => {
    if (!exists()) return undefined;
    const [next] = sql.exec<{ due: number | null }>("SELECT MIN(due) AS due FROM gone").toArray();
    return next?.due ?? undefined;
  };

  return {
    due: nextDue,
    add(runIds, active, now) {
      sql.exec("CREATE TABLE IF NOT EXISTS gone (run_id TEXT PRIMARY KEY, due INTEGER NOT NULL) WITHOUT ROWID");
      for (const runId of runIds) {
        const due = runId === active ? now + LEAVING_MS : now;
        sql.exec("INSERT OR REPLACE INTO gone (run_id, due) VALUES (?, ?)", runId, due);
      }
    },
    async forget() {
      if (!exists()) return undefined;
      for (;;) {
        const due = sql
          .exec<{ run_id: string }>("SELECT run_id FROM gone WHERE due <= ? LIMIT ?", Date.now(), AT_A_TIME)
          .toArray();
        if (due.length === 0) break;
        await Promise.all(due.map(({ run_id }) => forgetOne(run_id)));
      }
      return nextDue();
    },
  };
}
