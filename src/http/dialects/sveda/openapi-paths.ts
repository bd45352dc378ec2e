// The Sveda family in the OpenAPI document: its paths, and the schemas that it brings. A test holds the list against the family's surface.
import * as v from "valibot";
import * as answers from "../../../../schemas/dialects/sveda-answers.ts";
import * as embed from "../../../../schemas/dialects/sveda-embed.ts";
import { svedaEventSchema, svedaRequestSchema } from "../../../../schemas/dialects/sveda.ts";
import { body, cursor, json, parameter, ref, runId } from "../../openapi-parts.ts";

export const svedaSchemas: Record<string, v.GenericSchema> = {
  SvedaStreamRequest: svedaRequestSchema,
  SvedaStreamEvent: svedaEventSchema,
  SvedaTurnAnswer: answers.turnAnswerSchema,
  SvedaEmbedTokenRequest: v.looseObject({
    ...embed.embedTokenRequestSchema.entries,
    grants: v.nullish(embed.grantsSchema),
  }),
  SvedaEmbedToken: answers.embedTokenSchema,
  SvedaEmbedConfig: answers.embedConfigSchema,
  SvedaChatList: answers.chatListSchema,
  SvedaChat: answers.chatAnswerSchema,
  SvedaRenameRequest: embed.renameRequestSchema,
  SvedaExtraction: answers.extractionSchema,
  SvedaContentReportRequest: embed.contentReportRequestSchema,
  SvedaContentReportList: answers.reportListSchema,
  SvedaError: answers.svedaErrorSchema,
};

export const svedaSecuritySchemes = {
  svedaEmbedToken: {
    type: "apiKey",
    in: "header",
    name: "X-Sveda-Embed-Token",
    description: "A visitor's token, also as a bearer.",
  },
  svedaHostKey: {
    type: "apiKey",
    in: "header",
    name: "X-Sveda-Host-Key",
    description: "A tenant's API key, also as a bearer.",
  },
};

const visitor = [{ svedaEmbedToken: [] }, { bearer: [] }];
const host = [{ svedaHostKey: [] }, { bearer: [] }, {}];

const fault = (description: string) => json("SvedaError", description);
const inText = (description: string) => ({ description, content: { "text/plain": { schema: { type: "string" } } } });
const either = (description: string) => ({
  description,
  content: { ...inText(description).content, ...fault(description).content },
});
const silent = (description: string) => ({ description });
const object = (properties: object, description: string) => ({
  description,
  content: { "application/json": { schema: { type: "object", properties, required: Object.keys(properties) } } },
});
const success = object({ success: { const: true } }, "Done.");

const doors = {
  401: silent("The token or key is missing, malformed, forged or expired."),
  403: fault("The server is open on localhost only."),
  503: fault("The secret TICKET_SECRET is not set."),
};
const policyDoors = {
  ...doors,
  403: fault("The token's policy is not configured any more, or the server is open on localhost only."),
};
const bodyFaults = {
  400: inText("The body is no JSON."),
  413: inText("The body is too large."),
  415: inText("The body is not application/json."),
  422: inText("The body is not valid; the text names the field."),
};
const turnFaults = {
  ...policyDoors,
  ...bodyFaults,
  409: fault("A call waits for its approval, or there is no stored chat that the decisions are about."),
  413: either("The body (text) or the turn (JSON) is too large."),
  422: either("A field is not valid (text); an unknown model, or nothing to say (JSON)."),
  429: fault("Too many turns in the window, or at the same time; Retry-After has the wait."),
  503: fault("The turn is about to start, or the secret TICKET_SECRET is not set."),
};
const noRun = silent("None of the visitor's turns has this name.");
const noChat = silent("The visitor has no such chat.");
const repeatKey = parameter("Idempotency-Key", "header", "Repeats with this key are the same turn.", {
  type: "string",
  pattern: "^[\\x21-\\x7e]{1,255}$",
});
const chatId = parameter("chatId", "path", "The chat's name.");
const starting = cursor(["now"], "`now`: live only.");
const runHeaders = {
  "X-Run-Id": { description: "The run that the turn is.", schema: { type: "string" } },
  Location: { description: "The run's stream, for a client that comes back.", schema: { type: "string" } },
};
const stream = {
  description:
    "The turn's events as server-sent events: `id: sequence` and `data: SvedaStreamEvent`; the last data is `[DONE]`.",
  headers: {
    ...runHeaders,
    "X-Sveda-Protocol-Version": { description: "Of the stream.", schema: { const: "1.0" } },
  },
  content: { "text/event-stream": { schema: ref("SvedaStreamEvent") } },
};

