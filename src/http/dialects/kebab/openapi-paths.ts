// The kebab family in the OpenAPI document: its paths, and the schemas that it brings. A test holds the list against the family's surface.
import type * as v from "valibot";
import * as documents from "../../../../schemas/dialects/kebab-documents.ts";
import * as answers from "../../../../schemas/dialects/kebab-answer.ts";
import * as kebab from "../../../../schemas/dialects/kebab.ts";
import { IDEMPOTENCY_KEY } from "../../idempotency-key.ts";
import { body, cursor, json, parameter, ref, runId } from "../../openapi-parts.ts";

export const kebabSchemas: Record<string, v.GenericSchema> = {
  KebabSearchRequest: kebab.searchRequestSchema,
  KebabSearchResponse: kebab.searchResponseSchema,
  KebabSearchHit: kebab.hitSchema,
  KebabBulkItem: kebab.bulkItemSchema,
  KebabBulkResponse: kebab.bulkResponseSchema,
  KebabAskRequest: answers.askRequestSchema,
  KebabAnswerEvent: answers.answerEventSchema,
  KebabAnswer: answers.answerSchema,
  KebabSchema: kebab.selfSchema,
  KebabError: kebab.kebabErrorSchema,
  KebabBatchEntry: documents.batchEntrySchema,
  KebabIngestProgress: documents.ingestProgressSchema,
  KebabIngestReport: documents.ingestReportSchema,
  KebabFetchResult: documents.fetchResultSchema,
  KebabChunkInspection: documents.chunkInspectionSchema,
  KebabDocSummary: documents.docSummarySchema,
  KebabCollection: documents.collectionSchema,
};

const fault = (description: string) => json("KebabError", description);
const collection = parameter("collection", "path", "The collection's name.", {
  type: "string",
  pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$",
});
const docId = parameter(
  "docId",
  "path",
  "The document's path in the collection: names with / between them, without #.",
);
const doors = {
  400: fault("A field is not valid; details.field names it."),
  401: fault("The key is missing or not known."),
  403: fault("The server is open on localhost only."),
  500: fault("The server's configuration cannot be used, or the server failed to answer."),
  503: fault("An object restarts; ask again."),
};
const noCollection = fault("There is no such collection.");
const noDocument = fault("There is no such collection, or it has no such document.");
const gone = { description: "It is forgotten." };
const starting = [
  parameter("Idempotency-Key", "header", "Repeats with this key and the same body are the same run.", {
    type: "string",
    pattern: IDEMPOTENCY_KEY.source,
  }),
  ...cursor(["now"], "Of a repeat; live only."),
];
const busy = {
  description: "The tenant has too many active runs.",
  headers: {
    "Retry-After": { description: "Seconds to wait.", required: true, schema: { type: "integer", minimum: 1 } },
  },
  content: { "application/json": { schema: ref("KebabError") } },
};
/** `required`: whether the answer always is a run's stream. */
const runHeaders = (required: boolean) => ({
  Location: { description: "Where the stream goes on, of a run.", required, schema: { type: "string" } },
  "X-Run-Id": { description: "The run's name.", required, schema: { type: "string" } },
});
const lines = (...schemas: string[]) => ({ "application/x-ndjson": { schema: { anyOf: schemas.map(ref) } } });
const ASKED = ["KebabAnswerEvent", "KebabAnswer", "KebabError"];
const INGESTED = ["KebabIngestProgress", "KebabIngestReport", "KebabError"];
const answerLines = {
  description: "A line per event, then the answer, or the error, as the last one.",
  headers: runHeaders(true),
  content: lines(...ASKED),
};
const runLines = {
  description: "Of a question the lines of its answer, of documents those of their progress and the report.",
  headers: runHeaders(true),
  content: lines(...new Set([...ASKED, ...INGESTED])),
};
const text = { schema: { type: "string" } };
const kept = {
  200: {
    description:
      "What was updated, and what is as it was. Whoever accepts application/x-ndjson gets a run: lines of progress, then the report, or the error, as the last one.",
    headers: runHeaders(false),
    content: { "application/json": { schema: ref("KebabIngestReport") }, ...lines(...INGESTED) },
  },
  201: json("KebabIngestReport", "The same, with documents that are new."),
  409: fault("The key was used for other documents."),
  413: fault("The body is larger than 8 MiB; nothing of it is kept."),
  415: fault("The body's type is another one."),
  422: fault("A document makes too many chunks, or the collection would be too large; nothing is kept."),
  429: busy,
  503: fault("The model that embeds failed, or the collection's object restarts; nothing is kept."),
  504: fault("The model that embeds did not answer in time; nothing is kept."),
};
/** What a search by vectors may end in. */
const unsearched = {
  422: fault("The collection has too many chunks for this mode."),
  503: fault("The model that embeds failed, or the collection's object restarts."),
  504: fault("The model that embeds did not answer in time."),
};

