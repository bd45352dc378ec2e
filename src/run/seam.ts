// The seam between what one attempt has shown and what another goes on with: where a continuation may attach, and which
// part of it repeats what is shown already. Pure; it holds text back, never loses any, and costs what comes in.
import { fenceMarks, graphemes, isGraphemeEnd } from "./text-shape.ts";

/** A continuation whose beginning may still turn out to be a repetition. */
export interface Seam {
  /** All that a model goes on from: what stood before and what is shown, but for the white space at its end. */
  readonly core: string;
  /** UTF-16 units of `core` that stood before: they are no part of what is shown. */
  readonly begun: number;
  /** The white space at the end of what is shown. */
  readonly blank: string;
  readonly json: boolean;
  /** What has come of the continuation and is not shown yet. */
  readonly held: string;
  /** Where in `core` a repetition may have begun that `held` has not refuted and not ended; `undefined` before any text. */
  readonly starts: readonly number[] | undefined;
  /** Lengths at the start of `held` that repeat the whole rest of `core`. */
  readonly repeated: readonly number[];
  /** Nothing but white space has come. */
  readonly isBlank: boolean;
  /** How much of `core` from its beginning `held` repeats after its leading white space; -1: it does not. */
  readonly anew: number;
}

export interface Joined {
  /** `undefined` once it is settled what repeats. */
  seam: Seam | undefined;
  /** Text to show now. */
  text: string;
  /** `text` is to replace what this step has shown. */
  replaces: boolean;
}

/** UTF-16 units of the shown text's end that a continuation is compared with. */
const TAIL = 4096;
/** White space that is held, in UTF-16 units. */
const BLANK = 64;
/** A repetition of so many UTF-16 units is one, whatever it is made of. */
const CERTAIN = 64;
/** The same, when it has some variety and does not go on a pattern; in code and JSON lines are often alike. */
const LIKELY = { prose: 8, code: 16, json: 10 };
/** In scripts without spaces a character says more. */
const LIKELY_UNSPACED = 4;
/** Different UTF-16 units that make a repetition varied. */
const VARIETY = 5;
/** UTF-16 units of the shown text's beginning that a continuation must repeat to count as an answer begun anew. */
const RESTART = { prose: 48, code: 48, json: 8 };

/**
 * The text a continuation may attach to: without an unfinished character (a lone surrogate, a joined emoji or a flag still
 * open), an unfinished line of a code fence, or an unfinished JSON escape.
 */
export function attachable(text: string, json: boolean): string {
  const whole = withoutOpenGrapheme(text);
  return json ? withoutOpenEscape(whole) : withoutOpenFenceLine(whole);
}

/** `begun`: the text that stood before what is shown, which a model goes on from as well. */
export function openSeam(base: string, json: boolean, begun = ""): Seam {
  const core = (begun + base).trimEnd();
  const blank = (begun + base).slice(core.length);
  return {
    core,
    begun: Math.min(begun.length, core.length),
    blank,
    json,
    held: "",
    starts: undefined,
    repeated: [],
    isBlank: true,
    anew: 0,
  };
}

/** The continuation goes on with `text`. */
export function join(seam: Seam, text: string): Joined {
  if (text === "") return { seam, text: "", replaces: false };
  const { core } = seam;
  const held = seam.held + text;
  const first = Math.max(0, core.length - TAIL);
  const begun = seam.starts ?? startsOf(first, seam);
  const starts: number[] = [];
  const repeated = [...seam.repeated];
  const from = seam.held.length;
  for (const start of begun) {
    const left = core.length - start - from;
    if (text.length < left ? core.startsWith(text, start + from) : text.startsWith(core.slice(start + from))) {
      if (text.length < left) starts.push(start);
      else repeated.push(core.length - start);
    }
  }
  const isBlank = seam.isBlank && text.trim() === "";
  const anew = goesAnew(seam, text);
  const next = { ...seam, held, starts, repeated, isBlank, anew };
  // The white space after a repetition belongs to the seam as that before any text does.
  const after = Math.min(held.length - Math.max(0, ...repeated), anew < core.length ? held.length : anew - core.length);
  const waits = after <= BLANK && held.slice(held.length - after).trim() === "";
  const mayRepeat = starts.length > 0 || waits || (!isBlank && anew >= 0 && anew < core.length);
  return mayRepeat ? { seam: next, text: "", replaces: false } : settle(next);
}

/** Nothing more will come: what is still held is text, but for the part that repeats. */
export const closeSeam = (seam: Seam): Joined => settle(seam);

/** The text of the step when all of a continuation is known. */
export function joinWhole(base: string, continuation: string, json: boolean, begun = ""): string {
  const first = join(openSeam(base, json, begun), continuation);
  const { text, replaces } = first.seam === undefined ? first : closeSeam(first.seam);
  return replaces ? text : base + text;
}

/** A repetition may begin near the end, or where what is shown does. */
function startsOf(first: number, { core, begun }: Seam): number[] {
  const near = Array.from({ length: core.length - first }, (_, index) => first + index);
  return begun > 0 && begun < first ? [begun, ...near] : near;
}

