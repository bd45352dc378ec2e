// One message of a Sveda request: what it says, what a model reads of it, and what a page shows. Pure.
import type { ChatImage, HistoryEntry } from "../../schemas/chat.ts";
import type { SvedaMessage } from "../../schemas/dialects/sveda.ts";
import { parseExact } from "../wire/exact-json.ts";
import { asRecord, asText, isRecord, jsonText, parseJson, type JsonRecord } from "../wire/json.ts";

export interface MessageReading {
  id: string | undefined;
  role: SvedaMessage["role"];
  /** What the message says, and the names of files that a model cannot be shown. */
  text: string;
  reasoning: string;
  images: ChatImage[];
  /** What a model reads of it: nothing, the message, or an answer in steps with the results of its calls. */
  entries: HistoryEntry[];
  /** Ids of the calls whose results it brings. */
  results: string[];
  content: string;
  parts: JsonRecord[];
}

type Call = NonNullable<HistoryEntry["tool_calls"]>[number];
type ExecutionOf = (toolName: string) => Call["execution"];

/** Clients put it before answers without reasoning. */
const FILLER = ".";
/** What a provider takes for an address. */
const MAX_IMAGE_URL = 8192;

export function readMessage(message: SvedaMessage, executionOf: ExecutionOf): MessageReading {
  const { role } = message;
  const parts = (message.parts ?? []).filter((part) => !isReasoning(part) || reasoningText(part) !== "");
  const content = contentOf(message, parts);
  const reasoning = reasoningOf(message, parts);
  const files = parts.filter(isFile).map((part) => ({ part, image: imageOf(part) }));
  const images = role === "user" ? files.flatMap(({ image }) => image ?? []) : [];
  const notes = files.flatMap(({ part, image }) => (role === "user" && image !== undefined ? [] : [nameOf(part)]));
  const text = [content, ...notes].filter((line) => line !== "").join("\n");
  const reading = { id: message.id ?? undefined, role, text, reasoning, images, content };
  const entries = entriesOf(message, parts, reading, executionOf);
  return {
    ...reading,
    entries,
    results: entries.flatMap(({ tool_call_id }) => tool_call_id ?? []),
    parts: parts.length > 0 ? parts : shownParts(reading, entries),
  };
}

function entriesOf(
  message: SvedaMessage,
  parts: readonly JsonRecord[],
  { role, text, reasoning, images }: Pick<MessageReading, "role" | "text" | "reasoning" | "images">,
  executionOf: ExecutionOf,
): HistoryEntry[] {
  switch (role) {
    case "system":
      return text === "" ? [] : [{ role, content: text }];
    case "user":
      return text === "" && images.length === 0 ? [] : [{ role, content: text, ...(images.length > 0 && { images }) }];
    case "tool":
      return toolEntries(message, parts);
    case "assistant": {
      const steps = assistantEntries(message, parts, text, executionOf);
      const [first, ...rest] = steps;
      return first === undefined || reasoning === "" ? steps : [{ ...first, reasoning }, ...rest];
    }
  }
}

/**
 * An answer as a model would have given it: where text or calls come after results, a new step begins. Only parts have an
 * order, so `content` is the first step's, unless the parts say the same.
 */
function assistantEntries(
  message: SvedaMessage,
  parts: readonly JsonRecord[],
  text: string,
  executionOf: ExecutionOf,
): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  const inParts = squeezed(textOfParts(parts)) === squeezed(text);
  const callIds = new Set<string>();
  let texts = inParts || text === "" ? [] : [text];
  let calls: Call[] = [];
  let results: HistoryEntry[] = [];
  const endStep = (): void => {
    const content = texts.join("\n");
    if (content !== "" || calls.length > 0) {
      entries.push({ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) });
    }
    entries.push(...results);
    [texts, calls, results] = [[], [], []];
  };
  const goOn = (): void => {
    if (results.length > 0) endStep();
  };
  const addCall = (call: Call | undefined): void => {
    if (call === undefined || callIds.has(call.id)) return;
    goOn();
    callIds.add(call.id);
    calls.push(call);
  };
  const targets = new Map(parts.filter(isCall).map((part) => [part["toolCallId"], part]));
  for (const listed of message.tool_calls ?? []) {
    const spoken = asRecord(listed["function"]) ?? {};
    addCall(
      callOf(
        { ...targets.get(listed["id"]), ...listed },
        listed["id"],
        spoken["name"],
        spoken["arguments"],
        executionOf,
      ),
    );
  }
  for (const part of parts) {
    if (isCall(part)) addCall(callOf(part, part["toolCallId"], part["toolName"], part["input"], executionOf));
    const said = inParts && part["type"] === "text" ? trimmed(part["text"]) : "";
    if (said !== "") {
      goOn();
      texts.push(said);
    }
    const result =
      part["type"] === "tool-result" ? resultEntry(part["toolCallId"], outputText(part["output"])) : undefined;
    if (result !== undefined) results.push(result);
  }
  endStep();
  return entries;
}

