// What one server-sent event of a JSON format says: objects, a fault, or nothing. Knows no provider's fields.
import { asRecord, type JsonRecord } from "../wire/json.ts";
import { jsonValues, type JsonValues } from "../wire/json-values.ts";
import type { SseItem } from "../wire/sse-reader.ts";

/** `name`: of the `event:` line. `payload`: what was parsed; nothing where the object is one of several. */
export type SseJson = { event: JsonRecord; name: string | undefined; payload: string } | { fault: string };

/**
 * Nothing for what there is nothing to read of, as in `[DONE]`, `null` and half of a last event, which is a cut and no fault of the
 * provider's JSON. Several values, glued or in a list, are read as an event each. An event by the name of `error` is one whatever
 * it holds.
 */
export function sseJson(item: SseItem): Iterable<SseJson> {
  if ("tooLarge" in item) return [{ fault: "A wire event is larger than the limit." }];
  const { event: name, residue } = item;
  const payload = item.data.trim();
  const failing = name === "error" && residue !== true;
  if ((payload === "" || payload === "[DONE]") && !failing) return [];
  const values = jsonValues(payload);
  if (failing) return [{ event: errorIn(values, payload), name, payload }];
  if (values === undefined) return residue === true ? [] : [{ fault: "A wire event is not JSON." }];
  if ("several" in values) return objectsOf(values.several, name);
  const event = asRecord(values.whole);
  return event === undefined ? [] : [{ event, name, payload }];
}

function* objectsOf(values: Iterable<unknown>, name: string | undefined): Generator<SseJson> {
  for (const value of values) {
    const event = asRecord(value);
    if (event !== undefined) yield { event, name, payload: "" };
  }
}

/** The first value, or what stands there instead of one. */
function errorIn(values: JsonValues | undefined, payload: string): JsonRecord {
  if (values === undefined) return { error: payload };
  const [first] = "whole" in values ? [values.whole] : values.several;
  return asRecord(first) ?? { error: first };
}

const DONE = "[DONE]";

/** OpenAI's mark for the end of a stream, which some gateways glue to the last event: what stands before it. */
export function upToDone(item: SseItem): { before: SseItem; isLast: boolean } {
  const data = "data" in item ? item.data.trim() : "";
  const before = data.endsWith(DONE) ? data.slice(0, -DONE.length) : undefined;
  // Half of a last event may end in these characters by chance.
  const none = before === undefined || (before !== "" && jsonValues(before) === undefined);
  if (!("data" in item) || none) return { before: item, isLast: false };
  return { before: { ...item, data: before }, isLast: true };
}
