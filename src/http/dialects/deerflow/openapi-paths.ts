// The DeerFlow family in the OpenAPI document: its paths below `/api`, and the schemas that it brings. A test holds the list against the family's surface.
import type * as v from "valibot";
import * as answers from "../../../../schemas/dialects/deerflow-answers.ts";
import * as bodies from "../../../../schemas/dialects/deerflow.ts";
import { IDEMPOTENCY_KEY } from "../../idempotency-key.ts";
import { body, json, parameter, runId } from "../../openapi-parts.ts";

export const deerSchemas: Record<string, v.GenericSchema> = {
  DeerThreadCreate: bodies.threadCreateSchema,
  DeerThreadPatch: bodies.threadPatchSchema,
  DeerThreadSearch: bodies.threadSearchSchema,
  DeerThread: answers.deerThreadSchema,
  DeerThreads: answers.deerThreadsSchema,
  DeerStateUpdate: bodies.stateUpdateSchema,
  DeerStateAt: bodies.stateAtSchema,
  DeerState: answers.deerStateSchema,
  DeerHistoryRequest: bodies.historySchema,
  DeerHistory: answers.deerHistorySchema,
  DeerRunCreate: bodies.runCreateSchema,
  DeerRun: answers.deerRunSchema,
  DeerRuns: answers.deerRunsSchema,
  DeerEvents: answers.deerEventsSchema,
  DeerMessages: answers.deerMessagesSchema,
  DeerMessagesPage: answers.deerMessagesPageSchema,
  DeerRunMessages: answers.deerRunMessagesSchema,
  DeerWorkspaceChanges: answers.deerWorkspaceSchema,
  DeerTokenUsage: answers.deerUsageSchema,
  DeerFeedbackRequest: bodies.feedbackSchema,
  DeerFeedback: answers.deerFeedbackSchema,
  DeerFeedbackList: answers.deerFeedbackListSchema,
  DeerFeedbackStats: answers.deerFeedbackStatsSchema,
  DeerRegenerate: bodies.regenerateSchema,
  DeerEdit: bodies.editSchema,
  DeerReplay: answers.deerReplaySchema,
  DeerRecords: bodies.ingestSchema,
  DeerRecordsTaken: answers.deerIngestSchema,
  DeerAssistantSearch: bodies.assistantSearchSchema,
  DeerAssistant: answers.deerAssistantSchema,
  DeerAssistants: answers.deerAssistantsSchema,
  DeerValues: answers.deerValuesSchema,
  DeerDone: answers.deerDoneSchema,
  DeerError: answers.deerErrorSchema,
};

export const deerSecuritySchemes = {
  deerApiKey: { type: "apiKey", in: "header", name: "X-Api-Key", description: "A tenant's API key, also as a bearer." },
};

const security = [{ deerApiKey: [] }, { bearer: [] }, {}];
const fault = (description: string) => json("DeerError", description);
const silent = (description: string) => ({ description });

const doors = {
  400: fault("A credential stands in the address."),
  401: fault("The key is missing (not_authenticated) or not known (token_invalid)."),
  403: fault("The server is open on localhost only."),
};
const bodyFaults = {
  413: fault("The body is too large."),
  415: fault("The body is not application/json."),
  422: fault("A field is not valid; each fault has its type, place and text."),
};
const queryFaults = { 422: fault("A parameter is not valid; each fault has its type, place and text.") };
const noThread = { 404: fault("There is no such thread.") };
const noRun = { 404: fault("There is no such thread, or no such run in it.") };
const inThread = { ...doors, ...queryFaults, ...noThread };
const ofRun = { ...doors, ...queryFaults, ...noRun };

const threadId = parameter("threadId", "path", "The thread's name.", {
  type: "string",
  pattern: bodies.THREAD_ID.source,
});
const named = (description: string) => parameter("name", "path", description);
const flag = (name: string, description: string) => parameter(name, "query", description, { type: "boolean" });
const whole = (name: string, description: string, maximum?: number) =>
  parameter(name, "query", description, { type: "integer", minimum: 1, ...(maximum !== undefined && { maximum }) });
