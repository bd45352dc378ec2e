// Bytes to server-sent events, by the WHATWG rules, with the residue of an unfinished last event kept. Never parses data. What is passed over, comments above all, is never decoded.
import { byteLines } from "./byte-lines.ts";
import { bytePattern, standsAt, viewed, type BytePattern } from "./byte-pattern.ts";
import type { JsonTemplate, KnownValue } from "./json-template.ts";
import type { Stage } from "./stage.ts";
import type { StrayJson } from "./stray-json.ts";
import { utf8Text } from "./utf8-text.ts";

export interface SseFrame {
  data: string;
  /** Absent when the event had no `event:` line. */
  event?: string;
  id?: string;
  /** No blank line dispatched this event: the body ended, or a stray value broke in. */
  residue?: true;
  /** `data` is a JSON value that stood on lines of its own, without `data:`. */
  stray?: true;
}

/** `tooLarge`: a line or an event passed the limit; nothing follows. */
export type SseItem = SseFrame | { tooLarge: true };

/** Stands for an event whose data a template has read: of such an event only the value becomes a string. */
export type KnownFrame = KnownValue;

/** How an event is written that the template knows: the next one mostly is, too. */
interface Around {
  /** What stands before its data, and how much of that on the same line. */
  head: BytePattern;
  lead: number;
  /** What stands after its data, up to the next event. */
  tail: BytePattern;
}

export interface KnownEvents {
  template: JsonTemplate;
  /** The name that these events have; `undefined` for events without one. */
  event: string | undefined;
}

/** Content types lie; the first character does not. JSON and HTML are never a stream of events. */
export const startsLikeSse = (character: string): boolean => !"<{[".includes(character);

const [DATA, EVENT, ID, ERROR] = [fieldName("data"), fieldName("event"), fieldName("id"), fieldName("error")];
const LF = 10;
const COLON = 58;
const SPACE = 32;
const BRACE = 123;

/**
 * A comment or an ignored field is liveness only: it yields nothing. `maxEvent` is in bytes of data. With `stray`, a JSON value
 * that breaks off the events is seen; the standard passes it over.
 */
