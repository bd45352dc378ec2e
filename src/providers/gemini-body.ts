// A Gemini body, whichever of its two framings it has, as JSON values: server-sent events or one streamed array. Never looks into a value.
import { jsonArrayReader, type JsonArrayItem } from "../wire/json-array.ts";
import { parseBounded } from "../wire/json-bounded.ts";
import { jsonValues, type JsonValues } from "../wire/json-values.ts";
import { asArray } from "../wire/json.ts";
import { sseReader, type SseItem } from "../wire/sse-reader.ts";
import type { Stage } from "../wire/stage.ts";
import { strayJson } from "../wire/stray-json.ts";

/**
 * `error`: an event that is one by its name, or an object that stands raw among the events, where only errors do.
 * `closed`: the array's end. `fault`: nothing that follows can be read.
 */
export type GeminiItem =
  | JsonValues
  | { error: unknown; named: boolean }
  | { closed: true }
  | { fault: "too large" | "not JSON" };

export interface GeminiBody extends Stage<Uint8Array, GeminiItem> {
  /** Unknown until the first byte that is no white space. */
  readonly framing: "sse" | "array" | undefined;
}

export function geminiBody(maxEvent: number): GeminiBody {
  const frames = sseReader(maxEvent, undefined, strayJson());
  const elements = jsonArrayReader(maxEvent);
  let framing: "sse" | "array" | undefined;

  return {
    feed(bytes) {
      framing ??= framingOf(bytes);
      // Before that is known both read: white space yields nothing in either, and neither holds it.
      const events = framing === "array" ? [] : frames.feed(bytes);
      const items = framing === "sse" ? [] : elements.feed(bytes);
      return [...events.flatMap(fromEvent), ...items.flatMap(fromElement)];
    },
    end() {
      if (framing === "array") return elements.end().flatMap(fromElement);
      return frames.end().flatMap(fromEvent);
    },
    get framing() {
      return framing;
    },
  };
}

function framingOf(bytes: Uint8Array): "sse" | "array" | undefined {
  const first = bytes.find((byte) => !blank.has(byte));
  if (first === undefined) return undefined;
  return first === OPENING_BRACKET ? "array" : "sse";
}

const OPENING_BRACKET = 0x5b;

/** White space, and the bytes of a byte order mark, which may come one by one. */
const blank = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

function fromEvent(item: SseItem): GeminiItem[] {
  if ("tooLarge" in item) return [{ fault: "too large" }];
  const payload = item.data.trim();
  if (item.stray === true || item.event === "error") {
    const named = item.stray !== true;
    const parsed = parseBounded(payload);
    if (parsed !== undefined) return [{ error: one(parsed.value), named }];
    if (!named || item.residue !== true) return named ? [{ error: payload, named }] : [];
  }
  // Some gateways end the stream as OpenAI does; that proves nothing here.
  if (payload === "" || payload === "[DONE]") return [];
  const values = jsonValues(payload);
  if (values !== undefined) return [values];
  // An unfinished last event is a cut, not a fault of the provider's JSON.
  return item.residue === true ? [] : [{ fault: "not JSON" }];
}

function fromElement(item: JsonArrayItem): GeminiItem[] {
  if ("closed" in item) return [item];
  if ("tooLarge" in item) return [{ fault: "too large" }];
  const values = "stray" in item ? undefined : jsonValues(item.text);
  return [values ?? { fault: "not JSON" }];
}

const one = (value: unknown): unknown => (Array.isArray(value) ? asArray(value)[0] : value);
