// Starts over HTTP: in the background, read, or waited for; in a thread, or in one of the run's own.
import { json, threadOf, type DeerContext } from "./context.ts";
import { deerFound, deerProblemResponse, noSuchRun, type DeerResult } from "./problem.ts";
import { deerQuery, END_FRAME, readFromId, runHeaders, streamResponse } from "./reading.ts";
import { readRunCreate, type WantedRun } from "./run-create.ts";
import { nothingUsed, runForm } from "./run-form.ts";
import { ownThread } from "./run-name.ts";
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
async function wantedRun(context: DeerContext, onDisconnect: "cancel" | "continue"): Promise<DeerResult<WantedRun>> {
  const read = await readRunCreate(context);
  return read.ok ? deerFound({ ...read.value, onDisconnect: read.value.onDisconnect ?? onDisconnect }) : read;
}

/** Such a run makes the thread that it needs. */
function stateless(context: DeerContext, wanted: WantedRun): [DeerContext, WantedRun] {
  const threadId = wanted.threadId ?? ownThread(wanted.name);
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
  // A new run has nothing to go on after.
  const from = wanted.name.idempotencyKey === undefined ? "start" : readFromId(context.request);
  const opened = await openRun(context, wanted, deerQuery(from, 0));
  if (!opened.ok) return deerProblemResponse(opened.problem);
  const { runId, reading } = opened.value;
  return streamResponse(reading instanceof Response ? reading.body : END_FRAME, context.threadId, runId);
}

async function waited(context: DeerContext, wanted: WantedRun): Promise<Response> {
  const opened = await openRun(context, wanted, undefined);
  return opened.ok ? endOfRun({ ...context, runId: opened.value.runId }) : deerProblemResponse(opened.problem);
}
