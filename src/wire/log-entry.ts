// Log entries read back: an entry as the event it was, and the values that travel as JSON text because of a secret-looking key or a number of too many digits. Never changes one.
import * as v from "valibot";
import { logEventSchema, type LogEntry, type LogEvent, type Payload } from "../../schemas/event.ts";
import { exactValue } from "./exact-json.ts";
import { asArray, asRecord, parseJson, type JsonRecord } from "./json.ts";

/**
 * `undefined` for an entry of a type that this version does not know. The event itself goes on, not valibot's copy: the copy
 * lacks a tool's keys named `constructor` and `prototype`.
 */
export function eventOf({ sequence, at, type, payload, text }: LogEntry): LogEvent | undefined {
  if (text !== undefined && (type === "content_delta" || type === "reasoning_delta")) {
    return { sequence, at, type, payload: { text } };
  }
  const event: unknown = { sequence, at, type, payload: parseJson(payload)?.value };
  return v.is(logEventSchema, event) ? event : undefined;
}

export const inputOf = ({ input, inputJson }: Payload<"tool_call">): JsonRecord => input ?? recordIn(inputJson) ?? {};

/** As `inputOf`, its numbers with every digit: to be written by `JSON.stringify`, and for nothing else. */
export const exactInputOf = ({ input, inputJson }: Payload<"tool_call">): JsonRecord =>
  asRecord(exactValue(inputJson, input)) ?? {};

/** The output, its numbers with every digit: to be written by `JSON.stringify`, and for nothing else. */
export const exactOutputOf = ({ output, outputJson }: Payload<"tool_result">): unknown =>
  exactValue(outputJson, output) ?? null;

export const renderDataOf = ({ renderData, renderDataJson }: Payload<"tool_result">): JsonRecord | undefined =>
  renderData ?? recordIn(renderDataJson);

/** What was found, whatever it looks like. */
export const hitsOf = ({ hits, hitsJson }: Payload<"retrieval">): readonly unknown[] =>
  hits ?? asArray(hitsJson === undefined ? undefined : parseJson(hitsJson)?.value);

function recordIn(json: string | undefined): JsonRecord | undefined {
  return json === undefined ? undefined : asRecord(parseJson(json)?.value);
}
