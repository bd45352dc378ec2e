// The native thread routes: how a thread stands, its runs, and forgetting it. Translates between HTTP and a thread's object; decides nothing about threads.
import * as v from "valibot";
import type { NativeThread, NativeThreadRuns } from "../../schemas/native-thread.ts";
import { threadIdSchema } from "../../schemas/run.ts";
import type { ThreadRunView, ThreadView } from "../../schemas/thread.ts";
import { authorize } from "./authorize.ts";
import { found, problemResponse, refused, type Problem, type Result } from "./problem.ts";
import type { Context } from "./runs.ts";

export async function readThread(context: Context): Promise<Response> {
  const thread = await threadOf(context);
  if (!thread.ok) return problemResponse(thread.problem);
  const view = await viewOf(thread.value);
  return view === undefined ? problemResponse(noSuchThread) : json(threadBody(view));
}

export async function readThreadRuns(context: Context): Promise<Response> {
  const thread = await threadOf(context);
  if (!thread.ok) return problemResponse(thread.problem);
  const view = await viewOf(thread.value);
  if (view === undefined) return problemResponse(noSuchThread);
  const runs = (await runsOf(thread.value)).map(runBody);
  return json({ schemaVersion: "1.0", threadId: view.threadId, runs } satisfies NativeThreadRuns);
}

export async function deleteThread(context: Context): Promise<Response> {
  const thread = await threadOf(context);
  if (!thread.ok) return problemResponse(thread.problem);
  switch (await thread.value.remove()) {
    case "removed":
      return new Response(null, { status: 204 });
    case "unknown":
      return problemResponse(noSuchThread);
    case "busy":
      return problemResponse(busy);
  }
}

type ThreadStub = ReturnType<Env["THREAD"]["getByName"]>;

// A stub's own type gives up at fields of unknown type.
const viewOf = async (thread: ThreadStub): Promise<ThreadView | undefined> => thread.view();
const runsOf = async (thread: ThreadStub): Promise<ThreadRunView[]> => thread.runs();

/** A path that cannot be a thread's name is a thread that is not there. */
async function threadOf({ request, env, runId: threadId }: Context) {
  const tenant: Result<string> = await authorize(request, env);
  if (!tenant.ok) return tenant;
  return v.is(threadIdSchema, threadId)
    ? found(env.THREAD.getByName(`${tenant.value}/${threadId}`))
    : refused(noSuchThread);
}

const threadBody = ({ threadId, status, createdAt, updatedAt, title, metadata }: ThreadView): NativeThread => ({
  schemaVersion: "1.0",
  threadId,
  status,
  createdAt,
  updatedAt,
  ...(title !== undefined && { title }),
  metadata,
});

const runBody = (run: ThreadRunView): NativeThreadRuns["runs"][number] => ({
  runId: run.runId,
  status: run.status,
  createdAt: run.createdAt,
  updatedAt: run.updatedAt,
  ...(run.stopReason !== null && { stopReason: run.stopReason }),
  ...(run.error !== null && { error: run.error }),
  metadata: run.metadata,
});

const noSuchThread: Problem = { code: "not_found", message: "There is no such thread." };

const busy: Problem = { code: "conflict", message: "A run of the thread is active; cancel it, or wait for its end." };

const json = (value: unknown): Response => Response.json(value, { headers: { "cache-control": "no-store" } });
