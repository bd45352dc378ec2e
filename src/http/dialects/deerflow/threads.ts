// Threads over HTTP: made, read, changed, found, deleted. A thread of another tenant is not there.
import { threadCreateSchema, threadPatchSchema, threadSearchSchema } from "../../../../schemas/dialects/deerflow.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import { threadIndexCalls } from "../../thread-calls.ts";
import { readBody } from "./body.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import { valueError } from "./faults.ts";
import { conflict, deerProblemResponse, faulty, noSuchThread, threadFull } from "./problem.ts";
import { threadForm, titleOf, valuesOf } from "./thread-form.ts";

/** Keys of metadata that say whose a thread is: that is the key's to say. */
const OWNER_KEYS = ["owner_id", "user_id"];

/** `POST /threads`: an id that is there gives the thread as it is. */
export async function createThread(context: DeerContext): Promise<Response> {
  const { request, config } = context;
  const body = await readBody(request, threadCreateSchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return deerProblemResponse(body.problem);
  const { thread_id: given, assistant_id: assistantId, metadata } = body.value;
  const threadId = given ?? crypto.randomUUID();
  const view = await threadOf({ ...context, threadId }).create({
    metadata: ownMetadata(metadata),
    assistantId: assistantId ?? null,
  });
  return json(threadForm(view, {}));
}

/** `GET /threads/{t}` */
export async function readThread(context: DeerContext): Promise<Response> {
  const { threadId } = context;
  const thread = threadOf(context);
  const [view, answer] = await Promise.all([thread.view(), thread.state()]);
  if (view === undefined) return deerProblemResponse(noSuchThread(threadId));
  return json(threadForm(view, answer.found && answer.state !== undefined ? valuesOf(answer.state) : titleOf(view)));
}

/** `PATCH /threads/{t}` */
export async function patchThread(context: DeerContext): Promise<Response> {
  const { request, config, threadId } = context;
  const body = await readBody(request, threadPatchSchema, config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const view = await threadOf(context).patch(ownMetadata(body.value.metadata), config.limits.maxThreadBytes);
  if (view === "full") return deerProblemResponse(threadFull);
  return view === undefined ? deerProblemResponse(noSuchThread(threadId)) : json(threadForm(view, {}));
}

/** `DELETE /threads/{t}` */
export async function deleteThread(context: DeerContext): Promise<Response> {
  const { threadId } = context;
  switch (await threadOf(context).remove()) {
    case "removed":
      return json({ success: true, message: `Deleted local thread data for ${threadId}` });
    case "busy":
      return deerProblemResponse(conflict("Thread has work in flight. Delete it after the work finishes."));
    case "unknown":
      return deerProblemResponse(noSuchThread(threadId));
  }
}

/** `POST /threads/search` */
export async function searchThreads({ request, env, config, tenant }: DeerContext): Promise<Response> {
  const body = await readBody(request, threadSearchSchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return deerProblemResponse(body.problem);
  const { metadata, limit, offset, status } = body.value;
  const unsafe = Object.entries(metadata ?? {}).flatMap(([key, value]) => filterFault(key, value) ?? []);
  if (unsafe.length > 0) {
    const error = `Invalid metadata filter entries: ${unsafe.join(", ")}`;
    return deerProblemResponse(faulty([valueError(["body", "metadata"], metadata, error)]));
  }
  const found = await threadIndexCalls(env, tenant).search({
    metadata: metadata ?? {},
    ...(status !== undefined && { status }),
    limit: limit ?? 100,
    offset: offset ?? 0,
  });
  return json(found.map((view) => threadForm(view, titleOf(view))));
}

function filterFault(key: string, value: unknown): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(key)) return `'${key}' (unsafe key)`;
  return value === null || ["string", "number", "boolean"].includes(typeof value)
    ? undefined
    : `'${key}' (unsupported value type)`;
}

function ownMetadata(metadata: JsonRecord | null | undefined): JsonRecord {
  return Object.fromEntries(Object.entries(metadata ?? {}).filter(([key]) => !OWNER_KEYS.includes(key)));
}
