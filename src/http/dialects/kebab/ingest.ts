// Documents that come in: one as it stands, or many as lines of JSON. All of a request's documents are kept, or none.
import * as v from "valibot";
import type { DocumentWords, NewDocument } from "../../../../schemas/collection.ts";
import { batchEntrySchema, documentWordsSchema } from "../../../../schemas/dialects/kebab-documents.ts";
import { reportOf } from "../../../kebab/ingest-report.ts";
import { MAX_DOCUMENT_BYTES, MAX_DOCUMENTS } from "../../../kebab/limits.ts";
import { collectionFull, putRefusal } from "../../../kebab/put-refusal.ts";
import { documentReader } from "../../../text/document-reader.ts";
import { parseJson } from "../../../wire/json.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { wireIssues } from "../../../run/issues.ts";
import { drain, readBytes } from "../../body.ts";
import { collectionStub, json, type KebabContext } from "./context.ts";
import { documentMedia, mediaByPath, newDocument, textFault } from "./new-document.ts";
import { ingestAsRun, wantsRun } from "./ingest-run.ts";
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
  const source = content.toWellFormed().replace(/^\ufeff/, "");
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

async function keep(context: KebabContext, documents: NewDocument[]): Promise<Response> {
  if (documents.length > MAX_DOCUMENTS) return kebabProblemResponse(collectionFull("documents", MAX_DOCUMENTS));
  if (wantsRun(context.request)) return ingestAsRun(context, documents);
  const { env, config, tenant, collection } = context;
  const began = Date.now();
  const answer = await collectionStub(env, tenant, collection).put(documents, embedPlanOf(config));
  if (!answer.put) {
    const isModels = answer.refused === "embedding_failed";
    return kebabProblemResponse(isModels ? embeddingFailed(answer.targetId, answer.failure) : putRefusal(answer));
  }
  const created = answer.documents.some(({ result }) => result === "new");
  return json(reportOf(collection, answer.documents, Date.now() - began), created ? 201 : 200);
}
