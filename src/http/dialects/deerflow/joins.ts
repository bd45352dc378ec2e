// Runs that are there already, read or waited for over HTTP.
import type { ThreadRunStatus, ThreadRunView } from "../../../../schemas/thread.ts";
import { framingOf } from "../../read-from.ts";
import { threadOf, type DeerContext } from "./context.ts";
import {
  conflict,
  deerFound,
  deerProblemResponse,
  deerRefused,
  noSuchRun,
  noSuchThread,
  type DeerResult,
} from "./problem.ts";
import { queryReader } from "./query.ts";
import { attachTo, deerQuery, END_FRAME, readFromId, streamResponse } from "./reading.ts";
import { absence } from "./rows.ts";
import { cancel } from "./runs.ts";
import { endOfRun } from "./waiting.ts";

/** `GET` or `POST /threads/{t}/runs/{r}/stream`: with an action the run is cancelled first. */
export async function joinRunStream(context: DeerContext): Promise<Response> {
  const query = queryReader(context.request);
  const wait = query.flag("wait") ?? false;
  const action = query.word("action", ["interrupt", "rollback"]);
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  if (action === undefined) return joined(context);
  const refusal = await cancel(context, action, wait);
  if (refusal !== undefined) return deerProblemResponse(refusal);
  return wait ? new Response(null, { status: 204 }) : joined(context);
}

/** `GET /threads/{t}/runs/{r}/join`: the final values, or the stream when that is asked for by name. */
export async function joinRun(context: DeerContext): Promise<Response> {
  if (framingOf(context.request) === "sse") return joined(context);
  const absent = await absence(context);
  return absent === undefined ? endOfRun(context) : deerProblemResponse(absent);
}

async function joined(context: DeerContext): Promise<Response> {
  const { request, config, threadId, runId } = context;
  const run = await runOf(context);
  if (!run.ok) return deerProblemResponse(run.problem);
  const { status } = run.value;
  const waitMs = isActive(status) ? config.limits.attachWaitMs : 0;
  const answer = await attachTo(context, run.value, deerQuery(readFromId(request), waitMs));
  if (answer instanceof Response) return streamResponse(answer.body, threadId, runId);
  // An active run that is nowhere to be read is recorded by somebody else.
  return isActive(status)
    ? deerProblemResponse(conflict(`Run ${runId} is not active on this worker and cannot be streamed`))
    : streamResponse(END_FRAME, threadId, runId);
}

async function runOf(context: DeerContext): Promise<DeerResult<ThreadRunView>> {
  const { threadId, runId } = context;
  const thread = threadOf(context);
  const [view, run] = await Promise.all([thread.view(), thread.run(runId)]);
  if (view === undefined) return deerRefused(noSuchThread(threadId));
  return run === undefined ? deerRefused(noSuchRun(runId)) : deerFound(run);
}

const isActive = (status: ThreadRunStatus): boolean => status === "pending" || status === "running";
