// What a thread keeps of its runs, page by page: messages, a run's events, its changes of the workspace, and what all of it used.
import * as v from "valibot";
import { runIdSchema } from "../../../../schemas/run.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { FeedbackNote, MessageRow, MessagesQuery } from "../../../../schemas/thread-rows.ts";
import type { ThreadRecord } from "../../../../schemas/thread.ts";
import { json, runStub, threadOf, type DeerContext } from "./context.ts";
import { deerProblemResponse, noSuchRun, noSuchThread, unprocessable, type DeerProblem } from "./problem.ts";
import { queryReader, type QueryReader } from "./query.ts";
import { isoTime } from "./time.ts";

const MAX_MESSAGES = 200;
const DEFAULT_MESSAGES = 50;
const MAX_EVENTS = 2000;
const DEFAULT_EVENTS = 500;

/** `GET /threads/{t}/messages`: the newest, or those beside a cursor, oldest first. */
export async function listMessages(context: DeerContext): Promise<Response> {
  const query = queryReader(context.request);
  const asked = messagesQuery(query);
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const thread = threadOf(context);
  const [view, answer] = await Promise.all([thread.view(), thread.messages(asked)]);
  if (view === undefined) return deerProblemResponse(noSuchThread(context.threadId));
  if ("refused" in answer) return deerProblemResponse(tooLarge);
  return json(answer.rows.map((row) => markedRow(context.threadId, row)));
}

/** `GET /threads/{t}/messages/page`: backwards only, and without what a user is not meant to see. */
export async function readMessagesPage(context: DeerContext): Promise<Response> {
  const query = queryReader(context.request);
  const limit = query.whole("limit", { ge: 1, le: MAX_MESSAGES }) ?? DEFAULT_MESSAGES;
  const beforeSeq = query.whole("before_seq", { ge: 1 });
  if (query.text("after_seq") !== undefined) {
    return deerProblemResponse(unprocessable("after_seq is not supported by this backward-only endpoint"));
  }
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const thread = threadOf(context);
  const asked = { limit, ...(beforeSeq !== undefined && { beforeSeq }) };
  const [view, page] = await Promise.all([thread.view(), thread.messagesPage(asked)]);
  if (view === undefined) return deerProblemResponse(noSuchThread(context.threadId));
  return json({
    data: page.rows.map((row) => markedRow(context.threadId, row)),
    has_more: page.hasMore,
    next_before_seq: page.nextBeforeSeq,
  });
}

/** `GET /threads/{t}/runs/{r}/messages` */
export async function listRunMessages(context: DeerContext): Promise<Response> {
  const { threadId, runId } = context;
  const query = queryReader(context.request);
  const asked = { runId, ...messagesQuery(query) };
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const absent = await absence(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const page = await threadOf(context).runMessages(asked);
  return json({ data: page.rows.map((row) => rowForm(threadId, row)), has_more: page.hasMore });
}

/** `GET /runs/{r}/messages`: in the thread that the run says it is of. */
export async function listMessagesOfRun(context: DeerContext): Promise<Response> {
  const threadId = await threadOfRun(context);
  return threadId === undefined
    ? deerProblemResponse(noSuchRun(context.runId))
    : listRunMessages({ ...context, threadId });
}

/** `GET /threads/{t}/runs/{r}/events`: all records of a run, oldest first. */
export async function listRunEvents(context: DeerContext): Promise<Response> {
  const { threadId, runId } = context;
  const query = queryReader(context.request);
  const limit = query.whole("limit", { ge: 1, le: MAX_EVENTS }) ?? DEFAULT_EVENTS;
  const afterSeq = query.whole("after_seq", { ge: 1 });
  const types = query.text("event_types");
  const taskId = query.text("task_id");
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const absent = await absence(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const answer = await threadOf(context).runEvents({
    runId,
    limit,
    ...(afterSeq !== undefined && { afterSeq }),
    ...(types !== undefined && { eventTypes: types.split(",").map((type) => type.trim()) }),
    ...(taskId !== undefined && { taskId }),
  });
  if ("refused" in answer) return deerProblemResponse(tooLarge);
  return json(answer.rows.map((row) => rowForm(threadId, row)));
}

/** `GET /threads/{t}/runs/{r}/workspace-changes` */
export async function readWorkspaceChanges(context: DeerContext): Promise<Response> {
  const query = queryReader(context.request);
  const includeFiles = query.flag("include_files") ?? true;
  const includeDiff = query.flag("include_diff") ?? true;
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const absent = await absence(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const { runId } = context;
  return json(await threadOf(context).workspaceChanges({ runId, includeFiles, includeDiff }));
}

/** `GET /threads/{t}/token-usage` */
export async function readTokenUsage(context: DeerContext): Promise<Response> {
  const { threadId } = context;
  const query = queryReader(context.request);
  const includeActive = query.flag("include_active") ?? false;
  const faults = query.faults();
  if (faults !== undefined) return deerProblemResponse(faults.problem);
  const thread = threadOf(context);
  const [view, usage] = await Promise.all([thread.view(), thread.tokenUsage(includeActive)]);
  return view === undefined ? deerProblemResponse(noSuchThread(threadId)) : json({ thread_id: threadId, ...usage });
}

/** Both cursors at once leave what is between them. */
function messagesQuery(query: QueryReader): MessagesQuery {
  const beforeSeq = query.whole("before_seq", { ge: 1 });
  const afterSeq = query.whole("after_seq", { ge: 1 });
  return {
    limit: query.whole("limit", { ge: 1, le: MAX_MESSAGES }) ?? DEFAULT_MESSAGES,
    ...(beforeSeq !== undefined && { beforeSeq }),
    ...(afterSeq !== undefined && { afterSeq }),
  };
}

/** Why there is nothing to read of a run: its thread, or it in the thread, is not there. */
export async function absence(context: DeerContext): Promise<DeerProblem | undefined> {
  const { threadId, runId } = context;
  const thread = threadOf(context);
  const [view, run] = await Promise.all([thread.view(), thread.run(runId)]);
  if (view === undefined) return noSuchThread(threadId);
  return run === undefined ? noSuchRun(runId) : undefined;
}

/** Of a run that was carried out here, and is not forgotten yet. */
export async function threadOfRun(context: DeerContext): Promise<string | undefined> {
  const { runId } = context;
  return v.is(runIdSchema, runId) ? runStub(context, runId).threadId() : undefined;
}

const tooLarge: DeerProblem = {
  code: "too_large",
  detail: "So many records of such a size are in no answer; ask for fewer.",
};

const rowForm = (threadId: string, record: ThreadRecord): JsonRecord => ({
  thread_id: threadId,
  run_id: record.runId,
  seq: record.seq,
  event_type: record.eventType,
  category: record.category,
  content: record.content,
  metadata: record.metadata,
  created_at: isoTime(record.at),
  ...(record.userId !== undefined && { user_id: record.userId }),
});

const markedRow = (threadId: string, row: MessageRow): JsonRecord => ({
  ...rowForm(threadId, row),
  feedback: row.feedback === null ? null : noteForm(row.feedback),
});

const noteForm = ({ feedbackId, rating, comment }: FeedbackNote): JsonRecord => ({
  feedback_id: feedbackId,
  rating,
  comment,
});
