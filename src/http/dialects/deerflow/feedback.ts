// What users think of a run's answers, over HTTP. One per run may be replaced; further ones are added.
import { feedbackSchema } from "../../../../schemas/dialects/deerflow.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { Feedback, FeedbackRequest } from "../../../../schemas/thread-rows.ts";
import { readBody } from "./body.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import {
  badRequest,
  deerFound,
  deerProblemResponse,
  deerRefused,
  noSuchRun,
  notFound,
  threadFull,
  type DeerProblem,
  type DeerResult,
} from "./problem.ts";
import { absence, threadOfRun } from "./rows.ts";
import { isoTime } from "./time.ts";

/** `PUT .../feedback`: the one of the run, made or replaced. */
export async function putFeedback(context: DeerContext): Promise<Response> {
  const request = await readFeedback(context);
  if (!request.ok) return deerProblemResponse(request.problem);
  const kept = await threadOf(context).putFeedback(request.value, context.config.limits.maxThreadBytes);
  return keptResponse(context, kept);
}

/** `POST .../feedback`: a further one. */
export async function addFeedback(context: DeerContext): Promise<Response> {
  const request = await readFeedback(context);
  if (!request.ok) return deerProblemResponse(request.problem);
  const kept = await threadOf(context).addFeedback(request.value, context.config.limits.maxThreadBytes);
  return keptResponse(context, kept);
}

const keptResponse = ({ threadId }: DeerContext, kept: Feedback | "full"): Response =>
  kept === "full" ? deerProblemResponse(threadFull) : json(feedbackForm(threadId, kept));

async function readFeedback(context: DeerContext): Promise<DeerResult<FeedbackRequest>> {
  const { request, config, runId } = context;
  const body = await readBody(request, feedbackSchema, config.limits.maxBodyBytes);
  if (!body.ok) return body;
  const { rating, comment, message_id: messageId } = body.value;
  if (rating !== 1 && rating !== -1) return deerRefused(badRequest("rating must be +1 or -1"));
  const absent = await absenceOf(context);
  if (absent !== undefined) return deerRefused(absent);
  return deerFound({ runId, rating, comment: comment ?? null, userId: null, messageId: messageId ?? null });
}

/** Of a run that is in another thread this family says so. */
async function absenceOf(context: DeerContext): Promise<DeerProblem | undefined> {
  const { runId, threadId } = context;
  const absent = await absence(context);
  if (absent === undefined || absent.detail !== noSuchRun(runId).detail) return absent;
  return (await threadOfRun(context)) === undefined ? absent : notFound(`Run ${runId} not found in thread ${threadId}`);
}

/** `GET .../feedback` */
export async function listFeedback(context: DeerContext): Promise<Response> {
  const absent = await absenceOf(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const { threadId, runId } = context;
  const list = await threadOf(context).feedback(runId);
  return json(list.map((one) => feedbackForm(threadId, one)));
}

/** `GET /runs/{r}/feedback`: in the thread that the run says it is of. */
export async function listFeedbackOfRun(context: DeerContext): Promise<Response> {
  const threadId = await threadOfRun(context);
  return threadId === undefined
    ? deerProblemResponse(noSuchRun(context.runId))
    : listFeedback({ ...context, threadId });
}

/** `GET .../feedback/stats` */
export async function readFeedbackStats(context: DeerContext): Promise<Response> {
  const absent = await absenceOf(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const { runId } = context;
  return json({ run_id: runId, ...(await threadOf(context).feedbackStats(runId)) });
}

/** `DELETE .../feedback` */
export async function deleteFeedback(context: DeerContext): Promise<Response> {
  const absent = await absenceOf(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const { runId } = context;
  return (await threadOf(context).deleteFeedback({ runId, userId: null }))
    ? json({ success: true })
    : deerProblemResponse(notFound("No feedback found for this run"));
}

/** `DELETE .../feedback/{id}` */
export async function deleteOneFeedback(context: DeerContext): Promise<Response> {
  const absent = await absenceOf(context);
  if (absent !== undefined) return deerProblemResponse(absent);
  const { runId, name } = context;
  switch (await threadOf(context).deleteOneFeedback({ runId, feedbackId: name })) {
    case "deleted":
      return json({ success: true });
    case "other_run":
      return deerProblemResponse(notFound(`Feedback ${name} not found in run ${runId}`));
    case "unknown":
      return deerProblemResponse(notFound(`Feedback ${name} not found`));
  }
}

const feedbackForm = (threadId: string, one: Feedback): JsonRecord => ({
  feedback_id: one.feedbackId,
  run_id: one.runId,
  thread_id: threadId,
  user_id: one.userId,
  message_id: one.messageId,
  rating: one.rating,
  comment: one.comment,
  created_at: isoTime(one.createdAt),
});
