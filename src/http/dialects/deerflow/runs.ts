// The runs of a thread over HTTP: listed, read, cancelled.
import { json, threadOf, type DeerContext } from "./context.ts";
import { conflict, deerProblemResponse, noSuchRun, noSuchThread, type DeerProblem } from "./problem.ts";
import { queryReader } from "./query.ts";
import { absence } from "./rows.ts";
import { nothingUsed, runForm } from "./run-form.ts";

/** `GET /threads/{t}/runs`: newest first. */
export async function listRuns(context: DeerContext): Promise<Response> {
  const { threadId } = context;
  const thread = threadOf(context);
  const [view, runs] = await Promise.all([thread.view(), thread.runs()]);
  if (view === undefined) return deerProblemResponse(noSuchThread(threadId));
  const totals = await thread.runTotals(runs.map(({ runId }) => runId));
  return json(runs.map((run) => runForm(run, totals[run.runId] ?? nothingUsed)));
}

/** `GET /threads/{t}/runs/{r}` */
export async function readRun(context: DeerContext): Promise<Response> {
  const { runId } = context;
  const absent = await absence(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const thread = threadOf(context);
  const [run, totals] = await Promise.all([thread.run(runId), thread.runTotals([runId])]);
  return run === undefined ? deerProblemResponse(noSuchRun(runId)) : json(runForm(run, totals[runId] ?? nothingUsed));
}

/** `POST /threads/{t}/runs/{r}/cancel` */
export async function cancelRun(context: DeerContext): Promise<Response> {
  const query = queryReader(context.request);
  const wait = query.flag("wait") ?? false;
  const action = query.word("action", ["interrupt", "rollback"]) ?? "interrupt";
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const refusal = await cancel(context, action, wait);
  return refusal === undefined ? new Response(null, { status: wait ? 204 : 202 }) : deerProblemResponse(refusal);
}

/** What is wrong with cancelling the run of the path; `undefined` when it is cancelled. */
export async function cancel(
  context: DeerContext,
  action: "interrupt" | "rollback",
  wait: boolean,
): Promise<DeerProblem | undefined> {
  const absent = await absence(context);
  if (absent !== undefined) return absent;
  const { runId } = context;
  const answer = await threadOf(context).cancelRun(runId, action, wait);
  if (answer.cancelled) return undefined;
  switch (answer.refused) {
    case "unknown_run":
      return noSuchRun(runId);
    case "not_cancellable":
      return conflict(`Run ${runId} is not cancellable (status: ${answer.status})`);
  }
}
