// A thread's state as the messages that a provider is sent. Pure.
import type { JsonRecord } from "../../schemas/json.ts";
import type { Message } from "../../schemas/run.ts";
import type { LangMessage } from "../../schemas/thread.ts";
import { asRecord, isRecord, jsonText } from "../wire/json.ts";

type Content = Extract<Message, { role: "user" }>["content"];
type Part = Exclude<Content, string>[number];
type Call = NonNullable<Extract<Message, { role: "assistant" }>["toolCalls"]>[number];
type Result = Extract<Message, { role: "tool" }>;

/** What a model reads of a call that nobody has answered. */
const NOT_CARRIED_OUT = "The call was not carried out.";
/** Of an address in a request's message. Longer ones are in no message that a provider takes. */
const MAX_ADDRESS = 8192;

/**
 * What a model reads of these messages. Each result stands directly after the message of its call, in the order of the calls;
 * one without a call is left out. A call without a result gets an error as its result, unless `isOpen`: its result comes before
 * the model is asked.
 */
export function modelMessages(state: readonly LangMessage[], isOpen: (message: LangMessage) => boolean): Message[] {
  const results = resultsOf(state);
  return state.flatMap((message): Message[] => {
    const { type } = message;
    const content = contentOf(message["content"]);
    const calls = callsOf(message);
    if (calls.length > 0) {
      const found = results.get(message);
      const unanswered = isOpen(message) ? undefined : NOT_CARRIED_OUT;
      return [
        { role: "assistant", ...(content.length > 0 && { content }), toolCalls: calls },
        ...calls.flatMap(({ toolCallId }): Message[] => {
          const result = found?.get(toolCallId);
          if (result !== undefined) return [result];
          return unanswered === undefined ? [] : [{ role: "tool", toolCallId, output: unanswered, isError: true }];
        }),
      ];
    }
    if (content.length === 0) return [];
    if (type === "system") return [{ role: "system", content }];
    if (type === "human") return [{ role: "user", content }];
    return type === "ai" ? [{ role: "assistant", content }] : [];
  });
}

/** The ids of all calls in these messages. */
export const callIdsOf = (state: readonly LangMessage[]): string[] =>
  state.flatMap((message) => callsOf(message).map(({ toolCallId }) => toolCallId));

/** By the message of the calls: the first result after it that names the call, before another message has a call of that id. */
function resultsOf(state: readonly LangMessage[]): ReadonlyMap<LangMessage, ReadonlyMap<string, Result>> {
  const found = new Map<LangMessage, Map<string, Result>>();
  const next = new Map<string, Result>();
  for (const message of state.toReversed()) {
    const toolCallId = message["tool_call_id"];
    if (message.type === "tool" && typeof toolCallId === "string") next.set(toolCallId, resultOf(toolCallId, message));
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const answers = new Map<string, Result>();
    for (const call of calls) {
      const result = next.get(call.toolCallId);
      if (result !== undefined) answers.set(call.toolCallId, result);
      next.delete(call.toolCallId);
    }
    found.set(message, answers);
  }
  return found;
}

function resultOf(toolCallId: string, message: LangMessage): Result {
  const { content, status } = message;
  const output = typeof content === "string" ? content : textOf(content);
  return { role: "tool", toolCallId, output, ...(status === "error" && { isError: true }) };
}

/** What is no text of a result stands in it as its JSON. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return content === undefined || content === null ? "" : (jsonText(content) ?? "");
  return content.map((block: unknown) => plainText(block) ?? jsonText(block) ?? "").join("\n");
}

/** Calls without an id or a name are none, and a message's second call of one id is not. */
function callsOf({ type, tool_calls: list }: LangMessage): Call[] {
  if (type !== "ai" || !Array.isArray(list)) return [];
  const calls = new Map<string, Call>();
  for (const call of list.filter(isRecord)) {
    const { id, name, args, args_json: inputJson } = call;
    if (typeof id !== "string" || typeof name !== "string" || id === "" || name === "" || calls.has(id)) continue;
    calls.set(id, {
      toolCallId: id,
      toolName: name,
      input: asRecord(args) ?? {},
      ...(typeof inputJson === "string" && { inputJson }),
    });
  }
  return [...calls.values()];
}

/** Plain text when there is nothing else in it. Blocks that are neither text nor an image are for no model. */
function contentOf(content: unknown): Content {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const parts = content.flatMap((block: unknown): Part[] => {
    const text = plainText(block);
    if (text !== undefined) return text === "" ? [] : [{ type: "text", text }];
    const image = isRecord(block) ? imageOf(block) : undefined;
    return image === undefined ? [] : [image];
  });
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return others.length === 0 && first.type === "text" ? first.text : parts;
}

function plainText(block: unknown): string | undefined {
  if (typeof block === "string") return block;
  if (!isRecord(block) || block["type"] !== "text") return undefined;
  return typeof block["text"] === "string" ? block["text"] : "";
}

/** An image as OpenAI's, LangChain's or Anthropic's block of it says: at an address, or as base64 with its type. */
function imageOf(block: JsonRecord): Part | undefined {
  if (block["type"] === "image_url") {
    const image = block["image_url"];
    return addressed(isRecord(image) ? image["url"] : image);
  }
  if (block["type"] !== "image") return undefined;
  const source = asRecord(block["source"]) ?? block;
  const data = source["data"] ?? source["base64"];
  const mediaType = source["media_type"] ?? source["mime_type"];
  return typeof data === "string" ? inline(data, mediaType) : addressed(source["url"]);
}

const DATA_ADDRESS = /^data:([^;,]*);base64,/;

function addressed(url: unknown): Part | undefined {
  if (typeof url !== "string") return undefined;
  const [head, mediaType] = DATA_ADDRESS.exec(url) ?? [];
  if (head !== undefined) return inline(url.slice(head.length), mediaType);
  return url.length <= MAX_ADDRESS && URL.canParse(url) ? { type: "image", url } : undefined;
}

function inline(data: string, mediaType: unknown): Part | undefined {
  if (data === "" || typeof mediaType !== "string" || !/^image\/[a-z0-9.+-]+$/.test(mediaType)) return undefined;
  return { type: "image", data, mediaType };
}
