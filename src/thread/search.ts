// Which threads a search finds, and how they stand in an order. Pure.
import type { JsonRecord } from "../../schemas/json.ts";

/** Whether every key that is asked for is there with exactly this value: text, a number, true, false or null. */
export function matches(metadata: JsonRecord, wanted: JsonRecord): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
}

export const isPinned = (metadata: JsonRecord): boolean => metadata["deerflow_pinned"] === true;
