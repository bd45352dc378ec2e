// A segment of the log as text: columns instead of a record per event, so that a token costs its letters and about two more. Pure; format 1.
import type { LogEntry, LogEvent, OtherEvent } from "../schemas/event.ts";
import { asCount, parseJson } from "../src/wire/json.ts";

const FORMAT = 1;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Entries with a bare text, whose payload is exactly `{"text": ...}`: stored under one letter. */
const kindOfType: Record<string, string> = { content_delta: "d", reasoning_delta: "r" };
const typeOfKind: Record<string, string> = { d: "content_delta", r: "reasoning_delta" };
/** Any other entry: `type TAB payload`. */
const OTHER = "j";
/** UTF-16 units of a text that is looked through before it is written as JSON. */
const SHORT = 24;
/** Several equal entries in a row, stored once as `type TAB payload`. */
const REPEATED = "x";

/** An event as the log keeps it. */
export function entryOf(event: LogEvent | OtherEvent): LogEntry {
  const { sequence, at, type } = event;
  if (event.type === "other") return { sequence, at, type: event.name, payload: JSON.stringify(event.payload) };
  if (event.type !== "content_delta" && event.type !== "reasoning_delta") {
    return { sequence, at, type, payload: JSON.stringify(event.payload) };
  }
  const { text } = event.payload;
  for (const name in event.payload) {
    if (name !== "text") return { sequence, at, type, payload: JSON.stringify(event.payload) };
  }
  return { sequence, at, type, payload: textPayload(text), text };
}

/**
 * Entries must have consecutive sequences, and times that never go back. The result is JSON text: format, checksum,
 * first time, kinds, time deltas, lengths in UTF-16 units, all texts in one. Lone surrogates survive as escapes.
 */
export function encodeSegment(entries: readonly LogEntry[]): string {
  let kinds = "";
  let times = "";
  let lengths = "";
  const texts: string[] = [];
  const begin = entries[0]?.at ?? 0;
  let last = begin;
  let kind = "";
  /** Entries of this kind in a row; of `REPEATED` those that the last item stands for. */
  let count = 0;

  const endRun = (): void => {
    if (count > 0) kinds += kind + digits(count);
    count = 0;
  };
  const add = (next: string, at: number, text: string): void => {
    if (next !== kind) endRun();
    kind = next;
    count++;
    times += digits(at - last);
    lengths += digits(text.length);
    texts.push(text);
    last = at;
  };

  for (const { at, type, payload, text } of entries) {
    const bare = text === undefined ? undefined : kindOfType[type];
    if (bare !== undefined && text !== undefined) {
      if (kind === REPEATED) endRun();
      add(bare, at, text);
      continue;
    }
    const stored = `${type}\t${payload}`;
    const isAgain = at === last && stored === texts.at(-1);
    if (isAgain && kind === REPEATED) count++;
    else if (isAgain && kind === OTHER) {
      // The last one of them stands for both.
      count--;
      endRun();
      kind = REPEATED;
      count = 2;
    } else {
      if (kind === REPEATED) endRun();
      add(OTHER, at, stored);
    }
  }
  endRun();
  const columns = [begin, kinds, times, lengths, texts.join("")] as const;
  return JSON.stringify([FORMAT, checksum(columns), ...columns]);
}

/** `undefined` when the text is damaged in any way: what cannot be trusted whole is not read in part. */
export function decodeSegment(stored: string, first: number): LogEntry[] | undefined {
  const parsed = parseJson(stored)?.value;
  if (!Array.isArray(parsed)) return undefined;
  const [format, sum, ...columns]: unknown[] = parsed;
  const [begin, kinds, times, lengths, text] = columns;
  const start = asCount(begin);
  if (format !== FORMAT || start === undefined || columns.length !== 5) return undefined;
  if (typeof kinds !== "string" || typeof times !== "string") return undefined;
  if (typeof lengths !== "string" || typeof text !== "string") return undefined;
  if (sum !== checksum([start, kinds, times, lengths, text])) return undefined;
  const [deltas, sizes] = [numbers(times), numbers(lengths)];
  const entries: LogEntry[] = [];
  let at = start;
  let offset = 0;
  let item = 0;
  for (const [kind, count] of runs(kinds)) {
    const items = kind === REPEATED ? 1 : count;
    for (let index = 0; index < items; index++, item++) {
      at += deltas[item] ?? 0;
      const size = sizes[item] ?? 0;
      const content = entryContent(kind, text.slice(offset, offset + size));
      offset += size;
      const repeat = kind === REPEATED ? count : 1;
      for (let copy = 0; copy < repeat; copy++) entries.push({ sequence: first + entries.length, at, ...content });
    }
  }
  return entries;
}

const textPayload = (text: string): string =>
  isPlain(text) ? `{"text":"${text}"}` : `{"text":${JSON.stringify(text)}}`;

/** Whether a token stands in JSON as it is: most do, and to see that takes less than to write it out. */
function isPlain(text: string): boolean {
  if (text.length > SHORT) return false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit < 0xe000)) return false;
  }
  return true;
}

function entryContent(kind: string, stored: string): Pick<LogEntry, "type" | "payload" | "text"> {
  const type = typeOfKind[kind];
  if (type !== undefined) return { type, payload: textPayload(stored), text: stored };
  const tab = stored.indexOf("\t");
  return { type: stored.slice(0, tab), payload: stored.slice(tab + 1) };
}

/** A whole number in base 32, lowest digit first; all digits but the last have the sixth bit set. */
function digits(value: number): string {
  if (value < 32) return DIGITS.charAt(value);
  let rest = value;
  let text = "";
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += DIGITS.charAt(32 + (rest % 32));
  return text + DIGITS.charAt(rest);
}

function numbers(text: string): number[] {
  const values: number[] = [];
  let value = 0;
  let scale = 1;
  for (let index = 0; index < text.length; index++) {
    const digit = DIGITS.indexOf(text.charAt(index));
    value += (digit % 32) * scale;
    scale *= 32;
    if (digit >= 32) continue;
    values.push(value);
    value = 0;
    scale = 1;
  }
  return values;
}

function* runs(kinds: string): Generator<[string, number]> {
  for (const [, kind = "", count = ""] of kinds.matchAll(/([djrx])([g-z0-9_-]*[A-Za-f])/g)) {
    yield [kind, numbers(count)[0] ?? 0];
  }
}

/** FNV-1a over the UTF-16 units of all columns with a comma between: finds damage, proves nothing against intent. */
function checksum(columns: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const [index, column] of columns.entries()) {
    if (index > 0) hash = hashed(hash, ",");
    hash = hashed(hash, String(column));
  }
  return hash >>> 0;
}

function hashed(before: number, text: string): number {
  let hash = before;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash;
}
