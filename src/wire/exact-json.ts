// JSON whose numbers keep their digits. A number that JavaScript would write back as another one (9007199254740993, 1e400) stands
// in a parsed value as raw JSON, which `JSON.stringify` writes as it came. Such values are for writing only: they go into no event,
// no storage and no call between objects.
import { jsonText, parseJson } from "./json.ts";

declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string | undefined }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** As `parseJson`, but that numbers which a JavaScript number cannot hold are raw JSON. */
export function parseExact(text: string): { value: unknown } | undefined {
  const parsed = parseJson(text);
  if (parsed === undefined || !mayBeRounded(text)) return parsed;
  try {
    return { value: JSON.parse(text, keptNumber) };
  } catch {
    // Deeper than this parser goes, and than anything is that is passed on.
    return parsed;
  }
}

/** A value as programs use it. `json`: its text with every digit, where the value itself cannot hold its numbers. */
export interface HeldJson {
  value: unknown;
  json?: string;
}

/** What `parseExact` gave as a value to use. One that is nested too deeply to be written stays as it is. */
export function heldJson(value: unknown): HeldJson {
  if (typeof value !== "object" || value === null) return { value };
  const json = jsonText(value);
  if (json === undefined || !mayBeRounded(json)) return { value };
  const held = parseJson(json)?.value;
  return jsonText(held) === json ? { value } : { value: held, json };
}

/** A value to be written by `JSON.stringify`: that of the text where there is one. */
export function exactValue(json: string | undefined, value: unknown): unknown {
  return json === undefined ? value : (parseExact(json)?.value ?? null);
}

/** Whether a parsed value is a number that is kept as its text. */
export const isKeptNumber = (value: unknown): boolean =>
  typeof value === "object" && value !== null && JSON.isRawJSON(value);

function keptNumber(_key: string, value: unknown, { source }: { source?: string | undefined }): unknown {
  return typeof value === "number" && source !== undefined && isRounded(source) ? JSON.rawJSON(source) : value;
}

/** A number of at least 16 characters or with an exponent: shorter ones are held as they are. The first look costs least. */
const DIGITS = /[\d.]{16}|\d[eE]/;
const SUSPECT = /(?:^|[\s:[,])-?(?:\d[\d.]{15}|\d[\d.]{0,14}[eE])/;
const NUMBERS = /(?<![^\s:[,])-?\d[\d.eE+-]*/g;

/** Whether there may be a number that changes; what looks like one inside of a string counts, too. */
function mayBeRounded(text: string): boolean {
  if (!DIGITS.test(text) || !SUSPECT.test(text)) return false;
  for (const [number] of text.matchAll(NUMBERS)) if (isRounded(number)) return true;
  return false;
}

/** Significant digits that a number can be written with. */
const MAX_PRECISION = 100;

/** Whether a JavaScript number is another one than this text; a fraction that only has more digits of the same number is not. */
function isRounded(source: string): boolean {
  const number = Number(source);
  if (!Number.isFinite(number)) return !Number.isNaN(number);
  const said = decimalOf(source);
  const written = decimalOf(String(number));
  if (said.digits === written.digits && said.power === written.power) return false;
  if (Number.isInteger(number) || said.digits.length > MAX_PRECISION) return true;
  const longer = decimalOf(number.toPrecision(said.digits.length));
  return said.digits !== longer.digits || said.power !== longer.power;
}

const ZERO = 0x30;

/** The digits without zeros at either end, and the power of ten of the last one; the sign is never lost. */
function decimalOf(text: string): { digits: string; power: number } {
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = whole + fraction;
  let start = 0;
  while (all.charCodeAt(start) === ZERO) start++;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === ZERO) end--;
  const power = Number(exponent) - fraction.length + (all.length - end);
  return { digits: all.slice(start, end), power: start === end ? 0 : power };
}
