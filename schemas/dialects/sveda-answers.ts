// What the Sveda family answers beside streams and chats. Shapes only.
import * as v from "valibot";
import { objectOnly } from "../object-only.ts";
import { chatDetailSchema, chatSummarySchema } from "./sveda-chats.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const record = objectOnly(v.record(v.string(), v.unknown()));
const names = v.array(v.string());

/** Errors that are JSON; others are plain text, or have no body. */
export const svedaErrorSchema = v.object({ message: v.string() });

export const turnAnswerSchema = v.object({
  explanation: v.string(),
  tokens_used: count,
  chat_id: v.string(),
  /** Left out when it is `stop`. */
  finish_reason: v.exactOptional(v.string()),
  error: v.exactOptional(v.object({ code: v.string(), message: v.string() })),
});

export const embedTokenSchema = v.object({
  token: v.string(),
  visitor_id: v.string(),
  /** Seconds. */
  expires_in: count,
  appearance: v.exactOptional(record),
});

const modelSchema = v.object({
  id: v.string(),
  label: v.string(),
  protocol: v.picklist(["responses", "anthropic"]),
  supports_thinking: v.boolean(),
  supportsThinking: v.boolean(),
});
export type SvedaModel = v.InferOutput<typeof modelSchema>;

const capabilitiesSchema = v.variant("restricted", [
  v.object({ restricted: v.literal(false) }),
  v.object({
    restricted: v.literal(true),
    web: v.boolean(),
    code: v.boolean(),
    mcp: v.object({
      allow: names,
      domains: names,
      max_mode: v.nullable(v.picklist(["read", "write", "delete"])),
    }),
    client: v.object({ allow: names }),
  }),
]);
export type Capabilities = v.InferOutput<typeof capabilitiesSchema>;

export const embedConfigSchema = v.object({
  default_model: v.string(),
  model: v.string(),
  models: v.array(modelSchema),
  welcome_message: v.string(),
  appearance: record,
  capabilities: capabilitiesSchema,
});

const extractedSchema = v.object({
  filename: v.string(),
  ok: v.boolean(),
  text: v.exactOptional(v.string()),
  error: v.exactOptional(v.string()),
});
export type ExtractedDocument = v.InferOutput<typeof extractedSchema>;
export const extractionSchema = v.object({ items: v.array(extractedSchema) });

export const chatListSchema = v.object({ histories: v.array(chatSummarySchema) });
export const chatAnswerSchema = v.object({ history: chatDetailSchema });

export const reportListSchema = v.object({
  reports: v.array(
    v.object({
      visitor: v.string(),
      reason: v.string(),
      excerpt: v.string(),
      createdAt: v.pipe(v.string(), v.isoTimestamp()),
    }),
  ),
});
