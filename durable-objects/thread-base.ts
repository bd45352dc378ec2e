// What a run's thread held before the run: asked of the thread for each reader whose dialect tells it, and kept nowhere.
import type { AttachQuery } from "../schemas/attach.ts";
import type { ThreadBase } from "../schemas/thread.ts";
import { dialectIn, isDialectId } from "../src/dialects/index.ts";
import type { RunRow } from "./run-row.ts";

/** `undefined` when no thread is there, or nobody is told of it. */
export async function threadBase(
  env: Env,
  { plan, swept }: RunRow,
  query: AttachQuery,
): Promise<ThreadBase | undefined> {
  const { thread, tenant, runId } = plan;
  const dialect = isDialectId(query.dialect) ? dialectIn(query.dialect, query.framing) : undefined;
  if (thread === undefined || swept || dialect === undefined || !("follow" in dialect)) return undefined;
  return env.THREAD.getByName(`${tenant}/${thread.threadId}`).baseOf(runId);
}