export const svedaPaths = {
  "/sveda/stream": {
    post: {
      operationId: "svedaStreamTurn",
      summary: "A turn of a chat as a stream; the same turn again is the same run",
      security: visitor,
      parameters: [repeatKey, ...starting],
      requestBody: body("SvedaStreamRequest"),
      responses: {
        ...turnFaults,
        200: stream,
        400: either("The body is no JSON (text); a cursor is malformed or ahead of the run (JSON)."),
        410: fault("The events of the turn are no longer kept."),
      },
    },
  },
  "/sveda/message": {
    post: {
      operationId: "svedaAnswerTurn",
      summary: "A turn of a chat, answered when it has ended",
      security: visitor,
      parameters: [repeatKey],
      requestBody: body("SvedaStreamRequest"),
      responses: {
        ...turnFaults,
        200: { ...json("SvedaTurnAnswer", "How the turn ended."), headers: runHeaders },
        410: fault("The events of the turn are no longer kept."),
        500: fault("The turn failed before it had any text."),
      },
    },
  },
  "/sveda/runs/{runId}": {
    get: {
      operationId: "svedaReadTurn",
      summary: "A turn's stream, from its beginning or after a cursor",
      security: visitor,
      parameters: [runId, ...starting],
      responses: {
        ...doors,
        200: stream,
        400: fault("The cursor is malformed or ahead of the run."),
        404: noRun,
        410: fault("The events of the turn are no longer kept."),
      },
    },
  },
  "/sveda/runs/{runId}/cancel": {
    post: {
      operationId: "svedaCancelTurn",
      summary: "Cancel a turn; one that has ended stays as it is",
      security: visitor,
      parameters: [runId],
      requestBody: body("CancelRequest", false),
      responses: {
        ...doors,
        ...bodyFaults,
        200: object(
          { success: { const: true }, outcome: { enum: ["completed", "error", "cancelled"] } },
          "How it ended.",
        ),
        404: noRun,
      },
    },
  },
  "/sveda/chat-histories": {
    get: {
      operationId: "svedaListChats",
      summary: "The visitor's chats, newest first",
      security: visitor,
      responses: { ...doors, 200: json("SvedaChatList", "The chats.") },
    },
  },
  "/sveda/chat-histories/{chatId}": {
    get: {
      operationId: "svedaReadChat",
      summary: "One chat with its messages and its conversation",
      security: visitor,
      parameters: [chatId],
      responses: { ...doors, 200: json("SvedaChat", "The chat."), 404: noChat },
    },
    patch: {
      operationId: "svedaRenameChat",
      summary: "Give a chat another title",
      security: visitor,
      parameters: [chatId],
      requestBody: body("SvedaRenameRequest"),
      responses: {
        ...doors,
        ...bodyFaults,
        200: success,
        404: noChat,
        422: either("The body is not valid (text); the title is empty (JSON)."),
      },
    },
    delete: {
      operationId: "svedaDeleteChat",
      summary: "Forget a chat; a turn that runs in it is cancelled",
      security: visitor,
      parameters: [chatId],
      responses: { ...doors, 200: success, 404: noChat },
    },
  },
  "/sveda/documents/extract": {
    post: {
      operationId: "svedaExtractDocuments",
      summary: "The text of documents",
      security: visitor,
      requestBody: {
        required: true,
        content: {
          "multipart/form-data": {
            schema: {
              type: "object",
              properties: {
                files: { type: "array", items: { type: "string", contentMediaType: "application/octet-stream" } },
              },
              description: "Every part whose name begins with `files` is a document.",
            },
          },
        },
      },
      responses: {
        ...doors,
        200: json("SvedaExtraction", "An item for each document, in the order sent."),
        413: fault("The form is too large."),
        422: fault("The body is no whole form, or has too many documents."),
        429: fault("Too many turns and forms in the window; Retry-After has the wait."),
      },
    },
  },
  "/sveda/embed/token": {
    post: {
      operationId: "svedaCreateToken",
      summary: "A token for a visitor, for the host's server",
      security: host,
      requestBody: body("SvedaEmbedTokenRequest", false),
      responses: {
        ...doors,
        ...bodyFaults,
        200: json("SvedaEmbedToken", "The token."),
        404: silent("Tokens are switched off."),
        422: either("A field has the wrong type (text), or a wish cannot be granted (JSON)."),
        429: fault("Too many tokens in the window; Retry-After has the wait."),
        503: fault("The host page's server cannot be kept, or the secret TICKET_SECRET is not set."),
      },
    },
  },
  "/sveda/embed/config": {
    get: {
      operationId: "svedaReadEmbedConfig",
      summary: "How the widget looks, which models there are, what the visitor may use",
      security: visitor,
      responses: {
        ...policyDoors,
        200: json("SvedaEmbedConfig", "All of that."),
        404: silent("Tokens are switched off."),
      },
    },
  },
  "/sveda/content-reports": {
    post: {
      operationId: "svedaReportContent",
      summary: "Report an answer to the host",
      security: visitor,
      requestBody: body("SvedaContentReportRequest"),
      responses: {
        ...doors,
        ...bodyFaults,
        201: object({ ok: { const: true } }, "Kept."),
        400: either("The body is no JSON (text); the reason is empty or too long (JSON)."),
      },
    },
    get: {
      operationId: "svedaListReports",
      summary: "The latest reports, newest first, for the host",
      security: host,
      responses: { 401: doors[401], 403: doors[403], 200: json("SvedaContentReportList", "The reports.") },
    },
  },
  "/sveda/health": {
    get: {
      operationId: "svedaHealth",
      summary: "Whether the server is up",
      security: [],
      responses: { 200: state("It is.") },
    },
  },
  "/sveda/ready": {
    get: {
      operationId: "svedaReady",
      summary: "Whether it can serve visitors",
      security: [],
      responses: { 200: state("It can."), 503: state("It cannot; `error` says why.") },
    },
  },
};

function state(description: string) {
  const properties = { ok: { type: "boolean" }, runtime: { const: "holdfast" }, version: { type: "string" } };
  return object(properties, description);
}