export const kebabPaths = {
  "/kebab/collections/{collection}": {
    get: {
      operationId: "kebabReadCollection",
      summary: "What a collection holds, and a page of its documents",
      parameters: [
        collection,
        parameter("after", "query", "The path behind which the page begins."),
        parameter("limit", "query", "Documents of a page.", { type: "integer", minimum: 1, maximum: 1000 }),
      ],
      responses: { ...doors, 200: json("KebabCollection", "The page."), 404: noCollection },
    },
    delete: {
      operationId: "kebabDeleteCollection",
      summary: "Forget a collection with all of its documents",
      parameters: [collection],
      responses: { ...doors, 204: gone, 404: noCollection },
    },
  },
  "/kebab/collections/{collection}/documents": {
    post: {
      operationId: "kebabPutDocuments",
      summary: "Keep many documents, all of them or none",
      parameters: [collection, ...starting],
      requestBody: {
        required: true,
        content: { "application/x-ndjson": { schema: ref("KebabBatchEntry") } },
      },
      responses: { ...doors, ...kept },
    },
  },
  "/kebab/collections/{collection}/documents/{docId}": {
    put: {
      operationId: "kebabPutDocument",
      summary: "Keep a document; one that is as it was changes nothing",
      parameters: [
        collection,
        docId,
        parameter("title", "query", "Instead of what the document says itself."),
        parameter("tags", "query", "Likewise, with commas between them."),
        parameter("lang", "query", "Likewise."),
        parameter("trust_level", "query", "Likewise.", { enum: ["primary", "secondary", "generated"] }),
        ...starting,
      ],
      requestBody: {
        required: true,
        content: { "text/markdown": text, "text/plain": text, "text/html": text },
      },
      responses: { ...doors, ...kept },
    },
    get: {
      operationId: "kebabReadDocument",
      summary: "A document's text, lines of it, or a chunk",
      parameters: [
        collection,
        docId,
        parameter("lines", "query", "A line, or two with - between them, from 1 on, both included.", {
          type: "string",
          pattern: "^[1-9]\\d{0,8}(-[1-9]\\d{0,8})?$",
        }),
        parameter("chunk", "query", "A chunk of the document instead, by its id."),
        parameter("context", "query", "Chunks on each side of it; none when left out.", {
          type: "integer",
          minimum: 0,
          maximum: 20,
        }),
      ],
      responses: {
        ...doors,
        200: json("KebabFetchResult", "The text, or the chunk."),
        404: fault("There is no such collection, or it has no such document, or that no such chunk."),
      },
    },
    delete: {
      operationId: "kebabDeleteDocument",
      summary: "Forget a document",
      parameters: [collection, docId],
      responses: { ...doors, 204: gone, 404: noDocument },
    },
  },
  "/kebab/ask": {
    post: {
      operationId: "kebabAsk",
      summary: "Answer a question from a collection's documents, as a stream",
      parameters: starting,
      requestBody: body("KebabAskRequest"),
      responses: {
        ...doors,
        200: answerLines,
        404: fault("There is no such collection, or nothing in it to search in this mode."),
        409: fault("The key was used for another question, or a question of the conversation is being answered."),
        413: fault("The body is too large, or the conversation is full."),
        415: fault("The body is not application/json."),
        429: busy,
        ...unsearched,
      },
    },
  },
  "/kebab/runs/{runId}": {
    get: {
      operationId: "kebabReadAnswer",
      summary: "Read the stream of a question's run, or of documents', again, or the rest of it",
      parameters: [runId, ...cursor(["now"], "Live only.")],
      responses: { ...doors, 200: runLines, 404: fault("There is no such run, or its events are no longer kept.") },
    },
  },
  "/kebab/runs/{runId}/cancel": {
    post: {
      operationId: "kebabCancelAsk",
      summary: "Cancel a question's run, or that of documents; one that has ended stays as it is",
      parameters: [runId],
      requestBody: body("CancelRequest", false),
      responses: {
        ...doors,
        200: {
          description: "The stream's last line.",
          content: {
            "application/json": {
              schema: { anyOf: [ref("KebabAnswer"), ref("KebabIngestReport"), ref("KebabError")] },
            },
          },
        },
        404: fault("There is no such run."),
        413: fault("The body is too large."),
        415: fault("The body is not application/json."),
      },
    },
  },
  "/kebab/search": {
    post: {
      operationId: "kebabSearch",
      summary: "What of a collection fits a question, or each of up to 100, a line each",
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: ref("KebabSearchRequest") },
          "application/x-ndjson": { schema: ref("KebabSearchRequest") },
        },
      },
      responses: {
        ...doors,
        200: {
          description: "The hits, best first; of lines, those of each, or its error.",
          content: {
            "application/json": { schema: { anyOf: [ref("KebabSearchResponse"), ref("KebabBulkResponse")] } },
          },
        },
        404: fault("There is no such collection, or nothing in it to search in this mode."),
        413: fault("The body is too large."),
        415: fault("The body is neither application/json nor application/x-ndjson."),
        ...unsearched,
      },
    },
  },
  "/kebab/schema": {
    get: {
      operationId: "kebabReadSchema",
      summary: "What this server can do, and what a collection holds",
      parameters: [parameter("collection", "query", "Left out: the one named `default`.")],
      responses: { ...doors, 200: json("KebabSchema", "All of that.") },
    },
  },
};
