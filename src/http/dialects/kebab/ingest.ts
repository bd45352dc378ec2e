// Documents that come in: one as it stands, or many as lines of JSON. All of a request's documents are kept, or none.
import * as v from "valibot";
import type { DocumentWords, NewDocument, PutAnswer } from "../../../../schemas/collection.ts";
import {
  batchEntrySchema,
  documentWordsSchema,
  type IngestReport,
} from "../../../../schemas/dialects/kebab-documents.ts";
import { documentReader } from "../../../text/document-reader.ts";
import { parseJson } from "../../../wire/json.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { wireIssues } from "../../../run/issues.ts";
import { drain, readBytes } from "../../body.ts";
import { collectionStub, json, type KebabContext } from "./context.ts";
import { documentMedia, MAX_DOCUMENT_BYTES, mediaByPath, newDocument, textFault } from "./new-document.ts";
import {
  embeddingFailed,
  invalidInput,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";

/** `PUT /kebab/collections/{collection}/documents/{docId}`: 201 for a new document. */
export async function putDocument(context: KebabContext): Promise<Response> {
  const document = await documentOf(context);
  if (!document.ok) return kebabProblemResponse(document.problem);
  return keep(context, [document.value]);
}

/** `POST /kebab/collections/{collection}/documents`. */
export async function putBatch(context: KebabContext): Promise<Response> {
  const documents = await batchOf(context.request);
  if (!documents.ok) return kebabProblemResponse(documents.problem);
  return keep(context, documents.value);
}

async function documentOf({ request, docPath }: KebabContext): Promise<KebabResult<NewDocument>> {
  const media = documentMedia(request.headers.get("content-type") ?? "");
  if (media === undefined) {
    await drain(request.body);
    return kebabRefused(unsupported("text/markdown, text/plain or text/html, in UTF-8"));
  }
  const words = wordsOf(new URL(request.url).searchParams);
  if (!words.ok) {
    await drain(request.body);
    return words;
  }
  const source = await textOf(request);
  return source.ok ? newDocument({ path: docPath, media, words: words.value, source: source.value }, "docId") : source;
}

async function batchOf(request: Request): Promise<KebabResult<NewDocument[]>> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-ndjson") {
    await drain(request.body);
    return kebabRefused(unsupported("application/x-ndjson"));
  }
  const text = await textOf(request);
  if (!text.ok) return text;
  const documents = new Map<string, NewDocument>();
  for (const [index, line] of text.value.split("\n").entries()) {
    if (line.trim() === "") continue;
    const document = await entryOf(line, `line ${index + 1}`);
    if (!document.ok) return document;
    const { path } = document.value;
    if (documents.has(path)) {
      return kebabRefused(
        invalidInput(`line ${index + 1}: doc_path`, "Two documents of the batch have the same path."),
      );
    }
    documents.set(path, document.value);
  }
  if (documents.size === 0) return kebabRefused(invalidInput("body", "The batch has no documents."));
  return kebabFound([...documents.values()]);
}

async function entryOf(line: string, at: string): Promise<KebabResult<NewDocument>> {
  const parsed = parseJson(line);
  if (parsed === undefined) return kebabRefused(invalidInput(at, `The body is not valid: ${at} is not JSON.`));
  const entry = v.safeParse(batchEntrySchema, parsed.value);
  if (!entry.success) return kebabRefused(fieldFault(entry.issues, `${at}: `));
  const { doc_path: path, content, content_type: type, ...words } = entry.output;
  const source = content.toWellFormed();
  const fault = textFault(source);
  if (fault !== undefined) return kebabRefused(invalidInput(`${at}: content`, `The document ${fault}.`));
  const media = documentMedia(type ?? "") ?? mediaByPath(path);
  return newDocument({ path, media, words: given(words), source }, `${at}: doc_path`);
}

