// Parses the JSON text of one wire event in little more memory than the text itself, or refuses it. Knows no format.
import { parseExact } from "./exact-json.ts";

/** UTF-16 units up to which a text may hold anything: as values it stays small. */
const SMALL = 65_536;
/** Objects, lists and commas of a larger text. Each becomes some dozens of bytes of memory, whatever it is on the wire. */
const MAX_MARKS = 262_144;

/** Stands for a string that is taken from the text instead of being copied out of it. */
const PLACEHOLDER = "\u0000";
const QUOTED_PLACEHOLDER = JSON.stringify(PLACEHOLDER);

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPENING_BRACKET, OPENING_BRACE] = [0x5b, 0x7b];
const SPACE = 0x20;

/** As `parseExact`, but `undefined` too for a text that would take a multiple of its size as values. */
export function parseBounded(text: string): { value: unknown } | undefined {
  if (text.length <= SMALL) return parseExact(text);
  const { crowded, longest } = survey(text);
  if (crowded) return undefined;
  return isPlain(text, longest) ? parseAround(text, longest) : parseExact(text);
}

interface Place {
  start: number;
  end: number;
}

/** `longest`: the longest string, quotes included. */
function survey(text: string): { crowded: boolean; longest: Place } {
  let marks = 0;
  let longest = { start: 0, end: 0 };
  for (let at = 0; at < text.length && marks <= MAX_MARKS;) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === OPENING_BRACE || code === OPENING_BRACKET) marks++;
    const next = code === QUOTE ? stringEnd(text, at) : at + 1;
    if (next - at > longest.end - longest.start && next <= text.length) longest = { start: at, end: next };
    at = next;
  }
  return { crowded: marks > MAX_MARKS, longest };
}

/** Whether the string is most of the text, the value of something, and written without escapes. */
function isPlain(text: string, { start, end }: Place): boolean {
  if ((end - start) * 2 < text.length || text.includes("\\u0000")) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const code = text.charCodeAt(at);
    if (code < SPACE || code === BACKSLASH) return false;
  }
  let after = end;
  while (after < text.length && text.charCodeAt(after) <= SPACE) after++;
  return text.charCodeAt(after) !== COLON;
}

/** A part of a text shares its memory, where the parser would make a second string: half of what a large event takes. */
function parseAround(text: string, { start, end }: Place): { value: unknown } | undefined {
  const long = text.slice(start + 1, end - 1);
  const parsed = parseExact(text.slice(0, start) + QUOTED_PLACEHOLDER + text.slice(end));
  return parsed === undefined ? undefined : { value: filled(parsed.value, long) };
}

/** Puts the string where its placeholder stands; there is one. */
function filled(value: unknown, long: string): unknown {
  if (value === PLACEHOLDER) return long;
  const open: unknown[] = [value];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    if (typeof holder !== "object" || holder === null) continue;
    for (const [key, inner] of Object.entries(holder)) {
      if (inner !== PLACEHOLDER) open.push(inner);
      else Object.defineProperty(holder, key, { value: long, enumerable: true, configurable: true, writable: true });
    }
  }
  return value;
}

/** Behind the closing quote; behind the text when there is none. */
export function stringEnd(text: string, quote: number): number {
  for (let at = text.indexOf('"', quote + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length + 1;
}