const limit = whole("limit", "At most so many.", 200);
const before = whole("before_seq", "Only records below this number.");
const after = whole("after_seq", "Only records above this number.");
const action = parameter("action", "query", "How the run is cancelled.", { enum: ["interrupt", "rollback"] });
const wait = flag("wait", "Answer when the run has ended.");
const lastEventId = parameter("Last-Event-ID", "header", "The last frame seen; an unknown one: from the beginning.");

const repeatKey = parameter("Idempotency-Key", "header", "Repeats with this key and the same body are the same run.", {
  type: "string",
  pattern: IDEMPOTENCY_KEY.source,
});

const runHeaders = {
  "Content-Location": { description: "Where the run is.", schema: { type: "string" } },
  Location: {
    description: "Where its stream goes on, below the client's address of the API.",
    schema: { type: "string" },
  },
};
const stream = {
  description: "The run's frames: `event`, `data`, `id`. The first is `metadata`, the last `end`.",
  headers: runHeaders,
  content: { "text/event-stream": { schema: {} } },
};
const values = { ...json("DeerValues", "The final values."), headers: runHeaders };

const startFaults = {
  ...doors,
  ...bodyFaults,
  ...noThread,
  400: fault(
    "A message, the checkpoint or the model is not one that can be used; or a credential stands in the address.",
  ),
  409: fault("The thread has an active run, or nothing that can be resumed; or the key started another run."),
  413: fault("The body, the prompt or the thread is too large."),
  429: fault("The tenant has too many active runs."),
};
const start = (operationId: string, summary: string, answer: object, parameters: object[]) => ({
  post: {
    operationId,
    summary,
    security,
    parameters: [...parameters, repeatKey],
    requestBody: body("DeerRunCreate"),
    responses: { ...startFaults, 200: answer },
  },
});
const background = { ...json("DeerRun", "The run, which has begun."), headers: runHeaders };

const read = (operationId: string, summary: string, parameters: object[], responses: object) => ({
  operationId,
  summary,
  security,
  parameters,
  responses,
});
const send = (operationId: string, summary: string, parameters: object[], schema: string, responses: object) => ({
  ...read(operationId, summary, parameters, responses),
  requestBody: body(schema),
});

const joinStream = (operationId: string) =>
  read(
    operationId,
    "The run's stream from its beginning or after a frame; with an action the run is cancelled first",
    [threadId, runId, action, wait, lastEventId],
    {
      ...ofRun,
      200: stream,
      204: silent("Cancelled, and ended."),
      409: fault("The run cannot be cancelled, or is recorded by another server and cannot be streamed."),
    },
  );
const prepared = {
  ...doors,
  ...bodyFaults,
  ...noThread,
  409: fault("The turn cannot be run again; the text says why."),
};

