// The seam between what one attempt has shown and what another goes on with: where a continuation may attach, and which
// part of it repeats what is shown already. Pure; it holds text back, never loses any.

/** A continuation whose beginning may still turn out to be a repetition. */
export interface Seam {
  /** What is shown. */
  readonly base: string;
  /** What has come of the continuation and is not shown yet. */
  readonly held: string;
}

export interface Joined {
  /** `undefined` once it is settled what repeats. */
  seam: Seam | undefined;
  /** Text to show now. */
  text: string;
  /** The continuation began the answer anew, in other words: `text` is to replace what this step has shown. */
  restarts: boolean;
}

/** UTF-16 units of the shown text's end that a continuation is compared with. */
const TAIL = 512;
/** A repetition of so many UTF-16 units needs no word boundary to be one. */
const CERTAIN = 8;
/** The same in scripts without spaces, where a character says more. */
const CERTAIN_UNSPACED = 4;
/** In code and JSON lines are often alike: only a longer repetition counts. */
const CERTAIN_IN_CODE = 16;
/** UTF-16 units of the shown text's beginning that a continuation must repeat to count as an answer begun anew. */
const RESTART = 48;
const RESTART_IN_JSON = 8;

/**
 * The text a continuation may attach to: without an unfinished character (a lone surrogate, a joined emoji still open), an
 * unfinished line of a code fence, or an unfinished JSON escape.
 */
export function attachable(text: string, json: boolean): string {
  const whole = withoutOpenGrapheme(text);
  return json ? withoutOpenEscape(whole) : withoutOpenFenceLine(whole);
}

export const openSeam = (base: string): Seam => ({ base, held: "" });

/** The continuation goes on with `text`. */
export function join({ base, held }: Seam, text: string): Joined {
  const head = held + text;
  const tail = base.slice(-TAIL);
  // It may still be the beginning of something that stands in the shown text, and end with it.
  const mayRepeat = head === "" || tail.includes(head) || isBlank(head);
  if (mayRepeat || base.startsWith(head)) return { seam: { base, held: head }, text: "", restarts: false };
  return settle(base, head);
}

/** Nothing more will come: what is still held is text, but for the part that repeats. */
export function closeSeam({ base, held }: Seam): Joined {
  return settle(base, held);
}

function settle(base: string, head: string): Joined {
  const done = (text: string, restarts = false): Joined => ({ seam: undefined, text, restarts });
  const overlap = overlapOf(base, head);
  if (overlap > 0) return done(head.slice(overlap));
  if (head.startsWith(base)) return done(head.slice(base.length));
  const begun = isJson(base) ? RESTART_IN_JSON : RESTART;
  if (base.length >= begun && head.startsWith(base.slice(0, begun))) return done(head, true);
  return done(withoutRepeatedSpace(base, withoutRepeatedFence(base, head)));
}

/** UTF-16 units at the start of `head` that the end of `base` already shows. */
function overlapOf(base: string, head: string): number {
  const tail = base.slice(-TAIL);
  const inCode = openFence(base) !== undefined || isJson(base);
  for (let length = Math.min(tail.length, head.length); length > 2; length--) {
    if (!tail.endsWith(head.slice(0, length))) continue;
    if (isRepetition(base, head, length, inCode)) return length;
  }
  return 0;
}

function isRepetition(base: string, head: string, length: number, inCode: boolean): boolean {
  const repeated = head.slice(0, length);
  if (!/\p{L}{2}|\p{Lo}/u.test(repeated)) return false;
  if (!isGraphemeEnd(head, length) || !isGraphemeEnd(base, base.length - length)) return false;
  if (inCode) return length >= CERTAIN_IN_CODE;
  const certain = /\p{Lo}/u.test(repeated) ? CERTAIN_UNSPACED : CERTAIN;
  return length >= certain || /^\s/.test(repeated) || /(^|\s)$/.test(base.slice(0, base.length - length));
}

/** What joins at a seam already has its white space. */
function withoutRepeatedSpace(base: string, head: string): string {
  const shown = /\s*$/.exec(base)?.[0] ?? "";
  const begun = /^\s*/.exec(head)?.[0] ?? "";
  return shown !== "" && begun !== "" && shown.endsWith(begun) ? head.slice(begun.length) : head;
}

/** A continuation inside an open fence often opens the same fence again, which would close it. */
function withoutRepeatedFence(base: string, head: string): string {
  const open = openFence(base);
  const again = /^\s*(```+|~~~+)([^\n`]*)\n/.exec(head);
  const isSame =
    open !== undefined && again !== null && again[2]?.trim() !== "" && `${again[1]}${again[2]}`.trim() === open;
  return isSame ? head.slice(again[0].length) : head;
}

/** The opening line of the code fence that is open at the end of the text, if one is. */
function openFence(text: string): string | undefined {
  let open: string | undefined;
  for (const [line] of text.matchAll(/^ {0,3}(?:```+|~~~+)[^\n]*$/gm)) {
    const mark = line.trim();
    if (open === undefined) open = mark;
    else if (mark.replace(/[`~]+/, "") === "" && mark[0] === open[0]) open = undefined;
  }
  return open;
}

function withoutOpenGrapheme(text: string): string {
  const paired = /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
  // A joiner promises another part of the same character.
  if (!paired.endsWith("\u200D")) return paired;
  return paired.slice(0, paired.length - (graphemes(paired.slice(-64)).at(-1)?.length ?? 0));
}

function withoutOpenFenceLine(text: string): string {
  const start = text.lastIndexOf("\n") + 1;
  return /^ {0,3}(`+|~~+)[^`\n]*$/.test(text.slice(start)) ? text.slice(0, start) : text;
}

function withoutOpenEscape(text: string): string {
  return text.replace(/(?<!\\)((?:\\\\)*)\\(u[0-9a-fA-F]{0,3})?$/, "$1");
}

const graphemes = (text: string): string[] =>
  [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map(({ segment }) => segment);

function isGraphemeEnd(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true;
  const start = Math.max(0, at - 64);
  let end = start;
  for (const segment of graphemes(text.slice(start, at + 64))) {
    if (end >= at) break;
    end += segment.length;
  }
  return end === at;
}

const isJson = (text: string): boolean => /^\s*[[{]/.test(text);

const isBlank = (text: string): boolean => text.trim() === "";
