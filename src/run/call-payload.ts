// Tool calls and results as events hold them: what looks like a secret, and a number that a
// JavaScript number cannot hold, travels as JSON text, and is read back as it was. Pure.
import type { Payload } from "../../schemas/event.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { CallRecord, ToolResult } from "../../schemas/tool.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { parsedJson, recordOf } from "./json-values.ts";
import { hasSecretKey } from "./secret-keys.ts";

export function callOf({
  toolCallId,
  toolName,
  execution,
  confirmation,
  ...payload
}: Payload<"tool_call">): CallRecord {
  const { inputJson } = payload;
  const input = payload.input ?? recordIn(inputJson);
  const echo = payload.echoJson === undefined ? payload.echo : recordIn(payload.echoJson);
  return {
    toolCallId,
    toolName,
    input,
    ...(isNeeded(inputJson, input) && { inputJson }),
    execution,
    ...(confirmation !== undefined && { confirmation }),
    ...(echo !== undefined && { echo }),
  };
}

export function resultOf(payload: Payload<"tool_result">): ToolResult {
  const { outputJson, isError, renderHint, renderDataJson } = payload;
  const output = outputJson === undefined ? (payload.output ?? null) : (parsedJson(outputJson) ?? null);
  const renderData = renderDataJson === undefined ? payload.renderData : recordIn(renderDataJson);
  return {
    output,
    ...(isNeeded(outputJson, output) && { outputJson }),
    ...(isError !== undefined && { isError }),
    ...(renderHint !== undefined && { renderHint }),
    ...(renderData !== undefined && { renderData }),
  };
}

const tooDeep = refusal("The tool's output is nested too deeply.");

/** A result's part of its event. An output that recursive code could not walk is replaced by an error. */
export function resultPayload(result: ToolResult): Omit<Payload<"tool_result">, "toolCallId" | "toolName"> {
  const { output, outputJson, isError, renderHint, renderData } = result;
  if (depthOf([output, renderData], MAX_JSON_DEPTH + 1) > MAX_JSON_DEPTH + 1) return tooDeep;
  return {
    ...(outputJson !== undefined || hasSecretKey(output)
      ? { outputJson: outputJson ?? JSON.stringify(output) }
      : { output: output ?? null }),
    ...(isError === true && { isError }),
    ...(renderHint !== undefined && { renderHint }),
    ...(renderData !== undefined &&
      (hasSecretKey(renderData) ? { renderDataJson: JSON.stringify(renderData) } : { renderData })),
  };
}

/** The result of a call that did not come about, or of which nothing is known. */
export function refusal(error: string): { output: JsonRecord; isError: true } {
  return { output: { success: false, error }, isError: true };
}

/** Whether a value's text says what the value cannot hold: the digits of its numbers. */
const isNeeded = (json: string | undefined, value: unknown): boolean =>
  json !== undefined && JSON.stringify(value) !== json;

const recordIn = (text: string | undefined): JsonRecord =>
  (text === undefined ? undefined : recordOf(parsedJson(text))) ?? {};
