// Reads a body, which is always one JSON object, within its limit. Never keeps more than the limit in memory.
import { isRecord, parseJson, type JsonRecord } from "../wire/json.ts";
import { fieldProblem, found, refused, type Problem, type Result } from "./problem.ts";

/** Bytes that are read and dropped so that a client which is still sending can see the answer. */
const MAX_DRAIN_BYTES = 16 * 1024 * 1024;

/** `undefined` for an empty body. `limit` in bytes. */
export async function readJson(
  request: Request,
  limit: number,
  parse: typeof parseJson = parseJson,
): Promise<Result<JsonRecord | undefined>> {
  const body = await readJsonText(request, limit);
  if (!body.ok) return body;
  if (body.value === undefined) return found(undefined);
  const parsed = parse(body.value);
  if (parsed === undefined) return refused(fieldProblem("", "is not JSON", "json"));
  if (!isRecord(parsed.value)) return refused(fieldProblem("", "is not a JSON object", "object"));
  return found(parsed.value);
}

/** The text of a body that says that it is JSON; `undefined` for an empty one. */
export async function readJsonText(request: Request, limit: number): Promise<Result<string | undefined>> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limit) {
    // One that would not be read to its end is not begun.
    if (declared <= MAX_DRAIN_BYTES) await drain(request.body);
    return refused(tooLarge(limit));
  }
  if (request.body === null || declared === 0) return found(undefined);
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    await drain(request.body);
    return refused({
      code: "unsupported_media_type",
      message: "The body must be application/json.",
      issues: [{ path: "header:Content-Type", message: "must be application/json", keyword: "const" }],
    });
  }
  const bytes = await readBytes(request.body, limit);
  if (bytes === undefined) return refused(tooLarge(limit));
  if (bytes.byteLength === 0) return found(undefined);
  const text = utf8Text(bytes);
  return text === undefined ? refused(fieldProblem("", "is not UTF-8", "encoding")) : found(text);
}

/** Reads to the end, `atMost` so many bytes, and drops it: a client that is still sending would not see the answer. */
export async function drain(body: ReadableStream<Uint8Array> | null, atMost = MAX_DRAIN_BYTES): Promise<void> {
  if (body !== null) await readBytes(body, 0, atMost);
}

function tooLarge(limit: number): Problem {
  return {
    code: "too_large",
    message: `The body is larger than ${limit} bytes.`,
    issues: [{ path: "", message: `is larger than ${limit} bytes`, keyword: "maxBytes" }],
  };
}

/** `undefined` when it is larger than `limit`; what follows is then read and dropped, `drained` bytes in all. */
export async function readBytes(
  body: ReadableStream<Uint8Array>,
  limit: number,
  drained = MAX_DRAIN_BYTES,
): Promise<Uint8Array | undefined> {
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      size += read.value.byteLength;
      if (size <= limit) parts.push(read.value);
      else if (size > drained) break;
    }
  } finally {
    await reader.cancel();
  }
  if (size > limit) return undefined;
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}

/** `undefined` where it is not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}
