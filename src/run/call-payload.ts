// Tool calls and results as events hold them: what looks like a secret travels as JSON text, and is read back as it was. Pure.
import type { Payload } from "../../schemas/event.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { CallRecord, ToolResult } from "../../schemas/tool.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { hasSecretKey } from "./secret-keys.ts";

export function callOf({
  toolCallId,
  toolName,
  execution,
  confirmation,
  ...payload
}: Payload<"tool_call">): CallRecord {
  const input = payload.input ?? recordOf(payload.inputJson);
  const echo = payload.echoJson === undefined ? payload.echo : recordOf(payload.echoJson);
  return {
    toolCallId,
    toolName,
    input,
    execution,
    ...(confirmation !== undefined && { confirmation }),
    ...(echo !== undefined && { echo }),
  };
}

export function resultOf(payload: Payload<"tool_result">): ToolResult {
  const { outputJson, isError, renderHint, renderDataJson } = payload;
  const output = outputJson === undefined ? (payload.output ?? null) : parse(outputJson);
  const renderData = renderDataJson === undefined ? payload.renderData : recordOf(renderDataJson);
  return {
    output,
    ...(isError !== undefined && { isError }),
    ...(renderHint !== undefined && { renderHint }),
    ...(renderData !== undefined && { renderData }),
  };
}

const tooDeep = refusal("The tool's output is nested too deeply.");

/** A result's part of its event. An output that recursive code could not walk is replaced by an error. */
export function resultPayload(result: ToolResult): Omit<Payload<"tool_result">, "toolCallId" | "toolName"> {
  const { output, isError, renderHint, renderData } = result;
  if (depthOf([output, renderData], MAX_JSON_DEPTH + 1) > MAX_JSON_DEPTH + 1) return tooDeep;
  return {
    ...(hasSecretKey(output) ? { outputJson: JSON.stringify(output) } : { output: output ?? null }),
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

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

function recordOf(text = "{}"): JsonRecord {
  const value = parse(text);
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
