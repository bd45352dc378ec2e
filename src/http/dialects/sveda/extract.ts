// `POST /sveda/documents/extract`: the text of documents that a visitor hands over. Reads the form as it comes and keeps only text.
import type { ExtractedDocument } from "../../../../schemas/dialects/sveda-answers.ts";
import { documentReader, isHtml, type DocumentReader } from "../../../text/document-reader.ts";
import { characterCount } from "../../../wire/characters.ts";
import { formBoundary, multipartReader, type FormItem } from "../../../wire/multipart.ts";
import { drain } from "../../body.ts";
import { json, visitorStub, type SvedaContext } from "./context.ts";
import { svedaFound, svedaProblemResponse, svedaRefused, unprocessable, type SvedaResult } from "./problem.ts";
import { throttleOf, TOO_MANY_ATTEMPTS } from "./throttle.ts";
import { visitorOf, type Visitor } from "./visitor.ts";

const MAX_FILES = 5;
/** Documents of which it is said that there are too many; more of them make no form. */
const MAX_ITEMS = 100;
const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;
/** Five documents of that size, and what a form puts around them. */
const MAX_FORM_BYTES = 51 * 1024 * 1024;
/** Bytes of a refused form that are read all the same, so that its client sees why. */
const MAX_DRAIN_BYTES = 64 * 1024 * 1024;
/** Of all documents together. */
const MAX_CHARACTERS = 150_000;

export async function extractDocuments(context: SvedaContext): Promise<Response> {
  const { request } = context;
  const admitted = await admit(context);
  const items = admitted.ok ? await itemsOf(request) : admitted;
  if (items.ok) return json({ items: items.value });
  await drain(request.body, MAX_DRAIN_BYTES);
  return svedaProblemResponse(items.problem);
}

/** Reading documents is work, as a turn is, and counts as one. */
async function admit({ request, env, config }: SvedaContext): Promise<SvedaResult<Visitor>> {
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return visitor;
  const throttle = throttleOf(config.sveda.limits.stream);
  const retryAfterMs = await visitorStub(env, visitor.value).countAttempt(throttle);
  if (retryAfterMs === undefined) return visitor;
  return svedaRefused({ code: "rate_limited", message: TOO_MANY_ATTEMPTS, retryAfterMs });
}

async function itemsOf(request: Request): Promise<SvedaResult<ExtractedDocument[]>> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_FORM_BYTES) return svedaRefused(tooLarge);
  const boundary = formBoundary(request.headers.get("content-type") ?? "");
  if (boundary === undefined || request.body === null) return svedaRefused(noForm);
  const form = multipartReader(boundary);
  const documents = documentItems();
  const reader = request.body.getReader();
  let size = 0;
  let whole = false;
  const take = (items: FormItem[]): boolean => {
    whole ||= items.some(({ type }) => type === "closed");
    return documents.take(items) && !items.some(({ type }) => type === "broken");
  };
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      size += read.value.length;
      if (size > MAX_FORM_BYTES) return svedaRefused(tooLarge);
      if (!take(form.feed(read.value))) return svedaRefused(noForm);
    }
    take(form.end());
  } finally {
    reader.releaseLock();
  }
  return whole ? svedaFound(documents.items) : svedaRefused(noForm);
}

const tooLarge = {
  code: "too_large",
  message: `The documents are larger than ${MAX_FORM_BYTES} bytes.`,
} as const;
const noForm = unprocessable("The body is not a whole multipart form.");

/** Every part whose name begins with `files` is a document; `take` is false when there are far too many. */
function documentItems() {
  const items: ExtractedDocument[] = [];
  let left = MAX_CHARACTERS;
  let open: { filename: string; reader: DocumentReader } | undefined;
  const begin = (filename: string, mediaType: string | undefined): boolean => {
    if (items.length < MAX_FILES) {
      const html = isHtml(filename, mediaType);
      open = { filename, reader: documentReader({ html, limit: left, maxBytes: MAX_DOCUMENT_BYTES }) };
    } else items.push({ filename, ok: false, error: "too many files" });
    return items.length <= MAX_ITEMS;
  };
  const finish = (): void => {
    if (open === undefined) return;
    const text = open.reader.finish(left);
    if (text.ok) left -= characterCount(text.text);
    items.push({ filename: open.filename, ...text });
    open = undefined;
  };
  return {
    items,
    take(found: readonly FormItem[]): boolean {
      for (const item of found) {
        if (item.type === "bytes") open?.reader.add(item.bytes);
        if (item.type === "end") finish();
        if (item.type === "part" && item.name.startsWith("files") && !begin(item.filename ?? "file", item.mediaType)) {
          return false;
        }
      }
      return true;
    },
  };
}