/** The text of a body of at most 8 MiB. */
async function textOf(request: Request): Promise<KebabResult<string>> {
  const bytes = request.body === null ? new Uint8Array() : await readBytes(request.body, MAX_DOCUMENT_BYTES);
  if (bytes === undefined) {
    return kebabRefused({ reason: "too_large", message: `The body is larger than ${MAX_DOCUMENT_BYTES} bytes.` });
  }
  const reader = documentReader({ html: false, limit: Number.POSITIVE_INFINITY, maxBytes: MAX_DOCUMENT_BYTES });
  reader.add(bytes);
  const text = reader.finish(Number.POSITIVE_INFINITY);
  return text.ok ? kebabFound(text.text) : kebabRefused(invalidInput("body", `The body is not text: ${text.error}.`));
}

/** Of a document that stands alone, what is said of it stands in the query. */
function wordsOf(query: URLSearchParams): KebabResult<DocumentWords> {
  const said = (name: string): string | undefined => query.get(name) ?? undefined;
  const tags = query.getAll("tags").flatMap((list) => list.split(","));
  const parsed = v.safeParse(documentWordsSchema, {
    title: said("title"),
    tags: query.has("tags") ? tags.map((tag) => tag.trim()).filter((tag) => tag !== "") : undefined,
    lang: said("lang"),
    trust_level: said("trust_level"),
  });
  return parsed.success ? kebabFound(given(parsed.output)) : kebabRefused(fieldFault(parsed.issues, "query:"));
}

function given({ title, tags, lang, trust_level }: v.InferOutput<typeof documentWordsSchema>): DocumentWords {
  return {
    ...(typeof title === "string" && title !== "" && { title: title.toWellFormed() }),
    ...(Array.isArray(tags) && { tags: [...new Set(tags.map((tag) => tag.toWellFormed()))] }),
    ...(typeof lang === "string" && lang !== "" && { lang: lang.toWellFormed() }),
    ...(typeof trust_level === "string" && { trust: trust_level }),
  };
}

function fieldFault(issues: readonly v.BaseIssue<unknown>[], prefix: string): KebabProblem {
  const [first] = wireIssues(issues);
  const field = first?.path.replace(/^\//, "") ?? "";
  return invalidInput(
    `${prefix}${field}`.replace(/: $/, ""),
    `The request is not valid: ${prefix}${field} ${first?.message ?? ""}.`,
  );
}

const unsupported = (expected: string): KebabProblem => ({
  reason: "unsupported_media_type",
  message: `The body must be ${expected}.`,
});

async function keep({ env, config, tenant, collection }: KebabContext, documents: NewDocument[]): Promise<Response> {
  const began = Date.now();
  const answer = await collectionStub(env, tenant, collection).put(documents, embedPlanOf(config));
  if (!answer.put) return kebabProblemResponse(refusal(answer));
  const created = answer.documents.some(({ result }) => result === "new");
  return json(reportOf(collection, answer, Date.now() - began), created ? 201 : 200);
}

function refusal(answer: Extract<PutAnswer, { put: false }>): KebabProblem {
  switch (answer.refused) {
    case "too_many_chunks":
      return {
        reason: "too_many_chunks",
        message: `A document makes more than ${answer.limit} chunks.`,
        details: { doc_path: answer.path, limit: answer.limit },
      };
    case "collection_full":
      return {
        reason: "collection_limit",
        message: `The collection would have more than ${answer.limit} ${answer.what}.`,
        details: { what: answer.what, limit: answer.limit },
      };
    case "embedding_failed":
      return embeddingFailed(answer.targetId, answer.failure);
  }
}

function reportOf(
  collection: string,
  { documents }: Extract<PutAnswer, { put: true }>,
  durationMs: number,
): IngestReport {
  const counted = (kind: string): number => documents.filter(({ result }) => result === kind).length;
  return {
    schema_version: "ingest_report.v1",
    scope: { collection },
    scanned: documents.length,
    new: counted("new"),
    updated: counted("updated"),
    skipped: 0,
    unchanged: counted("unchanged"),
    errors: 0,
    duration_ms: durationMs,
    skipped_by_extension: {},
    items: documents.map(({ result, document }) => ({
      kind: result,
      doc_path: document.path,
      doc_id: document.docId,
      asset_id: null,
      byte_len: document.bytes,
      block_count: null,
      chunk_count: document.chunks,
      parser_version: document.parserVersion,
      chunker_version: document.chunkerVersion,
      error: null,
      warnings: [],
    })),
  };
}
