// Makes text of a document that comes in pieces, or says why it cannot. Keeps no more of a text than it may give, and a page of HTML until it is whole.
import { firstCharacters } from "../wire/characters.ts";
import { htmlText } from "./html-text.ts";

export interface DocumentReader {
  add(bytes: Uint8Array): void;
  /** The text of the whole document, at most `limit` characters of it. */
  finish(limit: number): { ok: true; text: string } | { ok: false; error: string };
}

interface ReaderOptions {
  /** A page whose text is wanted; any other document is text as it stands. */
  html: boolean;
  /** Characters that may be asked for at the end. */
  limit: number;
  maxBytes: number;
}

export function documentReader({ html, limit, maxBytes }: ReaderOptions): DocumentReader {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  // A character takes two units at most; how much of a page is text shows only when it is read.
  const keep = html ? maxBytes : 2 * limit;
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
      if (size <= maxBytes && !binary) decode(bytes);
    },
    finish(atMost) {
      decode();
      if (size > maxBytes) return { ok: false, error: "file too large" };
      if (binary || text.startsWith("%PDF-")) return { ok: false, error: "unsupported binary file" };
      if (broken) return { ok: false, error: "file is not valid utf-8" };
      return { ok: true, text: firstCharacters(html ? htmlText(text, atMost) : text, atMost) };
    },
  };
}

export const isHtml = (filename: string, mediaType: string | undefined): boolean =>
  mediaType === "text/html" || mediaType === "application/xhtml+xml" || /\.(html?|xhtml)$/i.test(filename);
