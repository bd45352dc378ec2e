// Reads JSON texts that differ from an earlier one only inside a string, without decoding or parsing the rest: what a provider sends per token. Anything else is left to the parser.
import { bytePattern, standsAt, type BytePattern, type Viewed } from "./byte-pattern.ts";
import { parseJson } from "./json.ts";
import { utf8Text } from "./utf8-text.ts";

/** The string that was found, under the name of its member. */
export interface KnownValue {
  key: string;
  value: string;
}

export interface JsonTemplate {
  /**
   * What the text holds that begins at `start` and ends at `end` or before, when it is a learned one but for that; `undefined`
   * when only a parser can tell.
   */
  match(within: Viewed, start: number, end: number): KnownValue | undefined;
  /** Where the text ended that was matched last. */
  readonly matchedTo: number;
  /** Call when parsing `text` gave nothing but the value of its only member `key`, whatever has come before. */
  learn(text: string, key: string, value: string): void;
  /** A text that means what the matched one meant. */
  expand(known: KnownValue): string;
}

interface Learned {
  key: string;
  /** What stands before, between and after the strings that may differ, quotes included. */
  parts: readonly BytePattern[];
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
  /** What matched last: the next text is mostly of its kind. */
  let last: Learned | undefined;
  let matchedTo = 0;

  /** Sets `matchedTo`. */
  const matchOne = ({ parts, place }: Learned, within: Viewed, start: number, end: number): string | undefined => {
    const { bytes } = within;
    let at = start;
    let valueStart = 0;
    let valueEnd = 0;
    let escaped = false;
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index];
      if (part === undefined || !standsAt(part, within, at, end)) return undefined;
      at += part.bytes.length;
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
      valueStart = from;
      valueEnd = at;
      escaped = escapes;
    }
    if (valueStart === valueEnd) return undefined;
    const text = utf8Text(bytes, valueStart, valueEnd);
    const value = escaped ? parseJson(`"${text}"`)?.value : text;
    if (typeof value !== "string") return undefined;
    matchedTo = at;
    return value;
  };

  return {
    match(within, start, end) {
      if (last !== undefined) {
        const value = matchOne(last, within, start, end);
        if (value !== undefined) return { key: last.key, value };
      }
      for (const template of learned.values()) {
        const value = template === last ? undefined : matchOne(template, within, start, end);
        if (value === undefined) continue;
        last = template;
        return { key: template.key, value };
      }
      return undefined;
    },
    get matchedTo() {
      return matchedTo;
    },
    learn(text, key, value) {
      // Of several lines it is as one event only as long as each is marked as such.
      if (text.length > MAX_LEARNED || text.includes("\n")) return;
      const place = memberPlace(text, key);
      if (place === undefined || text.slice(place.start, place.end) !== value || value === "") return;
      const places = [place, ...ignored.flatMap((name) => memberPlace(text, name) ?? [])];
      places.sort((left, right) => left.start - right.start);
      const encoder = new TextEncoder();
      const parts = [...places, { start: text.length, end: text.length }].map((next, index) =>
        bytePattern(encoder.encode(text.slice(places[index - 1]?.end ?? 0, next.start))),
      );
      last = { key, parts, place: places.indexOf(place) };
      learned.set(key, last);
    },
    expand({ key, value }) {
      const { parts = [], place } = learned.get(key) ?? {};
      const written = JSON.stringify(value).slice(1, -1);
      return parts
        .map(({ bytes }, index) => utf8Text(bytes, 0, bytes.length) + (index === place ? written : ""))
        .join("");
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
