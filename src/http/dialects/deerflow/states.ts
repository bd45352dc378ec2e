// The states of a thread: the newest, the one at a checkpoint, those before it, and one that a client makes.
import {
  historySchema,
  stateAtSchema,
  stateUpdateSchema,
  threadChannels,
} from "../../../../schemas/dialects/deerflow.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { ThreadState } from "../../../../schemas/thread.ts";
import { asRecord, asText } from "../../../wire/json.ts";
import { readBody } from "./body.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import { readMessages } from "./messages.ts";
import {
  badRequest,
  conflict,
  deerProblemResponse,
  noSuchCheckpoint,
  noSuchThread,
  threadFull,
  unprocessable,
  type DeerProblem,
} from "./problem.ts";
import { noState, stateForm, valuesOf } from "./thread-form.ts";

/** `GET /threads/{t}/state` */
export const readState = (context: DeerContext): Promise<Response> => stateAt(context, undefined);

/** `GET /threads/{t}/state/{checkpoint}` */
export const readStateAt = (context: DeerContext): Promise<Response> => stateAt(context, context.name);

/** `POST /threads/{t}/state/checkpoint` */
export async function readStateOf(context: DeerContext): Promise<Response> {
  const body = await readBody(context.request, stateAtSchema, context.config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const { checkpoint } = body.value;
  if (!isOfThread(checkpoint, context.threadId)) return deerProblemResponse(otherThread);
  return stateAt(context, checkpointIdOf(checkpoint));
}

async function stateAt(context: DeerContext, checkpointId: string | undefined): Promise<Response> {
  const { threadId } = context;
  const answer = await threadOf(context).state(checkpointId);
  if (answer.found) {
    return json(answer.state === undefined ? noState : stateForm(threadId, answer.state, valuesOf(answer.state)));
  }
  switch (answer.refused) {
    case "unknown_thread":
      return deerProblemResponse(noSuchThread(threadId));
    case "unknown_checkpoint":
      return deerProblemResponse(noSuchCheckpoint(checkpointId ?? ""));
  }
}

/** A checkpoint's id, as the SDK and LangGraph's configurations write it. */
export function checkpointIdOf(checkpoint: JsonRecord): string | undefined {
  return asText(checkpoint["checkpoint_id"]) ?? asText(asRecord(checkpoint["configurable"])?.["checkpoint_id"]);
}

/** A checkpoint names the thread that it is of, or none. */
export function isOfThread(checkpoint: JsonRecord, threadId: unknown): boolean {
  const named = checkpoint["thread_id"] ?? asRecord(checkpoint["configurable"])?.["thread_id"] ?? threadId;
  return named === threadId;
}

export const otherThread: DeerProblem = badRequest("checkpoint thread_id does not match request thread_id");

const DEFAULT_HISTORY = 10;

/** `POST /threads/{t}/history`: newest first, strictly before `before`. */
export async function readHistory(context: DeerContext): Promise<Response> {
  const { request, config, threadId } = context;
  const body = await readBody(request, historySchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return deerProblemResponse(body.problem);
  const { limit, before } = body.value;
  if (typeof before === "object" && !isOfThread(before, threadId)) return deerProblemResponse(otherThread);
  const cursor = typeof before === "string" ? before : checkpointIdOf(before ?? {});
  const thread = threadOf(context);
  const query = { limit: limit ?? DEFAULT_HISTORY, ...(cursor !== undefined && { before: cursor }) };
  const states = await thread.history(query);
  if (states === undefined) return deerProblemResponse(noSuchThread(threadId));
  const durations = await durationsOf(context, states);
  return json(
    states.map((state, index) => ({
      ...stateForm(threadId, state, pastValues(state, index === 0, durations)),
      metadata: pastMetadata(state),
    })),
  );
}

/** The step and the user's own keys. */
function pastMetadata({ metadata: { source: _source, as_node: _node, ...metadata } }: ThreadState): JsonRecord {
  return metadata;
}

/** Only the newest entry has messages: each page of a history would repeat them. */
function pastValues(state: ThreadState, isNewest: boolean, durations: ReadonlyMap<string, number>): JsonRecord {
  const { title, thread_data: threadData } = state.values;
  return {
    ...(title !== undefined && { title }),
    ...(threadData !== undefined && { thread_data: threadData }),
    ...(isNewest && { messages: datedMessages(state, durations) }),
  };
}

/** Each message with its run, and on a run's last answer how long the run took. */
function datedMessages({ messages }: ThreadState, durations: ReadonlyMap<string, number>): JsonRecord[] {
  const last = new Map<string, string>();
  for (const { message, runId } of messages) if (message.type === "ai" && runId !== null) last.set(runId, message.id);
  return messages.map(({ message, runId }) => {
    if (runId === null) return message;
    const duration = last.get(runId) === message.id ? durations.get(runId) : undefined;
    const more = asRecord(message["additional_kwargs"]) ?? {};
    return {
      ...message,
      ...(duration !== undefined && { additional_kwargs: { ...more, turn_duration: duration } }),
      run_id: runId,
    };
  });
}

/** Whole seconds of each run of the thread. */
async function durationsOf(context: DeerContext, states: readonly ThreadState[]): Promise<Map<string, number>> {
  if (states.length === 0) return new Map();
  const runs = await threadOf(context).runs();
  return new Map(runs.map(({ runId, createdAt, updatedAt }) => [runId, Math.floor((updatedAt - createdAt) / 1000)]));
}

/** `POST /threads/{t}/state` */
export async function updateState(context: DeerContext): Promise<Response> {
  const { request, config, threadId } = context;
  const body = await readBody(request, stateUpdateSchema, config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const { values, checkpoint, checkpoint_id: named, as_node: asNode } = body.value;
  const { messages = [], ...others } = values ?? {};
  const unknown = Object.keys(others).filter((key) => !threadChannels.includes(key));
  if (unknown.length > 0) {
    return deerProblemResponse(unprocessable(`Unknown thread-state field(s): ${unknown.join(", ")}`));
  }
  const read = readMessages(messages, "values.messages");
  if (!read.ok) return deerProblemResponse(read.problem);
  if (!isOfThread(checkpoint ?? {}, threadId)) return deerProblemResponse(otherThread);
  const checkpointId = checkpointIdOf(checkpoint ?? {}) ?? named;
  const answer = await threadOf(context).updateState({
    input: read.value,
    values: others,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(asNode !== undefined && { asNode }),
    maxThreadBytes: config.limits.maxThreadBytes,
  });
  if (answer.updated) return json(stateForm(threadId, answer.state, valuesOf(answer.state)));
  switch (answer.refused) {
    case "unknown_thread":
      return deerProblemResponse(noSuchThread(threadId));
    case "unknown_checkpoint":
      return deerProblemResponse(noSuchCheckpoint(checkpointId ?? ""));
    case "active_run":
      return deerProblemResponse(conflict("Thread has a run in flight. Update state after the run finishes."));
    case "invalid_message":
      return deerProblemResponse(badRequest(`Invalid message at values.messages[${answer.index}]: ${answer.message}`));
    case "full":
      return deerProblemResponse(threadFull);
  }
}
