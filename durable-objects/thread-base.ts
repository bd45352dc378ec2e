// What a run's thread held before the run: asked of the thread once, for readers whose dialect tells it, and never stored.
import type { AttachQuery } from "../schemas/attach.ts";
import type { ThreadBase } from "../schemas/thread.ts";
import { dialectIn, isDialectId } from "../src/dialects/index.ts";
import type { RunRow } from "./run-row.ts";

/** As long as the run is in memory: its readers share it. */
const bases = new WeakMap<RunRow, ThreadBase>();

/** `undefined` when no thread is there, or nobody is told of it. */
export async function threadBase(env: Env, row: RunRow, query: AttachQuery): Promise<ThreadBase | undefined> {
  const { thread, tenant, runId } = row.plan;
  const dialect = isDialectId(query.dialect) ? dialectIn(query.dialect, query.framing) : undefined;
  if (thread === undefined || row.swept || dialect === undefined || !("follow" in dialect)) return undefined;
  const known = bases.get(row);
  if (known !== undefined) return known;
  const base: ThreadBase | undefined = await env.THREAD.getByName(`${tenant}/${thread.threadId}`).baseOf(runId);
  if (base !== undefined) bases.set(row, base);
  return base;
}
