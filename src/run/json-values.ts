// Reading JSON whose shape is somebody else's word.
import type { JsonRecord } from "../../schemas/json.ts";

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const recordOf = (value: unknown): JsonRecord | undefined => (isRecord(value) ? value : undefined);

/** A string that is not empty; anything else is absent. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** What a text holds; `undefined` when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
