// The JSON values that one wire event holds: one, several glued together, or a list of them. They are parsed one at a time, so
// that what an event of many small values would become is never in memory at once. Knows no format.
import { parseBounded, stringEnd } from "./json-bounded.ts";

/** Values of one event that is not one value. Gateways glue some dozens. */
const MAX_VALUES = 4096;
const [QUOTE, COMMA] = [0x22, 0x2c];
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** `whole`: the text is one value, and no list. */
export type JsonValues = { whole: unknown } | { several: Iterable<unknown> };

/**
 * The values of a text, in their order; the elements of a list stand for it. `undefined` when some of it is no JSON, or when it is
 * more than can be read within bounds.
 */
export function jsonValues(text: string): JsonValues | undefined {
  if (!text.trimStart().startsWith("[")) {
    const parsed = parseBounded(text);
    if (parsed !== undefined) return { whole: parsed.value };
  }
  const places = placesOf(text);
  // All or nothing: what is read of an event must not depend on where a fault stands in it.
  const sound = places?.every(({ start, end }) => parseBounded(text.slice(start, end)) !== undefined);
  return places === undefined || sound !== true ? undefined : { several: valuesAt(text, places) };
}

interface Place {
  start: number;
  end: number;
}

function* valuesAt(text: string, places: readonly Place[]): Generator<unknown> {
  for (const { start, end } of places) yield parseBounded(text.slice(start, end))?.value;
}

/** Where the values stand. Commas and white space between them are passed over, not judged. */
function placesOf(text: string): Place[] | undefined {
  const places: Place[] = [];
  let inList = false;
  let lists = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (isBlank(code) || code === COMMA) at++;
    else if (code === (inList ? CLOSING_BRACKET : OPENING_BRACKET)) {
      inList = !inList;
      lists++;
      at++;
    } else {
      const end = valueEnd(text, at);
      if (end === undefined || places.length === MAX_VALUES) return undefined;
      places.push({ start: at, end });
      at = end;
    }
  }
  return inList || places.length + lists === 0 ? undefined : places;
}

/** Where the value ends that begins at `start`; `undefined` when it does not, or none begins there. */
function valueEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
      if (depth === 0) return at > text.length ? undefined : at;
      continue;
    }
    if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++;
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth--;
    else if (depth === 0) return scalarEnd(text, at);
    at++;
    if (depth <= 0) return depth === 0 ? at : undefined;
  }
  return undefined;
}

function scalarEnd(text: string, start: number): number | undefined {
  let at = start;
  while (at < text.length && /[-+.\w]/.test(text.charAt(at))) at++;
  return at === start ? undefined : at;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
