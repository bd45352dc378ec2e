// What an MCP server answered to a call, made into a result. Never fails, whatever the answer holds.
import type { JsonRecord } from "../../schemas/json.ts";
import type { ToolResult } from "../../schemas/tool.ts";
import { canonicalJson, depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import type { Hidden } from "./concealed.ts";
import { shapeOutput, toolError, type ParseJson } from "./tool-output.ts";

/** Structured content as it is (the text for it where that has digits which it may have lost), else the first text, else `{success: true, data: null}`. `maxBytes` in UTF-8 bytes of output. */
export function mcpResult(
  { content, structuredContent, isError }: JsonRecord,
  maxBytes: number,
  hidden: Hidden,
  parse: ParseJson,
): ToolResult {
  const text = firstText(content);
  if (isError === true) return toolError(text ?? "MCP tool error.", hidden);
  const empty = structuredContent === undefined || structuredContent === null;
  if (!empty && !(Array.isArray(structuredContent) && structuredContent.length === 0)) {
    if (!mayBeRounded(structuredContent)) return shapeOutput(structuredContent, maxBytes, hidden, parse);
    return saysTheSame(text, structuredContent, parse) ? shapeOutput(text, maxBytes, hidden, parse) : unheld;
  }
  return shapeOutput(text, maxBytes, hidden, parse);
}

const unheld = toolError(
  "The call was made, but its result holds a number that cannot be passed on with all its digits.",
);

/** Whether there is a number so large that it may have been another one on the wire: the client has parsed it. */
function mayBeRounded(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "number" && (Number.isInteger(next) ? !Number.isSafeInteger(next) : !Number.isFinite(next))) {
      return true;
    }
    if (typeof next === "object" && next !== null) for (const inner of Object.values(next)) open.push(inner);
  }
  return false;
}

/** A server that has structured content is to give it as text, too. */
function saysTheSame(text: string | undefined, structuredContent: unknown, parse: ParseJson): boolean {
  const said = text === undefined ? undefined : parse(text);
  if (said === undefined || depthOf([said.value, structuredContent], MAX_JSON_DEPTH) > MAX_JSON_DEPTH) return false;
  const rounded: unknown = JSON.parse(JSON.stringify(said.value));
  return canonicalJson(rounded) === canonicalJson(structuredContent);
}

function firstText(content: unknown): string | undefined {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  for (const block of blocks) {
    if (typeof block !== "object" || block === null || !("text" in block) || !("type" in block)) continue;
    if (block.type === "text" && typeof block.text === "string") return block.text;
  }
  return undefined;
}
