// A server's list of tools as a run will use them. Nothing of what a server says is trusted to be what it should: a tool that no model
// could be given is left out, and the others stay.
import type { JsonRecord } from "../../schemas/json.ts";
import { objectSchema } from "../../schemas/json-schema.ts";
import type { ServerTool, ToolMode, ToolSource } from "../../schemas/tool.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { recordOf, textOf } from "./json-values.ts";

const MAX_NAME = 64;
/** Characters. */
const MAX_DESCRIPTION = 4096;
/** Characters of a schema's JSON text. */
const MAX_SCHEMA = 65_536;
/** Milliseconds for a call. */
const TIMEOUT_MS = 30_000;

/** `source`: where the tool of this name is. `undefined` for an entry that is no usable tool. */
export function listedTool(entry: unknown, source: (toolName: string) => ToolSource): ServerTool | undefined {
  const tool = recordOf(entry);
  const toolName = textOf(tool?.["name"]);
  if (tool === undefined || toolName === undefined) return undefined;
  const parameters = schemaOf(tool["inputSchema"] ?? {});
  if (parameters === undefined) return undefined;
  const meta = recordOf(tool["_meta"]);
  const annotations = recordOf(tool["annotations"]);
  const description =
    textOf(tool["description"]) ?? textOf(tool["title"]) ?? textOf(annotations?.["title"]) ?? toolName;
  return {
    name: knownName(toolName),
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    parameters,
    domain: textOf(meta?.["domain"]) ?? "other",
    mode: modeOf(meta?.["mode"]),
    confirmation: meta?.["confirmation"] === "required" || meta?.["confirmation"] === true,
    idempotent: annotations?.["idempotentHint"] === true || annotations?.["readOnlyHint"] === true,
    timeoutMs: TIMEOUT_MS,
    source: source(toolName),
  };
}

function schemaOf(value: unknown): JsonRecord | undefined {
  if (depthOf(value, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) return undefined;
  const judged = objectSchema(value);
  if ("fault" in judged || JSON.stringify(judged.schema).length > MAX_SCHEMA) return undefined;
  return judged.schema;
}

/** The name that a model can call a tool by: 1 to 64 of `A-Z a-z 0-9 _ -`. */
const knownName = (toolName: string): string => toolName.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME);

/** A mode that is not known is as bad as the worst. */
function modeOf(value: unknown): ToolMode {
  if (value === undefined || value === "read") return "read";
  return value === "write" ? "write" : "delete";
}
