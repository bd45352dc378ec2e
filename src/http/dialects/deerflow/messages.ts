// Messages as clients write them, made into the ones that a thread keeps: one spelling of every kind, an id on each. Keeps nothing that only a server may say.
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { LangMessage } from "../../../../schemas/thread.ts";
import { asRecord, asText, isRecord } from "../../../wire/json.ts";
import { badRequest, deerFound, deerRefused, type DeerResult } from "./problem.ts";

const types: Record<string, string> = {
  human: "human",
  user: "human",
  ai: "ai",
  assistant: "ai",
  AIMessageChunk: "ai",
  system: "system",
  developer: "system",
  tool: "tool",
  remove: "remove",
};

/** What the server writes into a message's `additional_kwargs`. */
const SERVER_OWNED = [
  "original_user_content",
  "dynamic_context_reminder",
  "reminder_date",
  "deerflow_error_fallback",
  "turn_duration",
];

/** `at`: what the messages are called in the body. One message may stand for a list of one. */
export function readMessages(messages: unknown, at: string): DeerResult<LangMessage[]> {
  const read: LangMessage[] = [];
  for (const [index, message] of (Array.isArray(messages) ? messages : [messages]).entries()) {
    const next = readMessage(message);
    if (typeof next === "string") {
      return deerRefused(badRequest(`Invalid message at ${at}[${index}]: ${next}`));
    }
    read.push(next);
  }
  return deerFound(read);
}

/** The message, or what is wrong with it. */
function readMessage(message: unknown): LangMessage | string {
  if (typeof message === "string") return readMessage({ type: "human", content: message });
  if (!isRecord(message)) return "a message must be an object";
  const said = message["type"] ?? message["role"];
  const type = typeof said === "string" && Object.hasOwn(types, said) ? types[said] : undefined;
  if (type === undefined) return "its type or role is none of human, ai, system, tool and remove";
  const id = asText(message["id"]);
  if (type === "remove") return id === undefined ? "a removal needs the id of a message" : { type, id };
  const content = message["content"] ?? (type === "ai" ? "" : undefined);
  if (!isContent(content)) return "its content must be a text or a list of blocks";
  const base = {
    content,
    additional_kwargs: allowedKwargs(message["additional_kwargs"]),
    response_metadata: asRecord(message["response_metadata"]) ?? {},
    type,
    name: asText(message["name"]) ?? null,
    id: id ?? crypto.randomUUID(),
  };
  if (type === "ai") return answerOf(message, base);
  return type === "tool" ? resultOf(message, base) : base;
}

const isContent = (content: unknown): content is string | unknown[] =>
  typeof content === "string" ||
  (Array.isArray(content) &&
    content.every((block) => typeof block === "string" || asText(asRecord(block)?.["type"]) !== undefined));

function allowedKwargs(kwargs: unknown): JsonRecord {
  return Object.fromEntries(Object.entries(asRecord(kwargs) ?? {}).filter(([key]) => !SERVER_OWNED.includes(key)));
}

function answerOf(message: JsonRecord, base: LangMessage): LangMessage | string {
  const calls: unknown = message["tool_calls"] ?? [];
  if (!Array.isArray(calls)) return "its tool_calls must be a list";
  const read = calls.map((call: unknown) => {
    const { name, args, id } = asRecord(call) ?? {};
    return asText(name) !== undefined && isRecord(args) && asText(id) !== undefined
      ? { name, args, id, type: "tool_call" }
      : undefined;
  });
  if (read.includes(undefined)) return "each of its tool_calls needs a name, an id and args that are an object";
  return {
    ...base,
    tool_calls: read,
    invalid_tool_calls: [],
    usage_metadata: asRecord(message["usage_metadata"]) ?? null,
  };
}

function resultOf(message: JsonRecord, base: LangMessage): LangMessage | string {
  const callId = asText(message["tool_call_id"]);
  if (callId === undefined) return "a tool message needs a tool_call_id";
  return {
    ...base,
    tool_call_id: callId,
    status: message["status"] === "error" ? "error" : "success",
    artifact: message["artifact"] ?? null,
  };
}
