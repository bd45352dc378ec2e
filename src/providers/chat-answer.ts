// One answer in OpenAI's chat format as it grows: text, refusals, reasoning and calls of its choice, in pieces or stated whole. Knows no end.
import type { ProviderEvent } from "../../schemas/provider.ts";
import { asArray, asRecord, asText, jsonText, type JsonRecord } from "../wire/json.ts";
import { reasoningText, toolPiece } from "./openai-chunk.ts";
import { reasoningEcho } from "./reasoning-echo.ts";
import { inputPiece, type ToolCallCollector } from "./tool-calls.ts";

export interface ChatAnswer {
  /** A choice: its delta, or its message, which states all of the answer so far. */
  choice(events: ProviderEvent[], choice: JsonRecord): void;
  /** What a delta says; what a message does, where nothing was said before. */
  add(events: ProviderEvent[], said: JsonRecord): void;
  /** The whole text, where a message has stated another one than was shown. */
  readonly finalText: string | undefined;
  readonly refused: boolean;
  /** A delta has come, so that what the next one of a text alone means depends on nothing before it. */
  readonly inPieces: boolean;
  /** Pieces of calls so far, those included that show nothing. */
  readonly callPieces: number;
  /** A piece of `reasoning_content` that somebody else has read. */
  reasoned(text: string): void;
  /** What a server may want back with the answer's calls. */
  readonly echo: JsonRecord | undefined;
  /** Something can be neither shown nor passed over. */
  readonly fault: string | undefined;
}

export function chatAnswer(calls: ToolCallCollector): ChatAnswer {
  const back = reasoningEcho();
  const stated = { text: "", reasoning: "" };
  let inPieces = false;
  let refused = false;
  let finalText: string | undefined;
  let callPieces = 0;
  let namesCalls = false;
  let fault: string | undefined;

  const prose = (events: ProviderEvent[], said: JsonRecord): void => {
    const reasoning = reasoningText(said);
    if (reasoning !== undefined) events.push({ type: "reasoning", text: reasoning });
    if (!pushContent(events, said["content"])) fault = "A part of the answer is nested too deeply.";
    const refusal = asText(said["refusal"]);
    if (refusal === undefined) return;
    refused = true;
    events.push({ type: "text", text: refusal });
  };

  const callsIn = (events: ProviderEvent[], said: JsonRecord): void => {
    const pieces = asList(said["tool_calls"]);
    for (const item of pieces) events.push(...calls.add(toolPiece(item)));
    callPieces += pieces.length;
    namesCalls ||= pieces.length > 0;
    const old = asRecord(said["function_call"]);
    // Some servers mirror a call in the older field.
    if (old === undefined || namesCalls) return;
    callPieces++;
    events.push(...calls.add({ index: 0, name: asText(old["name"]), input: inputPiece(old["arguments"]) }));
  };

  const add = (events: ProviderEvent[], said: JsonRecord): void => {
    back.add(said, false);
    prose(events, said);
    callsIn(events, said);
  };

  /** What has been shown before is not shown again, but checked. */
  const message = (events: ProviderEvent[], said: JsonRecord): void => {
    back.add(said, true);
    const whole: ProviderEvent[] = [];
    prose(whole, said);
    const [reasoning, text] = [textIn(whole, "reasoning"), textIn(whole, "text")];
    if (inPieces) finalText = text === "" ? finalText : text;
    else {
      if (reasoning.startsWith(stated.reasoning)) {
        const more = reasoning.slice(stated.reasoning.length);
        stated.reasoning = reasoning;
        if (more !== "") events.push({ type: "reasoning", text: more });
      }
      if (finalText === undefined && text.startsWith(stated.text)) {
        const more = text.slice(stated.text.length);
        stated.text = text;
        if (more !== "") events.push({ type: "text", text: more });
      } else if (text !== "") finalText = text;
    }
    if (calls.size === 0) callsIn(events, said);
  };

  return {
    choice(events, choice) {
      const { delta } = choice;
      const said = asRecord(delta) ?? (asText(delta) === undefined ? undefined : { content: delta });
      const whole = said === undefined ? asRecord(choice["message"]) : undefined;
      if (said !== undefined) add(events, said);
      else if (whole !== undefined) message(events, whole);
      inPieces ||= delta !== undefined && delta !== null;
    },
    add,
    get finalText() {
      return finalText;
    },
    get refused() {
      return refused;
    },
    get inPieces() {
      return inPieces;
    },
    get callPieces() {
      return callPieces;
    },
    reasoned: back.text,
    get echo() {
      return back.echo;
    },
    get fault() {
      return fault;
    },
  };
}

const textIn = (events: readonly ProviderEvent[], kind: "text" | "reasoning"): string =>
  events.map((event) => (event.type === kind ? event.text : "")).join("");

/** A list, or the one entry that some servers send for it. */
const asList = (value: unknown): readonly unknown[] => (asRecord(value) === undefined ? asArray(value) : [value]);

/**
 * Content is a string, or typed parts (Mistral: thinking and text), or what some models make of it: a token that reads as a number
 * becomes one, JSON output an object. `false`: it cannot be written.
 */
function pushContent(events: ProviderEvent[], content: unknown): boolean {
  if (content === undefined || content === null || content === "") return true;
  const parts = Array.isArray(content) ? asArray(content) : proseTypes.has(typeOf(content)) ? [content] : undefined;
  if (parts?.length === 0 || parts?.some((part) => typeOf(part) !== undefined) === true) {
    for (const part of parts) pushPart(events, part);
    return true;
  }
  const text = typeof content === "string" ? content : jsonText(content);
  if (text !== undefined) events.push({ type: "text", text });
  return text !== undefined;
}

const proseTypes: ReadonlySet<unknown> = new Set(["text", "thinking", "refusal"]);
const typeOf = (part: unknown): string | undefined => asText(asRecord(part)?.["type"]);

function pushPart(events: ProviderEvent[], item: unknown): void {
  const part = asRecord(item);
  const text = asText(part?.["text"]);
  if (part?.["type"] === "text" && text !== undefined) events.push({ type: "text", text });
  const refusal = asText(part?.["refusal"]);
  if (refusal !== undefined) events.push({ type: "text", text: refusal });
  for (const inner of asArray(part?.["thinking"])) {
    const thought = asText(asRecord(inner)?.["text"]);
    if (thought !== undefined) events.push({ type: "reasoning", text: thought });
  }
}
