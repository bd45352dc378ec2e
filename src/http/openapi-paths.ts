// The native paths of the OpenAPI document. A test holds the list against the router.
import { dialects } from "../dialects/index.ts";
import { body, cursor, json, parameter, ref, runId, threadId } from "./openapi-parts.ts";

const problem = (description: string) => json("IndeRunError", description);
const stream = {
  description:
    "The run's events. SSE frames carry `id: sequence` and `data: StreamEvent`; NDJSON one StreamEvent per line.",
  content: {
    "text/event-stream": { schema: ref("StreamEvent") },
    "application/x-ndjson": { schema: ref("StreamEvent") },
  },
};
const wait = parameter("wait", "query", "Whole seconds to wait for the outcome.", {
  type: "integer",
  minimum: 0,
  maximum: 55,
});
const starting = cursor(["now", "snapshot"], "`now`: live only. `snapshot`: one merged event, then live.");
const dialect = parameter("dialect", "query", "The stream's dialect.", { enum: Object.keys(dialects) });
const faults = {
  400: problem("A field is not valid; details.validationIssues names it."),
  401: problem("The key or ticket is missing, malformed, forged or expired."),
  403: problem("The ticket does not allow this, or the server is open on localhost only."),
  404: problem("There is no such run."),
};
const threadFaults = { ...faults, 404: problem("There is no such thread.") };
const bodyFaults = {
  413: problem("The body is too large."),
  415: problem("The body is not application/json."),
};

export const openApiPaths = {
  "/v1/runs": {
    post: {
      operationId: "startRun",
      summary:
        "Start a run, go on from one that waits for tool results or approvals or has reached its limit of steps, or resume the one of the same name",
      parameters: [
        parameter("Idempotency-Key", "header", "Repeats with this key and the same body are the same run."),
        wait,
        ...starting,
        dialect,
      ],
      requestBody: body("StartRequest"),
      responses: {
        ...faults,
        200: {
          description: "The stream, when the Accept header asks for one; the outcome, when `wait` saw the end.",
          content: { ...stream.content, "application/json": { schema: ref("StreamTerminalOutcome") } },
        },
        202: json("RunHandle", "Accepted; Location is the run's event stream."),
        404: problem("`previousRunId` names no run, or one whose thread is gone."),
        409: problem(
          "The name is taken by a run with another body or key, the thread `threadId` has an active run, or no run can go on from `previousRunId` (any more).",
        ),
        410: problem("The events of `previousRunId` are no longer kept."),
        ...bodyFaults,
        413: problem("The body or the prompt is too large, or the thread is full."),
        422: problem("No target of the route may serve the request, or it asks for something unsupported."),
        429: problem("The tenant has too many active runs."),
      },
    },
  },
  "/v1/runs/{runId}": {
    get: {
      operationId: "readRun",
      summary: "How the run stands",
      parameters: [runId],
      responses: { ...faults, 200: json("RunState", "The state.") },
    },
    delete: {
      operationId: "deleteRun",
      summary: "Forget the run; a live one is cancelled first",
      parameters: [runId],
      responses: {
        ...faults,
        204: { description: "Forgotten; the name is free again." },
        503: problem("The run's thread, which has not got all of its records, or its collection does not answer."),
      },
    },
  },
  "/v1/runs/{runId}/events": {
    get: {
      operationId: "readEvents",
      summary: "Attach to the run's events, from the beginning or after a cursor",
      security: [{ bearer: [] }, { ticket: [] }, {}],
      parameters: [runId, ...starting, dialect],
      responses: {
        ...faults,
        200: stream,
        204: { description: "The terminal was already seen." },
        410: problem("The events are no longer kept."),
      },
    },
    post: {
      operationId: "pushEvents",
      summary: "Events of a run that was started with `source: push`, by the producer that carries it out",
      parameters: [runId],
      requestBody: body("PushRequest"),
      responses: {
        ...faults,
        ...bodyFaults,
        200: json("PushAnswer", "The events are stored, now or by the same batch before."),
        409: problem(
          "details.refused: `gap` with `expectedSequence`, `fenced` with `epoch`, `ended` with `outcome`, or `not_pushed`.",
        ),
      },
    },
  },
  "/v1/runs/{runId}/outcome": {
    get: {
      operationId: "readOutcome",
      summary: "How the run ended, byte for byte the terminal event's payload",
      security: [{ bearer: [] }, { ticket: [] }, {}],
      parameters: [runId, wait],
      responses: {
        ...faults,
        200: json("StreamTerminalOutcome", "The outcome."),
        202: json("RunHandle", "Still running."),
      },
    },
  },
  "/v1/runs/{runId}/cancel": {
    post: {
      operationId: "cancelRun",
      summary: "Cancel the run; a finished one stays as it is",
      security: [{ bearer: [] }, { ticket: [] }, {}],
      parameters: [runId],
      requestBody: body("CancelRequest", false),
      responses: { ...faults, ...bodyFaults, 200: json("StreamTerminalOutcome", "The standing outcome.") },
    },
  },
  "/v1/threads/{threadId}": {
    get: {
      operationId: "readThread",
      summary: "How the thread stands",
      parameters: [threadId],
      responses: { ...threadFaults, 200: json("Thread", "The thread.") },
    },
    delete: {
      operationId: "deleteThread",
      summary: "Forget the thread with its runs",
      parameters: [threadId],
      responses: {
        ...threadFaults,
        204: { description: "Forgotten; its runs are forgotten before long." },
        409: problem("A run of the thread is active."),
      },
    },
  },
  "/v1/threads/{threadId}/runs": {
    get: {
      operationId: "readThreadRuns",
      summary: "The newest runs of the thread, at most 100",
      parameters: [threadId],
      responses: { ...threadFaults, 200: json("ThreadRuns", "The runs, newest first.") },
    },
  },
  "/v1/tickets": {
    post: {
      operationId: "createTicket",
      summary: "A signed, expiring credential for one run that may stand in a URL",
      requestBody: body("TicketRequest"),
      responses: {
        ...faults,
        ...bodyFaults,
        201: json("Ticket", "The ticket."),
        503: problem("The secret TICKET_SECRET is not set."),
      },
    },
  },
  "/v1/routes": {
    get: {
      operationId: "listRoutes",
      summary: "The configured routes and their targets",
      responses: { 401: faults[401], 403: faults[403], 200: { description: "The routes." } },
    },
  },
  "/healthz": {
    get: {
      operationId: "health",
      summary: "Whether the server is up and configured",
      responses: { 200: { description: "It is." } },
    },
  },
  "/openapi.json": {
    get: { operationId: "openApi", summary: "This document", responses: { 200: { description: "OpenAPI 3.1." } } },
  },
  "/schemas": {
    get: {
      operationId: "listSchemas",
      summary: "The paths of all JSON Schemas",
      responses: { 200: { description: "The list." } },
    },
  },
  "/schemas/{name}": {
    get: {
      operationId: "jsonSchema",
      summary: "One JSON Schema, by name",
      parameters: [parameter("name", "path", "A schema's name, with or without `.json`.")],
      responses: { 200: { description: "JSON Schema, draft 2020-12." }, 404: problem("No such schema.") },
    },
  },
};