/** Clients send a result in the part alone, with empty content. */
function toolEntries(message: SvedaMessage, parts: readonly JsonRecord[]): HistoryEntry[] {
  const results = parts.filter(({ type }) => type === "tool-result");
  const [first] = results;
  const named = asText(message["tool_call_id"]) ?? asText(message["toolCallId"]);
  const content = (message.content ?? "").trim();
  if (results.length > 1 && content === "") {
    return results.flatMap((part) => resultEntry(part["toolCallId"], outputText(part["output"])) ?? []);
  }
  const output = content === "" && first !== undefined ? outputText(first["output"]) : content;
  const isError = message["is_error"] === true;
  return [resultEntry(named ?? first?.["toolCallId"], output)].flatMap((entry) =>
    entry === undefined ? [] : [{ ...entry, ...(isError && { is_error: true }) }],
  );
}

function resultEntry(toolCallId: unknown, content: string): HistoryEntry | undefined {
  const id = asText(toolCallId);
  return id === undefined ? undefined : { role: "tool", content, tool_call_id: id };
}

const outputText = (output: unknown): string =>
  typeof output === "string" ? output : output === undefined ? "" : (jsonText(output) ?? "");

/** `about` says where the call is carried out; without that its name does. Nothing for a call without id or name. */
function callOf(
  about: JsonRecord,
  toolCallId: unknown,
  toolName: unknown,
  input: unknown,
  executionOf: ExecutionOf,
): Call | undefined {
  const [id, name] = [asText(toolCallId), asText(toolName)];
  if (id === undefined || name === undefined) return undefined;
  const { target, execution, confirmation } = about;
  const said = target === "frontend" || execution === "client" ? "client" : undefined;
  const known = target === "backend" || execution === "server" ? "server" : undefined;
  return {
    id,
    function: { name, arguments: argumentsText(input) },
    execution: said ?? known ?? executionOf(name),
    ...(confirmation === "required" && { confirmation }),
  };
}

/** Always the JSON text of an object: providers take no other. */
function argumentsText(input: unknown): string {
  const value = typeof input === "string" ? parseExact(input)?.value : input;
  return (isRecord(value) ? jsonText(value) : undefined) ?? "{}";
}

const trimmed = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
const squeezed = (text: string): string => text.replaceAll(/\s+/g, "");
const isCall = ({ type }: JsonRecord): boolean => type === "tool-call";
const isReasoning = ({ type }: JsonRecord): boolean => type === "reasoning" || type === "reasoning_text";
const isFile = ({ type }: JsonRecord): boolean => type === "file" || type === "image";

function contentOf(message: SvedaMessage, parts: readonly JsonRecord[]): string {
  const content = (message.content ?? "").trim();
  return content === "" ? textOfParts(parts) : content;
}

const textOfParts = (parts: readonly JsonRecord[]): string =>
  parts
    .map(({ type, text }) => (type === "text" ? trimmed(text) : ""))
    .filter((text) => text !== "")
    .join("\n");

function reasoningText({ text }: JsonRecord): string {
  const said = trimmed(text);
  return said === FILLER ? "" : said;
}

function reasoningOf(message: SvedaMessage, parts: readonly JsonRecord[]): string {
  const own = reasoningText({ text: message["reasoning"] });
  const inParts = parts.filter(isReasoning).map(reasoningText);
  return own === "" ? inParts.filter((text) => text !== "").join("\n") : own;
}

const nameOf = ({ name }: JsonRecord): string => `[file: ${asText(name) ?? "without a name"}]`;

/** An image that a model can be shown: inside of the request, or at an address that its provider can read. */
function imageOf({ type, url: address, mediaType, name }: JsonRecord): ChatImage | undefined {
  const url = asText(address);
  if (url === undefined) return undefined;
  const inline = /^data:(image\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/i.exec(url);
  if (inline?.[1] !== undefined && inline[2] !== undefined) {
    return { data: inline[2], mediaType: inline[1].toLowerCase() };
  }
  const isImage =
    type === "image" ||
    (asText(mediaType)?.startsWith("image/") ?? /\.(png|jpe?g|gif|webp)$/i.test(asText(name) ?? url));
  return isImage && /^https?:\/\//i.test(url) && URL.canParse(url) && url.length <= MAX_IMAGE_URL ? { url } : undefined;
}

/** For a message that came without parts. */
function shownParts(
  { role, content, reasoning }: Pick<MessageReading, "role" | "content" | "reasoning">,
  entries: readonly HistoryEntry[],
): JsonRecord[] {
  const parts: JsonRecord[] = [];
  if (reasoning !== "") parts.push({ type: "reasoning", text: reasoning });
  if (content !== "" && role !== "tool") parts.push({ type: "text", text: content });
  for (const { tool_calls = [], tool_call_id, content: output } of entries) {
    for (const { id, function: call, execution, confirmation } of tool_calls) {
      parts.push({
        type: "tool-call",
        toolCallId: id,
        toolName: call.name,
        target: execution === "server" ? "backend" : "frontend",
        input: parseJson(call.arguments)?.value ?? {},
        ...(confirmation !== undefined && { confirmation }),
      });
    }
    if (tool_call_id !== undefined) {
      parts.push({
        type: "tool-result",
        toolCallId: tool_call_id,
        output: (parseJson(output) ?? { value: output }).value,
      });
    }
  }
  return parts;
}
