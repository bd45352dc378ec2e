// Metadata as it is shown: without the values of names that look like secrets. Pure; which names do is the caller's to say.
import type { JsonRecord } from "../../schemas/json.ts";
import { isRecord } from "../wire/json.ts";

const MARK = "***";

export function redacted(metadata: JsonRecord, isSecret: (key: string) => boolean): JsonRecord {
  const shown = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shown);
    return isRecord(value) ? redacted(value, isSecret) : value;
  };
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, isSecret(key) ? MARK : shown(value)]));
}
