// What a client starts a run with that answers anew, or answers an edited message. Starts nothing.
import { editSchema, regenerateSchema } from "../../../../schemas/dialects/deerflow.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { Replay, ReplayRefusal } from "../../../../schemas/thread-replay.ts";
import { readBody } from "./body.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import { conflict, deerProblemResponse, noSuchThread, notFound, type DeerProblem } from "./problem.ts";

/** `POST /threads/{t}/runs/regenerate/prepare` */
export async function prepareRegenerate(context: DeerContext): Promise<Response> {
  const { request, config, threadId } = context;
  const body = await readBody(request, regenerateSchema, config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const { message_id: messageId } = body.value;
  const answer = await threadOf(context).prepareRegenerate(messageId);
  return answer.prepared
    ? json(replayForm(answer))
    : deerProblemResponse(refusalOf(answer.refused, threadId, messageId));
}

/** `POST /threads/{t}/runs/edit-regenerate/prepare` */
export async function prepareEdit(context: DeerContext): Promise<Response> {
  const { request, config, threadId } = context;
  const body = await readBody(request, editSchema, config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const { human_message_id: humanMessageId, replacement_text: replacementText } = body.value;
  const answer = await threadOf(context).prepareEdit({ humanMessageId, replacementText });
  if (!answer.prepared) return deerProblemResponse(refusalOf(answer.refused, threadId, humanMessageId));
  return json({
    ...replayForm(answer),
    replacement_human_message_id: answer.human.id,
    source_message_ids: answer.sourceMessageIds,
  });
}

const replayForm = ({ human, title, checkpointId, metadata, targetRunId }: Replay): JsonRecord => ({
  input: { messages: [human], ...(title !== undefined && { title }) },
  checkpoint: { checkpoint_ns: "", checkpoint_id: checkpointId, checkpoint_map: null },
  metadata,
  target_run_id: targetRunId,
});

function refusalOf(refused: ReplayRefusal, threadId: string, messageId: string): DeerProblem {
  switch (refused) {
    case "unknown_thread":
      return noSuchThread(threadId);
    case "no_checkpoint":
      return notFound(`Thread ${threadId} has no checkpoint`);
    case "unknown_message":
      return notFound(`Message ${messageId} not found`);
    case "not_an_answer":
      return conflict("Only visible assistant messages can be regenerated");
    case "not_the_latest_answer":
      return conflict("Only the latest assistant message can be regenerated");
    case "no_user_message":
      return conflict("Could not find the user message for this assistant response");
    case "no_run":
      return conflict("Could not find source run for assistant message");
    case "not_the_latest_turn":
      return conflict("Only the latest completed user turn can be edited");
    case "not_an_answered_turn":
      return conflict("Only completed assistant text turns can be edited");
    case "not_successful":
      return conflict("Only successful assistant runs can be edited and rerun");
    case "unchanged":
      return conflict("Edited message is unchanged");
    case "empty":
      return conflict("Edited message cannot be empty");
  }
}