const paths = {
  "/threads": {
    post: send("deerCreateThread", "Make a thread; one that is there stays as it is", [], "DeerThreadCreate", {
      ...doors,
      ...bodyFaults,
      200: json("DeerThread", "The thread."),
    }),
  },
  "/threads/search": {
    post: send("deerSearchThreads", "Threads by metadata and status, the last changed first", [], "DeerThreadSearch", {
      ...doors,
      ...bodyFaults,
      200: json("DeerThreads", "The threads."),
    }),
  },
  "/threads/{threadId}": {
    get: read("deerReadThread", "The thread with its values", [threadId], {
      ...inThread,
      200: json("DeerThread", "The thread."),
    }),
    patch: send("deerPatchThread", "Merge metadata into the thread's", [threadId], "DeerThreadPatch", {
      ...inThread,
      ...bodyFaults,
      200: json("DeerThread", "The thread."),
    }),
    delete: read("deerDeleteThread", "Forget the thread with its runs", [threadId], {
      ...inThread,
      200: json("DeerDone", "Deleted."),
      409: fault("A run of the thread is active."),
    }),
  },
  "/threads/{threadId}/state": {
    get: read("deerReadState", "The newest state", [threadId], { ...inThread, 200: json("DeerState", "The state.") }),
    post: send("deerUpdateState", "Change the state without a run", [threadId], "DeerStateUpdate", {
      ...inThread,
      ...bodyFaults,
      200: json("DeerState", "The state that it has become."),
      400: fault("A message cannot be used; or a credential stands in the address."),
      409: fault("A run of the thread is active."),
      413: fault("The body or the thread is too large."),
    }),
  },
  "/threads/{threadId}/state/checkpoint": {
    post: send("deerReadStateOf", "The state at a checkpoint", [threadId], "DeerStateAt", {
      ...inThread,
      ...bodyFaults,
      200: json("DeerState", "The state."),
    }),
  },
  "/threads/{threadId}/state/{name}": {
    get: read("deerReadStateAt", "The state at a checkpoint, by its id", [threadId, named("The checkpoint's id.")], {
      ...inThread,
      200: json("DeerState", "The state."),
    }),
  },
  "/threads/{threadId}/history": {
    post: send(
      "deerReadHistory",
      "States, newest first; only the newest has messages",
      [threadId],
      "DeerHistoryRequest",
      {
        ...inThread,
        ...bodyFaults,
        200: json("DeerHistory", "The states."),
      },
    ),
  },
  "/threads/{threadId}/runs": {
    ...start("deerCreateRun", "Start a run in the background", background, [threadId]),
    get: read("deerListRuns", "The newest runs of the thread, at most 100", [threadId], {
      ...inThread,
      200: json("DeerRuns", "The runs, newest first."),
    }),
  },
  "/threads/{threadId}/runs/stream": start("deerStreamRun", "Start a run and read its frames", stream, [threadId]),
  "/threads/{threadId}/runs/wait": start("deerWaitForRun", "Start a run and wait for its values", values, [threadId]),
  "/threads/{threadId}/runs/regenerate/prepare": {
    post: send("deerPrepareRegenerate", "What a run is started with that answers anew", [threadId], "DeerRegenerate", {
      ...prepared,
      200: json("DeerReplay", "Input, checkpoint and metadata of the run."),
    }),
  },
  "/threads/{threadId}/runs/edit-regenerate/prepare": {
    post: send("deerPrepareEdit", "What a run is started with that answers an edited message", [threadId], "DeerEdit", {
      ...prepared,
      200: json("DeerReplay", "Input, checkpoint and metadata of the run."),
    }),
  },
  "/threads/{threadId}/runs/{runId}": {
    get: read("deerReadRun", "How the run stands", [threadId, runId], { ...ofRun, 200: json("DeerRun", "The run.") }),
  },
  "/threads/{threadId}/runs/{runId}/cancel": {
    post: read("deerCancelRun", "Cancel the run", [threadId, runId, action, wait], {
      ...ofRun,
      202: silent("It is about to end."),
      204: silent("It has ended."),
      409: fault("It has ended before."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/join": {
    get: read("deerJoinRun", "Wait for the run's values; its stream, when Accept names that", [threadId, runId], {
      ...ofRun,
      200: { ...values, content: { ...values.content, ...stream.content } },
      409: fault("The run is recorded by another server and cannot be streamed."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/stream": {
    get: joinStream("deerJoinStream"),
    post: joinStream("deerCancelAndJoinStream"),
  },
  "/threads/{threadId}/runs/{runId}/messages": {
    get: read("deerListRunMessages", "Messages of a run", [threadId, runId, limit, before, after], {
      ...ofRun,
      200: json("DeerRunMessages", "The messages, oldest first."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/events": {
    get: read(
      "deerListRunEvents",
      "Records of a run",
      [
        threadId,
        runId,
        parameter("event_types", "query", "Only these, with commas between."),
        parameter("task_id", "query", "Only records of this task."),
        whole("limit", "At most so many.", 2000),
        after,
      ],
      { ...ofRun, 200: json("DeerEvents", "The records, oldest first."), 413: fault("Ask for fewer.") },
    ),
    post: send("deerPushRecords", "Records of a run that is carried out elsewhere", [threadId, runId], "DeerRecords", {
      ...ofRun,
      ...bodyFaults,
      200: json("DeerRecordsTaken", "They are kept; the same for a repeat."),
      409: fault("A gap, a producer that was replaced, or a run that has ended or is carried out here."),
      413: fault("The body or the thread is too large."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/workspace-changes": {
    get: read(
      "deerReadWorkspaceChanges",
      "What a run changed in the workspace",
      [threadId, runId, flag("include_files", "Default true."), flag("include_diff", "Default true.")],
      { ...ofRun, 200: json("DeerWorkspaceChanges", "The changes.") },
    ),
  },
  "/threads/{threadId}/runs/{runId}/feedback": {
    get: read("deerListFeedback", "Feedback on a run", [threadId, runId], {
      ...ofRun,
      200: json("DeerFeedbackList", "All of it."),
    }),
    put: send("deerPutFeedback", "The feedback on a run, made or replaced", [threadId, runId], "DeerFeedbackRequest", {
      ...ofRun,
      ...bodyFaults,
      200: json("DeerFeedback", "As it is kept."),
      400: fault("The rating is neither 1 nor -1; or a credential stands in the address."),
    }),
    post: send("deerAddFeedback", "Further feedback on a run", [threadId, runId], "DeerFeedbackRequest", {
      ...ofRun,
      ...bodyFaults,
      200: json("DeerFeedback", "As it is kept."),
      400: fault("The rating is neither 1 nor -1; or a credential stands in the address."),
    }),
    delete: read("deerDeleteFeedback", "Forget one's feedback on a run", [threadId, runId], {
      ...ofRun,
      200: json("DeerDone", "Deleted."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/feedback/stats": {
    get: read("deerReadFeedbackStats", "How a run is rated", [threadId, runId], {
      ...ofRun,
      200: json("DeerFeedbackStats", "The numbers."),
    }),
  },
  "/threads/{threadId}/runs/{runId}/feedback/{name}": {
    delete: read("deerDeleteOneFeedback", "Forget this feedback", [threadId, runId, named("The feedback's id.")], {
      ...ofRun,
      200: json("DeerDone", "Deleted."),
    }),
  },
  "/threads/{threadId}/messages": {
    get: read("deerListMessages", "Messages of the thread, with feedback", [threadId, limit, before, after], {
      ...inThread,
      200: json("DeerMessages", "The messages, oldest first."),
      413: fault("Ask for fewer."),
    }),
  },
  "/threads/{threadId}/messages/page": {
    get: read(
      "deerReadMessagesPage",
      "What a user sees of the thread, backwards page by page",
      [threadId, limit, before],
      {
        ...inThread,
        200: json("DeerMessagesPage", "The page, oldest first."),
      },
    ),
  },
  "/threads/{threadId}/token-usage": {
    get: read(
      "deerReadTokenUsage",
      "What the thread's runs used",
      [threadId, flag("include_active", "Default false.")],
      {
        ...inThread,
        200: json("DeerTokenUsage", "The sums."),
      },
    ),
  },
  "/runs": start("deerCreateStatelessRun", "Start a run in a thread of its own, in the background", background, []),
  "/runs/stream": start("deerStreamStatelessRun", "Start a run in a thread of its own and read its frames", stream, []),
  "/runs/wait": start(
    "deerWaitForStatelessRun",
    "Start a run in a thread of its own and wait for its values",
    values,
    [],
  ),
  "/runs/{runId}/messages": {
    get: read("deerListMessagesOfRun", "Messages of a run, by its name alone", [runId, limit, before, after], {
      ...ofRun,
      200: json("DeerRunMessages", "The messages, oldest first."),
    }),
  },
  "/runs/{runId}/feedback": {
    get: read("deerListFeedbackOfRun", "Feedback on a run, by its name alone", [runId], {
      ...ofRun,
      200: json("DeerFeedbackList", "All of it."),
    }),
  },
  "/assistants/search": {
    post: send("deerSearchAssistants", "The default agent and the routes", [], "DeerAssistantSearch", {
      ...doors,
      ...bodyFaults,
      200: json("DeerAssistants", "The agents."),
    }),
  },
  "/assistants/{name}": {
    get: read("deerReadAssistant", "An agent", [named("Its id.")], {
      ...doors,
      200: json("DeerAssistant", "The agent."),
      404: fault("There is no such agent."),
    }),
  },
  "/assistants/{name}/graph": {
    get: read("deerReadGraph", "An agent's graph, which is empty", [named("Its id.")], {
      ...doors,
      200: json("DeerValues", "The graph."),
      404: fault("There is no such agent."),
    }),
  },
  "/assistants/{name}/schemas": {
    get: read("deerReadSchemas", "An agent's schemas, which are open", [named("Its id.")], {
      ...doors,
      200: json("DeerValues", "The schemas."),
      404: fault("There is no such agent."),
    }),
  },
};

export const deerPaths: Record<string, object> = Object.fromEntries(
  Object.entries(paths).map(([path, operations]) => [`/api${path}`, operations]),
);
