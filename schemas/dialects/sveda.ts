// The Sveda stream protocol 1.0: the eleven events of a stream and the body that asks for one. Shapes only.
import * as v from "valibot";
import { objectOnly } from "../object-only.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const record = objectOnly(v.record(v.string(), v.unknown()));

const base = {
  chatId: v.optional(v.string()),
  messageId: v.optional(v.string()),
  /** RFC 3339. */
  timestamp: v.optional(v.pipe(v.string(), v.isoTimestamp())),
};
const event = <T extends string, E extends v.ObjectEntries>(type: T, entries: E) =>
  v.looseObject({ type: v.literal(type), ...base, ...entries });

/** Closed over the types, open over the fields of each. */
export const svedaEventSchema = v.variant("type", [
  event("message.start", {}),
  event("text.delta", { delta: v.string() }),
  event("reasoning.delta", { delta: v.string() }),
  event("tool.call", {
    toolCallId: v.string(),
    toolName: v.string(),
    target: v.picklist(["backend", "frontend"]),
    input: record,
    confirmation: v.optional(v.literal("required")),
  }),
  event("tool.result", {
    toolCallId: v.string(),
    toolName: v.string(),
    /** Any JSON value. */
    output: v.unknown(),
    renderHint: v.optional(v.picklist(["confirm_dialog", "resource_links", "plain", "custom"])),
    renderData: v.optional(record),
  }),
  event("tool.progress", {
    phase: v.optional(v.string()),
    tasks: v.array(
      v.looseObject({
        id: v.string(),
        label: v.string(),
        status: v.picklist(["pending", "running", "completed", "failed"]),
        detail: v.optional(v.string()),
      }),
    ),
  }),
  event("context.usage", {
    usedTokens: count,
    maxTokens: count,
    percent: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  }),
  event("chat.title", { title: v.string() }),
  event("max_steps", { maxSteps: v.pipe(v.number(), v.integer(), v.minValue(1)), canContinue: v.boolean() }),
  event("message.end", {
    finishReason: v.optional(v.string()),
    usage: v.optional(
      objectOnly(
        v.looseObject({
          promptTokens: v.optional(v.pipe(v.number(), v.integer())),
          completionTokens: v.optional(v.pipe(v.number(), v.integer())),
          totalTokens: v.optional(v.pipe(v.number(), v.integer())),
        }),
      ),
    ),
  }),
  event("error", { code: v.string(), message: v.string() }),
]);
export type SvedaEvent = v.InferOutput<typeof svedaEventSchema>;

/** UTF-16 units of a client's names for chats, messages and calls. */
const MAX_ID = 256;
const id = v.pipe(v.string(), v.maxLength(MAX_ID));

const messageSchema = objectOnly(
  v.looseObject({
    id: v.nullish(id),
    role: v.picklist(["user", "assistant", "system", "tool"]),
    content: v.nullish(v.string()),
    parts: v.nullish(v.array(record)),
    tool_calls: v.nullish(v.array(record)),
  }),
);
export type SvedaMessage = v.InferOutput<typeof messageSchema>;

/** A chat has an address: what no path can hold names none. */
const isAddressable = (id: string): boolean => id !== "." && id !== ".." && id.isWellFormed();

/**
 * The body of a turn. Open, and `null` counts as left out. Only what would be lost or would mislead when it has the wrong
 * type is refused; entries of lists that are not whole are dropped by the reader.
 */
export const svedaRequestSchema = objectOnly(
  v.looseObject({
    messages: v.nullish(v.array(messageSchema)),
    prompt: v.nullish(v.string()),
    chatId: v.nullish(v.pipe(v.string(), v.trim(), v.maxLength(MAX_ID), v.check(isAddressable))),
    context: v.nullish(record),
    clientTools: v.nullish(v.array(v.unknown())),
    toolDecisions: v.nullish(v.array(v.unknown())),
    model: v.nullish(v.string()),
    provider: v.nullish(v.string()),
    options: v.nullish(record),
  }),
);
