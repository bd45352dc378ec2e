// Reads JSON texts that differ from an earlier one only inside a string, without decoding or parsing the rest: what a provider sends per token. Anything else is left to the parser.
import { parseJson } from "./json.ts";
import { utf8Text } from "./utf8-text.ts";

/** The string that was found, under the name of its member. */
export interface KnownValue {
  key: string;
  value: string;
}

export interface JsonTemplate {
  /** What the bytes from `start` to `end` hold, when they are a learned text but for it; `undefined` when only a parser can tell. */
  match(bytes: Uint8Array, start: number, end: number): KnownValue | undefined;
  /** Call when parsing `text` gave nothing but the value of its only member `key`, whatever has come before. */
  learn(text: string, key: string, value: string): void;
  /** A text that means what the matched one meant. */
  expand(known: KnownValue): string;
}

interface Learned {
  /** What stands before, between and after the strings that may differ, quotes included. */
  parts: readonly Uint8Array[];
  /** Which of these strings is the value; the others are ignored. */
  place: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** UTF-16 units. Whatever is longer is no token. */
const MAX_LEARNED = 16_384;

/** `ignored`: names of members that nobody reads and that hold strings of any kind, such as padding. */
export function jsonTemplate(ignored: readonly string[] = []): JsonTemplate {
  const learned = new Map<string, Learned>();

  return {
    match(bytes, start, end) {
      for (const [key, template] of learned) {
        const value = matchOne(template, bytes, start, end);
        if (value !== undefined) return { key, value };
      }
      return undefined;
    },
    learn(text, key, value) {
      if (text.length > MAX_LEARNED) return;
      const place = memberPlace(text, key);
      if (place === undefined || text.slice(place.start, place.end) !== value || value === "") return;
      const places = [place, ...ignored.flatMap((name) => memberPlace(text, name) ?? [])];
      places.sort((left, right) => left.start - right.start);
      const encoder = new TextEncoder();
      const parts = [...places, { start: text.length, end: text.length }].map((next, index) =>
        encoder.encode(text.slice(places[index - 1]?.end ?? 0, next.start)),
      );
      learned.set(key, { parts, place: places.indexOf(place) });
    },
    expand({ key, value }) {
      const { parts = [], place } = learned.get(key) ?? {};
      const written = JSON.stringify(value).slice(1, -1);
      return parts.map((part, index) => utf8Text(part, 0, part.length) + (index === place ? written : "")).join("");
    },
  };
}

/** Where the string of a member stands between its quotes: only if the text names it once, and the string has no escapes. */
function memberPlace(text: string, key: string): { start: number; end: number } | undefined {
  const member = `"${key}":`;
  const at = text.indexOf(member);
  if (at === -1 || text.lastIndexOf(member) !== at) return undefined;
  let start = at + member.length;
  while (text.charCodeAt(start) === SPACE) start++;
  const end = text.indexOf('"', start + 1);
  if (text.charCodeAt(start) !== QUOTE || end === -1) return undefined;
  return text.slice(start, end).includes("\\") ? undefined : { start: start + 1, end };
}

function matchOne({ parts, place }: Learned, bytes: Uint8Array, start: number, end: number): string | undefined {
  let at = start;
  let valueStart = 0;
  let valueEnd = 0;
  let escaped = false;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    if (part === undefined || !standsAt(part, bytes, at, end)) return undefined;
    at += part.length;
    if (index === parts.length - 1) break;
    const from = at;
    let escapes = false;
    for (; at < end && bytes[at] !== QUOTE; at++) {
      const byte = bytes[at] ?? 0;
      if (byte < SPACE) return undefined;
      if (byte !== BACKSLASH) continue;
      escapes = true;
      at++;
    }
    if (index !== place && escapes) return undefined;
    if (index !== place) continue;
    [valueStart, valueEnd, escaped] = [from, at, escapes];
  }
  if (at !== end || valueStart === valueEnd) return undefined;
  const text = utf8Text(bytes, valueStart, valueEnd);
  const value = escaped ? parseJson(`"${text}"`)?.value : text;
  return typeof value === "string" ? value : undefined;
}

function standsAt(part: Uint8Array, bytes: Uint8Array, at: number, end: number): boolean {
  if (part.length > end - at) return false;
  for (let index = 0; index < part.length; index++) if (bytes[at + index] !== part[index]) return false;
  return true;
}
