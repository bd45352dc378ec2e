// Cuts text that is too long for one piece, where a reader would: behind a line, a sentence, a word. Never inside of a character.
import { utf8Prefix } from "../run/utf8.ts";

export interface Stretch {
  from: number;
  /** Not included. */
  to: number;
}

const sentenceEnd = /[.!?…]["')\]]*\s|[。！？]/g;

/** Stretches without white space around them, each of at most `limit` UTF-8 bytes. `linesOnly`: of code and tables, where only lines count. */
export function* stretches(text: string, limit: number, linesOnly: boolean): Generator<Stretch> {
  for (let at = skipSpace(text, 0, linesOnly); at < text.length;) {
    const window = utf8Prefix(text.slice(at, at + limit), limit);
    const length = at + window.length >= text.length ? window.length : cutOf(window, linesOnly);
    const to = at + Math.max(length, 1);
    // What stands at the very end is the text's own: the gap behind it is the next block's.
    yield { from: at, to: to >= text.length ? text.length : trimmedEnd(text, at, to) };
    at = skipSpace(text, to, linesOnly);
  }
}

/** The suffix of at most `limit` bytes that begins with a line, a sentence or a word; `undefined` when there is none. */
export function tailStart(text: string, limit: number): number | undefined {
  let start = text.length;
  for (let bytes = 0; start > 0; start--) {
    const unit = text.charCodeAt(start - 1);
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
    if (bytes > limit) break;
  }
  if (start === 0) return 0;
  // From one unit before: what ends directly before the suffix is a place to begin, too.
  const suffix = text.slice(start - 1);
  const first = firstBehind(suffix, /[\r\n]+/g) ?? firstBehind(suffix, sentenceEnd) ?? firstBehind(suffix, /\s+/g);
  return first === undefined ? undefined : skipSpace(text, start - 1 + first, false);
}

function cutOf(window: string, linesOnly: boolean): number {
  const least = linesOnly ? 0 : window.length / 2;
  const line = Math.max(window.lastIndexOf("\n"), window.lastIndexOf("\r")) + 1;
  if (line > least) return line;
  if (linesOnly) return window.length;
  const sentence = [...window.matchAll(sentenceEnd)].at(-1);
  const behind = sentence === undefined ? 0 : sentence.index + sentence[0].length;
  if (behind > least) return behind;
  const word = /\s\S*$/.exec(window)?.index ?? 0;
  return word > least ? word : window.length;
}

function firstBehind(text: string, pattern: RegExp): number | undefined {
  for (const { index, 0: found } of text.matchAll(pattern)) {
    const behind = index + found.length;
    if (behind < text.length) return behind;
  }
  return undefined;
}

/** Of code the indent of a line is part of it. */
function skipSpace(text: string, from: number, linesOnly: boolean): number {
  let at = from;
  while (at < text.length && (linesOnly ? /[\r\n]/ : /\s/).test(text.charAt(at))) at++;
  return at;
}

function trimmedEnd(text: string, from: number, to: number): number {
  let end = to;
  while (end > from && /\s/.test(text.charAt(end - 1))) end--;
  return end;
}