/** Compares only what is new: an answer that repeats all of a long text costs its own length. */
function goesAnew({ core, isBlank, anew }: Seam, text: string): number {
  const piece = isBlank ? text.trimStart() : text;
  const left = core.length - anew;
  if (anew < 0) return anew;
  const goes = piece.length < left ? core.startsWith(piece, anew) : left <= 0 || piece.startsWith(core.slice(anew));
  return goes ? anew + piece.length : -1;
}

function settle(seam: Seam): Joined {
  const { core, begun, json, held, repeated } = seam;
  const kind = json ? "json" : openFence(core) === undefined ? "prose" : "code";
  const overlap = Math.max(0, ...repeated.filter((length) => isRepetition(core, held, length, kind)));
  if (overlap > 0) return shown(seam, held.slice(overlap));
  const anew = held.trimStart();
  if (core !== "" && anew.startsWith(core)) return shown(seam, anew.slice(core.length));
  if (isBegunAnew(anew, core, RESTART[kind])) {
    // What stood before cannot be replaced: what differs from it, and all after that, is new.
    return { seam: undefined, text: anew.slice(sameBeginning(anew, core.slice(0, begun))), replaces: true };
  }
  if (begun > 0 && isBegunAnew(anew, core.slice(begun), RESTART.prose)) {
    return { seam: undefined, text: anew, replaces: true };
  }
  return shown(seam, withoutRepeatedFence(core, held));
}

const isBegunAnew = (anew: string, core: string, length: number): boolean =>
  core.length >= length && anew.startsWith(core.slice(0, length));

function sameBeginning(one: string, other: string): number {
  let same = 0;
  while (same < other.length && one[same] === other[same]) same++;
  return same;
}

/** A model goes on from the text without the white space at its end, and brings its own. */
function shown({ core, begun: before, blank }: Seam, text: string): Joined {
  const begun = text.slice(0, text.length - text.trimStart().length);
  if (begun.startsWith(blank)) return { seam: undefined, text: text.slice(blank.length), replaces: false };
  if (blank.includes("\n") && !begun.includes("\n")) return { seam: undefined, text, replaces: false };
  if (blank.startsWith(begun)) return { seam: undefined, text: text.slice(begun.length), replaces: false };
  return { seam: undefined, text: core.slice(before) + text, replaces: true };
}

/** Whether the first `length` UTF-16 units of the continuation, which the shown text ends with, are the same once more. */
function isRepetition(core: string, head: string, length: number, kind: keyof typeof LIKELY): boolean {
  const repeated = head.slice(0, length);
  const before = core.slice(0, core.length - length);
  if (!isGraphemeEnd(head, length) || !isGraphemeEnd(core, before.length)) return false;
  if (length >= CERTAIN) return true;
  // A pattern that was going on may as well go on.
  if (before.endsWith(repeated)) return false;
  const letters = /\p{L}{2}|\p{Lo}/u.test(repeated);
  if (length >= LIKELY[kind] && (letters || new Set(repeated).size >= VARIETY)) return true;
  if (kind !== "prose") return /(^|\n)[ \t]*$/.test(before) && /\p{L}{3}/u.test(repeated);
  if (/\p{Lo}/u.test(repeated)) return length >= LIKELY_UNSPACED;
  const wordBegins = /^\s/.test(repeated) || /(^|\s)$/.test(before.slice(-1));
  return wordBegins && /\p{L}/u.test(repeated) && (length > 2 || /^\s/.test(repeated));
}

/** A continuation inside an open fence often opens the same fence again, which would close it. */
function withoutRepeatedFence(core: string, head: string): string {
  const open = openFence(core);
  const again = /^\s*(```+|~~~+)([^\n`]*)\n/.exec(head);
  const isSame =
    open !== undefined && again !== null && again[2]?.trim() !== "" && `${again[1]}${again[2]}`.trim() === open;
  return isSame ? head.slice(again[0].length) : head;
}

/** The opening line of the code fence that is open at the end of the text, if one is. */
function openFence(text: string): string | undefined {
  let open: { line: string; mark: string } | undefined;
  for (const { line, mark, bare } of fenceMarks(text)) {
    if (open === undefined) open = { line, mark };
    else if (bare && mark.startsWith(open.mark)) open = undefined;
  }
  return open?.line;
}

function withoutOpenGrapheme(text: string): string {
  const paired = /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
  const last = graphemes(paired.slice(-64)).at(-1) ?? "";
  // A joiner promises another part of the same character, and one letter of a flag the other.
  const isOpen = last.endsWith("\u200D") || /^\p{Regional_Indicator}$/u.test(last);
  return isOpen ? paired.slice(0, paired.length - last.length) : paired;
}

function withoutOpenFenceLine(text: string): string {
  const start = text.lastIndexOf("\n") + 1;
  return /^ {0,3}(`+|~~+)[^`\n]*$/.test(text.slice(start)) ? text.slice(0, start) : text;
}

function withoutOpenEscape(text: string): string {
  const end = text.slice(-64);
  // The first half of a pair is no character yet.
  const open =
    /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?)$/.exec(end);
  return text.slice(0, text.length - (open?.[1]?.length ?? 0));
}
