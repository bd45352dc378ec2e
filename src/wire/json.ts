// Reading unknown JSON by hand, for hot paths where a schema per event would cost more than the event.

import type { JsonRecord } from "../../schemas/json.ts";

export type { JsonRecord };

export function asRecord(value: unknown): JsonRecord | undefined {
  return isRecord(value) ? value : undefined;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string that is not empty; anything else is absent. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A whole number of at least 0; anything else is absent. */
export function asCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** `undefined` when `text` is not JSON. `null` is a value. */
export function parseJson(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch {
    return undefined;
  }
}

/** `undefined` when a parsed value is nested too deeply to be written: the parser goes deeper than the writer. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Long enough for any model's name. */
const MAX_NAME = 256;

/** A name, cut to 256 UTF-16 units: it is repeated in events and outcomes. */
export const asName = (value: unknown): string | undefined => asText(value)?.slice(0, MAX_NAME);
