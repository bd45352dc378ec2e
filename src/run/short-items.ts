// The items of a chat made short: its entries, and the messages that its page shows. Pure; which calls are still to be made is the caller's to say.
import type { DisplayMessage, HistoryEntry } from "../../schemas/chat.ts";
import { parsedJson, recordOf } from "./json-values.ts";
import { SHORT_OUTPUT, shortInput, shortResult } from "./short-call.ts";
import { cutText } from "./tool-output.ts";
import { utf8Length } from "./utf8.ts";

type Part = DisplayMessage["parts"][number];
type CallEntry = NonNullable<HistoryEntry["tool_calls"]>[number];

/** UTF-8 bytes that are left of a text, where an item alone is larger than all that may be read. */
const MAX_TEXT = 1_000_000;

/** The same entry with its output, and the inputs of those calls, cut. */
export function shortEntry(entry: HistoryEntry, isMeant: (call: CallEntry) => boolean): HistoryEntry {
  const { role, content, tool_calls: calls } = entry;
  if (role === "tool") {
    return utf8Length(content) <= SHORT_OUTPUT ? entry : { ...entry, content: cutText(content, SHORT_OUTPUT) };
  }
  if (calls === undefined) return entry;
  const shorter = calls.map((call) => (isMeant(call) ? shortCallEntry(call) : call));
  return shorter.every((call, index) => call === calls[index]) ? entry : { ...entry, tool_calls: shorter };
}

function shortCallEntry(call: CallEntry): CallEntry {
  const { name, arguments: text } = call.function;
  const input = recordOf(parsedJson(text)) ?? {};
  const short = shortInput({ input, inputJson: JSON.stringify(input) === text ? undefined : text });
  return short === input ? call : { ...call, function: { name, arguments: JSON.stringify(short) } };
}

/** The same message with its outputs, and the inputs of those calls, cut. */
export function shortMessage(message: DisplayMessage, isMeant: (call: Part) => boolean): DisplayMessage {
  const parts = message.parts.map((part) => {
    const { type, input, output, renderHint: _hint, renderData, ...rest } = part;
    if (type === "tool-call") {
      const record = recordOf(input);
      const short = record === undefined || !isMeant(part) ? record : shortInput({ input: record });
      return short === record ? part : { ...part, input: short };
    }
    if (type !== "tool-result") return part;
    const data = recordOf(renderData);
    const result = { output, ...(data !== undefined && { renderData: data }) };
    const short = shortResult(result);
    return short === result ? part : { type, ...rest, output: short.output };
  });
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

/** The same entry with all that is long in it cut. */
export function shortestEntry(entry: HistoryEntry): HistoryEntry {
  const short = shortEntry(entry, () => true);
  const { content, reasoning } = short;
  return {
    ...short,
    content: shortText(content),
    ...(reasoning !== undefined && { reasoning: shortText(reasoning) }),
  };
}

/** The same message with all that is long in it cut. */
export function shortestMessage(message: DisplayMessage): DisplayMessage {
  const short = shortMessage(message, () => true);
  const { content, reasoning, parts } = short;
  return {
    ...short,
    content: shortText(content),
    parts: parts.map((part) => {
      const { text } = part;
      return typeof text === "string" ? { ...part, text: shortText(text) } : part;
    }),
    ...(reasoning !== undefined && { reasoning: shortText(reasoning) }),
  };
}

const shortText = (text: string): string => (utf8Length(text) <= MAX_TEXT ? text : cutText(text, MAX_TEXT));
