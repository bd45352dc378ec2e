// What an MCP server answered to a call, made into a result. Never fails, whatever the answer holds.
import type { JsonRecord } from "../../schemas/json.ts";
import type { ToolResult } from "../../schemas/tool.ts";
import type { Hidden } from "./concealed.ts";
import { shapeOutput, toolError } from "./tool-output.ts";

/** Structured content as it is, else the first text, else `{success: true, data: null}`. `maxBytes` in UTF-8 bytes of output. */
export function mcpResult(
  { content, structuredContent, isError }: JsonRecord,
  maxBytes: number,
  hidden: Hidden,
): ToolResult {
  const text = firstText(content);
  if (isError === true) return toolError(text ?? "MCP tool error.", hidden);
  const empty = structuredContent === undefined || structuredContent === null;
  if (!empty && !(Array.isArray(structuredContent) && structuredContent.length === 0)) {
    return shapeOutput(structuredContent, maxBytes, hidden);
  }
  return shapeOutput(text, maxBytes, hidden);
}

function firstText(content: unknown): string | undefined {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  for (const block of blocks) {
    if (typeof block !== "object" || block === null || !("text" in block) || !("type" in block)) continue;
    if (block.type === "text" && typeof block.text === "string") return block.text;
  }
  return undefined;
}
