// Makes text of a document that comes in pieces, or says why it cannot. Keeps no more of a document than it may give.
import { convert } from "html-to-text";
import { firstCharacters } from "../../../wire/characters.ts";

const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;
/** UTF-16 units of HTML that are looked at: its tree takes many times its length. */
const MAX_HTML = 1_000_000;
const MAX_HTML_DEPTH = 256;

export interface DocumentReader {
  add(bytes: Uint8Array): void;
  /** The text of the whole document, at most `limit` characters of it. */
  finish(limit: number): { ok: true; text: string } | { ok: false; error: string };
}

/** `limit`: characters that may be asked for at the end. */
export function documentReader(html: boolean, limit: number): DocumentReader {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  // A character takes two units at most.
  const keep = html ? MAX_HTML : 2 * limit;
  let size = 0;
  let text = "";
  let binary = false;
  let broken = false;

  const decode = (bytes?: Uint8Array): void => {
    if (broken) return;
    try {
      const piece = bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
      if (text.length < keep) text += piece.slice(0, keep - text.length);
    } catch {
      broken = true;
    }
  };

  return {
    add(bytes) {
      size += bytes.length;
      binary ||= bytes.includes(0);
      if (size <= MAX_DOCUMENT_BYTES && !binary) decode(bytes);
    },
    finish(atMost) {
      decode();
      if (size > MAX_DOCUMENT_BYTES) return { ok: false, error: "file too large" };
      if (binary || text.startsWith("%PDF-")) return { ok: false, error: "unsupported binary file" };
      if (broken) return { ok: false, error: "file is not valid utf-8" };
      return { ok: true, text: firstCharacters(html ? plainText(text) : text, atMost) };
    },
  };
}

export const isHtml = (filename: string, mediaType: string | undefined): boolean =>
  mediaType === "text/html" || mediaType === "application/xhtml+xml" || /\.(html?|xhtml)$/i.test(filename);

function plainText(html: string): string {
  return convert(html, {
    wordwrap: false,
    limits: { maxDepth: MAX_HTML_DEPTH },
    selectors: [
      { selector: "img", format: "skip" },
      { selector: "a", options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
      ...["h1", "h2", "h3", "h4", "h5", "h6", "table"].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
  });
}
