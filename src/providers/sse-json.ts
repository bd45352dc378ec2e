// What one server-sent event of a JSON format says: an object, a fault, or nothing. Knows no provider's fields.
import { asRecord, parseJson, type JsonRecord } from "../wire/json.ts";
import type { SseItem } from "../wire/sse-reader.ts";

/** `name`: of the `event:` line. `payload`: what was parsed. */
export type SseJson = { event: JsonRecord; name: string | undefined; payload: string } | { fault: string };

/**
 * `undefined`: nothing to read, as in `[DONE]`, `null` and half of a last event, which is a cut and no fault of the
 * provider's JSON. An event by the name of `error` is one whatever it holds.
 */
export function sseJson(item: SseItem): SseJson | undefined {
  if ("tooLarge" in item) return { fault: "A wire event is larger than the limit." };
  const { event: name, residue } = item;
  const payload = item.data.trim();
  const failing = name === "error" && residue !== true;
  if ((payload === "" || payload === "[DONE]") && !failing) return undefined;
  const parsed = parseJson(payload);
  const event =
    asRecord(parsed?.value) ?? (failing ? { error: parsed === undefined ? payload : parsed.value } : undefined);
  if (event !== undefined) return { event, name, payload };
  return parsed === undefined && residue !== true ? { fault: "A wire event is not JSON." } : undefined;
}
