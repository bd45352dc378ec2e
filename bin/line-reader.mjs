// The lines of an answer as they come, each with what it says. What is no JSON object is left out, blanks between lines too.
import { fieldsOf } from "./failure.mjs";

/** @typedef {{ text: string, fields: Record<string, unknown> }} Line */

/** UTF-16 units. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Ends with the answer, whole or not: what ended it is for the caller to see from the last line. Throws when it broke.
 * @param {AsyncIterable<Uint8Array>} bytes
 * @returns {AsyncGenerator<Line, void>}
 */
export async function* linesOf(bytes) {
  const decoder = new TextDecoder();
  /** @type {string[]} */
  let parts = [];
  let length = 0;
  for await (const part of bytes) {
    const pieces = decoder.decode(part, { stream: true }).split("\n");
    const rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      const line = lineOf([...parts, piece].join(""));
      parts = [];
      length = 0;
      if (line !== undefined) yield line;
    }
    length += rest.length;
    if (length > MAX_LINE) throw new Error("a line is too long");
    if (rest.trim() !== "" || length > rest.length) parts.push(rest);
  }
}

/**
 * @param {string} raw
 * @returns {Line | undefined}
 */
export function lineOf(raw) {
  const text = raw.trim();
  if (!text.startsWith("{")) return undefined;
  try {
    return { text, fields: fieldsOf(JSON.parse(text)) };
  } catch {
    return undefined;
  }
}