export function sseReader(maxEvent: number, events?: undefined, stray?: StrayJson): Stage<Uint8Array, SseItem>;
export function sseReader(maxEvent: number, events: KnownEvents): Stage<Uint8Array, SseItem | KnownFrame>;
export function sseReader(
  maxEvent: number,
  events?: KnownEvents,
  stray?: StrayJson,
): Stage<Uint8Array, SseItem | KnownFrame> {
  let items: (SseItem | KnownFrame)[] = [];
  /** The data line, or all of them when there are several. */
  let data: string | string[] | undefined;
  /** Stands for the only data line so far. */
  let known: KnownValue | undefined;
  let size = 0;
  let event: string | undefined;
  let id: string | undefined;
  let dead = false;
  let around: Around | undefined;
  /** Where in this packet the event begins, and its data: as long as both do. */
  let begun: { bytes: Uint8Array; at: number } | undefined;
  let place: { line: number; start: number; end: number } | undefined;

  const die = (): void => {
    dead = true;
    items.push({ tooLarge: true });
  };

  const dispatch = (residue: boolean): void => {
    if (known !== undefined && event === events?.event && !residue) items.push(known);
    else if (known !== undefined || data !== undefined) {
      const text = known === undefined ? data : events?.template.expand(known);
      items.push({
        data: Array.isArray(text) ? text.join("\n") : (text ?? ""),
        ...(event !== undefined && { event }),
        ...(id !== undefined && { id }),
        ...(residue && { residue: true as const }),
      });
    }
    data = undefined;
    known = undefined;
    size = 0;
    event = undefined;
    id = undefined;
    begun = undefined;
    place = undefined;
  };

  /** Nothing has come of the next event. */
  const isClean = (): boolean =>
    data === undefined && known === undefined && event === undefined && id === undefined && !dead;

  /** `at`: of the blank line that ends an event. */
  const learn = (bytes: Uint8Array, at: number): void => {
    if (place === undefined || begun?.bytes !== bytes || event !== events?.event || id !== undefined) return;
    const end = bytes[at] === LF ? at + 1 : bytes[at + 1] === LF ? at + 2 : undefined;
    if (end === undefined) return;
    const { line: from, start, end: to } = place;
    around = {
      head: bytePattern(bytes.slice(begun.at, start)),
      lead: start - from,
      tail: bytePattern(bytes.slice(to, end)),
    };
  };

  /** Reads the events that are written as the last known one was, without looking for their lines. */
  const readAhead = ({ template }: KnownEvents, bytes: Uint8Array, start: number): number => {
    if (around === undefined || !isClean()) return start;
    const { head, lead, tail } = around;
    const within = viewed(bytes);
    let at = start;
    while (standsAt(head, within, at, bytes.length)) {
      const from = at + head.bytes.length;
      const value = template.match(within, from, Math.min(bytes.length, from - lead + maxEvent));
      if (value === undefined || !standsAt(tail, within, template.matchedTo, bytes.length)) break;
      items.push(value);
      at = template.matchedTo + tail.bytes.length;
    }
    return at;
  };

  const matched = (bytes: Uint8Array, start: number, end: number): KnownValue | undefined => {
    const value = events?.template.match(viewed(bytes), start, end);
    return events?.template.matchedTo === end ? value : undefined;
  };

  const addData = (bytes: Uint8Array, start: number, end: number): void => {
    stray?.reset();
    // The joining line feed counts too: else a flood of empty lines would have no limit.
    size += end - start + (data === undefined && known === undefined ? 0 : 1);
    if (size > maxEvent) return die();
    if (known !== undefined) {
      data = events?.template.expand(known);
      known = undefined;
    }
    place = undefined;
    if (data === undefined) {
      known = matched(bytes, start, end);
      if (known === undefined) data = utf8Text(bytes, start, end);
    } else {
      if (typeof data === "string") data = [data];
      data.push(utf8Text(bytes, start, end));
    }
  };

  const addStray = (values: StrayJson, text: string): void => {
    const value = values.add(text);
    if (values.size > maxEvent) return die();
    if (value === undefined) return;
    // The event before it was broken off.
    dispatch(true);
    items.push({ data: value, stray: true });
  };

  const line = (bytes: Uint8Array, start: number, end: number): void => {
    if (dead) return;
    if (start === end) {
      learn(bytes, end);
      return dispatch(false);
    }
    if (events !== undefined && isClean()) begun = { bytes, at: start };
    if (isField(DATA, bytes, start, end)) {
      const value = valueStart(DATA, bytes, start, end);
      addData(bytes, value, end);
      if (known !== undefined) place = { line: start, start: value, end };
    } else if (isField(EVENT, bytes, start, end)) event = utf8Text(bytes, valueStart(EVENT, bytes, start, end), end);
    else if (isField(ID, bytes, start, end)) {
      const value = utf8Text(bytes, valueStart(ID, bytes, start, end), end);
      if (!value.includes("\0")) id = value;
    } else if (isField(ERROR, bytes, start, end)) {
      // Old builds of the llama.cpp server write an error into a field of its own.
      const value = valueStart(ERROR, bytes, start, end);
      if (value === end || bytes[value] !== BRACE) return;
      event = "error";
      addData(bytes, value, end);
    } else if (stray !== undefined && bytes[start] !== COLON) addStray(stray, utf8Text(bytes, start, end));
  };

  /** Keeps nothing of what it hands on. */
  const taken = (): (SseItem | KnownFrame)[] => {
    const gathered = items;
    items = [];
    return gathered;
  };

  const lines = byteLines(
    maxEvent,
    line,
    events === undefined ? undefined : (bytes, start) => readAhead(events, bytes, start),
  );

  return {
    feed(bytes) {
      if (!dead && lines.feed(bytes) === "tooLong" && !dead) die();
      begun = undefined;
      return taken();
    },
    end() {
      if (!dead) lines.rest(line);
      if (!dead) dispatch(true);
      return taken();
    },
  };
}

function fieldName(name: string): Uint8Array {
  return new TextEncoder().encode(name);
}

/** A field is its name, alone or before a colon. */
function isField(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const after = start + name.length;
  if (after > end || (after < end && bytes[after] !== COLON)) return false;
  for (let index = 0; index < name.length; index++) if (bytes[start + index] !== name[index]) return false;
  return true;
}

/** Behind the colon and one space. */
function valueStart(name: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  const value = Math.min(start + name.length + 1, end);
  return bytes[value] === SPACE && value < end ? value + 1 : value;
}
