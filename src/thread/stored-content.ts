// What is kept of a record's content: all of it, but for evidence that nobody needs whole. Pure.
import type { RecordDraft } from "../../schemas/thread.ts";

/** UTF-8 bytes that are kept of the content of a `trace` record; of a content that is no text its JSON counts. */
const MAX_TRACE_BYTES = 10_240;

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** The draft as it is kept: `metadata` says what was cut off. */
export function cutTrace(draft: RecordDraft): RecordDraft {
  if (draft.category !== "trace") return draft;
  const text = typeof draft.content === "string" ? draft.content : JSON.stringify(draft.content ?? null);
  // A unit is at least one byte, and at most three.
  if (text.length * 3 <= MAX_TRACE_BYTES) return draft;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= MAX_TRACE_BYTES) return draft;
  return {
    ...draft,
    content: wholeCharacters(bytes, MAX_TRACE_BYTES),
    metadata: { ...draft.metadata, content_truncated: true, original_byte_length: bytes.length },
  };
}

/** The text of the first `limit` bytes, without a character that is cut. */
function wholeCharacters(bytes: Uint8Array, limit: number): string {
  let end = limit;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return decoder.decode(bytes.subarray(0, end));
}
