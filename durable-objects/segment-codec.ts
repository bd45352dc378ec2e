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
/** Several equal entries in a row, stored once as `type TAB payload`. */
const REPEATED = "x";

interface Item {
  kind: string;
  /** Entries it stands for. */
  count: number;
  at: number;
  text: string;
}

/** An event as the log keeps it. */
export function entryOf(event: LogEvent | OtherEvent): LogEntry {
  const { sequence, at, type } = event;
  if (event.type === "other") return { sequence, at, type: event.name, payload: JSON.stringify(event.payload) };
  if (event.type !== "content_delta" && event.type !== "reasoning_delta") {
    return { sequence, at, type, payload: JSON.stringify(event.payload) };
  }
  const { text } = event.payload;
  if (Object.keys(event.payload).length > 1) return { sequence, at, type, payload: JSON.stringify(event.payload) };
  return { sequence, at, type, payload: textPayload(text), text };
}

/**
 * Entries must have consecutive sequences, and times that never go back. The result is JSON text: format, checksum,
 * first time, kinds, time deltas, lengths in UTF-16 units, all texts in one. Lone surrogates survive as escapes.
 */
export function encodeSegment(entries: readonly LogEntry[]): string {
  const items = itemsOf(entries);
  let kinds = "";
  let times = "";
  let lengths = "";
  let last = items[0]?.at ?? 0;
  for (let index = 0; index < items.length;) {
    const { kind, count } = items[index] ?? { kind: OTHER, count: 1 };
    let run = 1;
    while (kind !== REPEATED && items[index + run]?.kind === kind) run++;
    kinds += kind + digits(kind === REPEATED ? count : run);
    index += run;
  }
  for (const { at, text } of items) {
    times += digits(at - last);
    lengths += digits(text.length);
    last = at;
  }
  const text = items.map((item) => item.text).join("");
  const columns = [items[0]?.at ?? 0, kinds, times, lengths, text] as const;
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

function itemsOf(entries: readonly LogEntry[]): Item[] {
  const items: Item[] = [];
  for (const { at, type, payload, text } of entries) {
    const kind = text === undefined ? undefined : kindOfType[type];
    const last = items.at(-1);
    const stored = kind === undefined || text === undefined ? `${type}\t${payload}` : text;
    const again = kind === undefined && last?.at === at && last.text === stored;
    if (again && (last.kind === OTHER || last.kind === REPEATED)) {
      last.kind = REPEATED;
      last.count++;
    } else items.push({ kind: kind ?? OTHER, count: 1, at, text: stored });
  }
  return items;
}

const textPayload = (text: string): string => `{"text":${JSON.stringify(text)}}`;

function entryContent(kind: string, stored: string): Pick<LogEntry, "type" | "payload" | "text"> {
  const type = typeOfKind[kind];
  if (type !== undefined) return { type, payload: textPayload(stored), text: stored };
  const tab = stored.indexOf("\t");
  return { type: stored.slice(0, tab), payload: stored.slice(tab + 1) };
}

/** A whole number in base 32, lowest digit first; all digits but the last have the sixth bit set. */
function digits(value: number): string {
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
