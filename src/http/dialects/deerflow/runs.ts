// The runs of a thread over HTTP: started, listed, read, cancelled, waited for and joined.
import type { ThreadRunStatus } from "../../../../schemas/thread.ts";
import type { RunTotals } from "../../../../schemas/thread-rows.ts";
import { framingOf } from "../../read-from.ts";
import { json, runStub, threadOf, type DeerContext } from "./context.ts";
import {
  conflict,
  deerFound,
  deerProblemResponse,
  deerRefused,
  noSuchRun,
  noSuchThread,
  type DeerProblem,
  type DeerResult,
} from "./problem.ts";
import { queryReader } from "./query.ts";
import { deerQuery, END_FRAME, readFromId, runHeaders, streamResponse } from "./reading.ts";
import { absence } from "./rows.ts";
import { readRunCreate, type WantedRun } from "./run-create.ts";
import { runForm } from "./run-form.ts";
import { openRun } from "./start.ts";
import { endOfRun } from "./waiting.ts";

/** `POST /threads/{t}/runs`: in the background. */
export async function createRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "continue");
  return wanted.ok ? background(context, wanted.value) : deerProblemResponse(wanted.problem);
}

/** `POST /threads/{t}/runs/stream` */
export async function streamRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "cancel");
  return wanted.ok ? streamed(context, wanted.value) : deerProblemResponse(wanted.problem);
}

/** `POST /threads/{t}/runs/wait` */
export async function waitForRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "cancel");
  return wanted.ok ? waited(context, wanted.value) : deerProblemResponse(wanted.problem);
}

/** `POST /runs`, in a thread that the configuration names, or in one of its own. */
export async function createStatelessRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "continue");
  return wanted.ok ? background(...stateless(context, wanted.value)) : deerProblemResponse(wanted.problem);
}

/** `POST /runs/stream` */
export async function streamStatelessRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "cancel");
  return wanted.ok ? streamed(...stateless(context, wanted.value)) : deerProblemResponse(wanted.problem);
}

/** `POST /runs/wait` */
export async function waitForStatelessRun(context: DeerContext): Promise<Response> {
  const wanted = await wantedRun(context, "cancel");
  return wanted.ok ? waited(...stateless(context, wanted.value)) : deerProblemResponse(wanted.problem);
}

/** `onDisconnect`: where the request does not say. */
async function wantedRun(
  { request, config, threadId }: DeerContext,
  onDisconnect: "cancel" | "continue",
): Promise<DeerResult<WantedRun>> {
  const read = await readRunCreate(request, config, threadId === "" ? undefined : threadId);
  return read.ok ? deerFound({ ...read.value, onDisconnect: read.value.onDisconnect ?? onDisconnect }) : read;
}

/** Such a run makes the thread that it needs. */
function stateless(context: DeerContext, wanted: WantedRun): [DeerContext, WantedRun] {
  const threadId = wanted.threadId ?? crypto.randomUUID();
  return [
    { ...context, threadId },
    { ...wanted, ifMissing: "create" },
  ];
}

async function background(context: DeerContext, wanted: WantedRun): Promise<Response> {
  const opened = await openRun(context, wanted, undefined);
  if (!opened.ok) return deerProblemResponse(opened.problem);
  const { runId } = opened.value;
  const run = await threadOf(context).run(runId);
  if (run === undefined) return deerProblemResponse(noSuchRun(runId));
  return json(runForm(run, nothingUsed), runHeaders(context.threadId, runId));
}

async function streamed(context: DeerContext, wanted: WantedRun): Promise<Response> {
  const opened = await openRun(context, wanted, deerQuery("start", 0));
  if (!opened.ok) return deerProblemResponse(opened.problem);
  const { runId, reading } = opened.value;
  return streamResponse(reading instanceof Response ? reading.body : END_FRAME, context.threadId, runId);
}

async function waited(context: DeerContext, wanted: WantedRun): Promise<Response> {
  const opened = await openRun(context, wanted, undefined);
  return opened.ok ? endOfRun({ ...context, runId: opened.value.runId }) : deerProblemResponse(opened.problem);
}

const nothingUsed: RunTotals = {
  total_input_tokens: 0,
  total_output_tokens: 0,
  total_tokens: 0,
  llm_call_count: 0,
  lead_agent_tokens: 0,
  subagent_tokens: 0,
  middleware_tokens: 0,
  message_count: 0,
};

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
async function cancel(
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
  const status = await statusOf(context);
  if (!status.ok) return deerProblemResponse(status.problem);
  const waitMs = isActive(status.value) ? config.limits.attachWaitMs : 0;
  const answer = await runStub(context, runId).attach(deerQuery(readFromId(request), waitMs));
  if (answer instanceof Response) return streamResponse(answer.body, threadId, runId);
  // An active run that is nowhere to be read is recorded by somebody else.
  return isActive(status.value)
    ? deerProblemResponse(conflict(`Run ${runId} is not active on this worker and cannot be streamed`))
    : streamResponse(END_FRAME, threadId, runId);
}

async function statusOf(context: DeerContext): Promise<DeerResult<ThreadRunStatus>> {
  const { threadId, runId } = context;
  const thread = threadOf(context);
  const [view, run] = await Promise.all([thread.view(), thread.run(runId)]);
  if (view === undefined) return deerRefused(noSuchThread(threadId));
  return run === undefined ? deerRefused(noSuchRun(runId)) : deerFound(run.status);
}

const isActive = (status: ThreadRunStatus): boolean => status === "pending" || status === "running";
