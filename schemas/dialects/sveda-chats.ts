// A visitor's chats as their page is given them: the list, and one chat with its messages and its conversation. Shapes only.
import * as v from "valibot";
import { objectOnly } from "../object-only.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const record = objectOnly(v.record(v.string(), v.unknown()));
const role = v.picklist(["user", "assistant", "system", "tool"]);
const time = v.pipe(v.string(), v.isoTimestamp());

const finishEntries = {
  error: v.exactOptional(v.object({ code: v.string(), message: v.string() })),
  /** The turn took so many steps, and was to take more. */
  maxSteps: v.exactOptional(count),
};

/** How a turn ended, in the words in which its stream said so. */
export const turnFinishSchema = v.object({ finishReason: v.string(), ...finishEntries });

export const displayMessageSchema = v.object({
  id: v.string(),
  role,
  content: v.string(),
  parts: v.array(record),
  reasoning: v.exactOptional(v.string()),
  /** Of an answer: how its turn ended. */
  finishReason: v.exactOptional(v.string()),
  ...finishEntries,
});

export const chatImageSchema = v.union([
  v.object({ url: v.string() }),
  v.object({ data: v.string(), mediaType: v.string() }),
]);

const callEntrySchema = v.object({
  id: v.string(),
  /** `arguments` is JSON text. */
  function: v.object({ name: v.string(), arguments: v.string() }),
  execution: v.picklist(["server", "client"]),
  confirmation: v.exactOptional(v.literal("required")),
});

export const historyEntrySchema = v.object({
  role,
  content: v.string(),
  reasoning: v.exactOptional(v.string()),
  tool_calls: v.exactOptional(v.array(callEntrySchema)),
  tool_call_id: v.exactOptional(v.string()),
  /** Only of a tool's entry: its content tells of a failure. */
  is_error: v.exactOptional(v.literal(true)),
  images: v.exactOptional(v.array(chatImageSchema)),
});

const summaryEntries = {
  id: v.string(),
  chatId: v.string(),
  title: v.string(),
  /** At most 160 characters of the first user text. */
  preview: v.string(),
  tokensUsed: count,
  version: count,
  createdAt: time,
  updatedAt: time,
};

export const chatSummarySchema = v.object(summaryEntries);

export const chatDetailSchema = v.object({
  ...summaryEntries,
  messages: v.array(displayMessageSchema),
  conversationHistory: v.array(historyEntrySchema),
  /** The turn that runs now. */
  activeRunId: v.exactOptional(v.string()),
  /** When none runs: how the latest one ended, also when it has left no message. */
  lastTurn: v.exactOptional(v.object({ runId: v.string(), ...turnFinishSchema.entries })),
  /** How many of the oldest that are kept are not given, where the chat is too large to be read at once. */
  leftOut: v.exactOptional(v.object({ messages: count, entries: count })),
});
