// What a tool sent back, made into what a model and a client are given: JSON, within the limit, with a hint for links. Reads no
// network, and never fails.
import type { JsonRecord } from "../../schemas/json.ts";
import type { ToolResult } from "../../schemas/tool.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { concealed, concealedError, type Hidden } from "./concealed.ts";
import { isRecord, textOf } from "./json-values.ts";
import { utf8Length, utf8Prefix } from "./utf8.ts";

/** Characters of an error that a tool's server words itself. */
const MAX_ERROR = 500;
const MAX_LINKS = 100;

/** `{success: false, error}`; the error is cut to 500 characters. `hidden`: for words that are a server's. */
export function toolError(error: string, hidden?: Hidden): ToolResult {
  const shown = hidden === undefined ? error : concealedError(error, hidden);
  return { output: { success: false, error: shown.slice(0, MAX_ERROR).toWellFormed() }, isError: true };
}

/** What a JSON text holds, its numbers with every digit; `undefined` when it is none. */
export type ParseJson = (text: string) => { value: unknown } | undefined;

/** Text that is JSON becomes JSON. Output of more than `maxBytes` UTF-8 bytes, as text or JSON text, is cut to text with a mark. */
export function shapeOutput(value: unknown, maxBytes: number, hidden: Hidden, parse: ParseJson): ToolResult {
  const said = typeof value === "string" ? (parse(value) ?? { value: value.toWellFormed() }).value : value;
  if (depthOf(said, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    return toolError(`The tool's output is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  }
  const parsed = concealed(said, hidden);
  const text = typeof parsed === "string" ? parsed : JSON.stringify(parsed);
  // No JSON value has no text: a server sent nothing.
  if (text === undefined) return { output: nothing };
  if (utf8Length(text) > maxBytes) return { output: cutText(text, maxBytes) };
  return { ...(typeof parsed === "string" ? { output: parsed } : heldAs(parsed, text)), ...hintOf(parsed) };
}

/** What stands for an answer that says nothing. */
const nothing = { success: true, data: null };

/** The beginning of a text, with a mark that says so, in `maxBytes` UTF-8 bytes together. */
export function cutText(text: string, maxBytes: number): string {
  const mark = `\n[cut: longer than ${maxBytes} bytes]`;
  return `${utf8Prefix(text, Math.max(0, maxBytes - utf8Length(mark)))}${mark}`;
}

/** What a server says itself about what went wrong: `{error: "..."}`, `{error: {message}}` or `{message}`. */
export function ownMessage(body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  const { error, message } = body;
  return textOf(error) ?? (isRecord(error) ? textOf(error["message"]) : undefined) ?? textOf(message);
}

/** A value without numbers that only its text can hold; with its text where it had some. */
function heldAs(value: unknown, text: string): Pick<ToolResult, "output" | "outputJson"> {
  const held: unknown = JSON.parse(text);
  return JSON.stringify(held) === text ? { output: value } : { output: held, outputJson: text };
}

/** `{links: [{label or name, url or link, icon?, kind?}]}` is shown as links. */
function hintOf(output: unknown): Pick<ToolResult, "renderHint" | "renderData"> {
  if (!isRecord(output) || !Array.isArray(output["links"])) return {};
  const links = output["links"].slice(0, MAX_LINKS).flatMap(linkOf);
  return links.length === 0 ? {} : { renderHint: "resource_links", renderData: { links } };
}

function linkOf(value: unknown): JsonRecord[] {
  if (!isRecord(value)) return [];
  const label = textOf(value["label"]) ?? textOf(value["name"]);
  const url = textOf(value["url"]) ?? textOf(value["link"]);
  if (label === undefined || url === undefined) return [];
  const [icon, kind] = [textOf(value["icon"]), textOf(value["kind"])];
  return [{ label, url, ...(icon !== undefined && { icon }), ...(kind !== undefined && { kind }) }];
}
