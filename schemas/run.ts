// What starts a run, what names it, and how it looks from outside. Shapes only; semantic rules live in src/run/request.ts.
import * as v from "valibot";
import { attemptRecordSchema, provenanceSchema } from "./attempt.ts";
import { objectOnly } from "./object-only.ts";
import { accountedUsageSchema } from "./usage.ts";

const text = v.pipe(v.string(), v.minLength(1));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));
const record = objectOnly(v.record(v.string(), v.unknown()));

/** Safe in a URL path without escaping; `.` and `..` are not, since a URL swallows them. */
export const runIdSchema = v.pipe(v.string(), v.regex(/^(?!\.{1,2}$)[A-Za-z0-9._:~-]{1,128}$/));

export const threadIdSchema = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/));

const textPart = v.looseObject({ type: v.literal("text"), text });
const imagePart = v.looseObject({
  type: v.literal("image"),
  url: v.optional(v.pipe(v.string(), v.url(), v.maxLength(8192))),
  /** Base64 without a prefix; needs `mediaType`. */
  data: v.optional(text),
  mediaType: v.optional(v.pipe(v.string(), v.regex(/^image\/[a-z0-9.+-]+$/))),
});
const content = v.union([text, v.pipe(v.array(v.variant("type", [textPart, imagePart])), v.minLength(1))]);
const toolCall = v.looseObject({
  toolCallId: text,
  toolName: text,
  input: record,
  /** The input's JSON text, as the event had it; it counts where `input` cannot hold its numbers. */
  inputJson: v.optional(v.string()),
  /** As the `tool_call` event had it. Only the adapter that made it reads it. */
  echo: v.optional(record),
});

const systemMessage = v.looseObject({ role: v.literal("system"), content });
const userMessage = v.looseObject({ role: v.literal("user"), content });
const assistantMessage = v.looseObject({
  role: v.literal("assistant"),
  content: v.optional(content),
  toolCalls: v.optional(v.pipe(v.array(toolCall), v.minLength(1))),
});
const toolMessage = v.looseObject({
  role: v.literal("tool"),
  toolCallId: text,
  output: v.unknown(),
  /** The output's JSON text; it counts where `output` cannot hold its numbers. */
  outputJson: v.optional(v.string()),
  isError: v.optional(v.boolean()),
});
export const messageSchema = v.variant("role", [systemMessage, userMessage, assistantMessage, toolMessage]);
export type Message = v.InferOutput<typeof messageSchema>;

const toolSchema = v.looseObject({
  name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/)),
  description: v.optional(v.string()),
  /** JSON Schema of the input object. */
  parameters: record,
  execution: v.optional(v.literal("client")),
});

const generationSchema = objectOnly(
  v.looseObject({
    maxOutputTokens: v.optional(positive),
    temperature: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(2))),
    topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
    seed: v.optional(v.pipe(v.number(), v.integer())),
    stop: v.optional(v.array(v.string())),
    output: v.optional(v.union([v.picklist(["text", "json"]), v.looseObject({ schema: record })])),
  }),
);

/** Milliseconds; each may only shorten what the target's configuration says. */
export const clocksSchema = objectOnly(
  v.strictObject({
    headersMs: v.optional(positive),
    firstOutputMs: v.optional(positive),
    idleMs: v.optional(positive),
    progressMs: v.optional(positive),
    totalMs: v.optional(positive),
  }),
);
export type ClockLimits = v.InferOutput<typeof clocksSchema>;

/** IndeRun TaskRequest (contract a.6) with this project's body fields. Open: unknown fields pass. */
export const startRequestSchema = objectOnly(
  v.looseObject({
    schemaVersion: v.literal("1.0"),
    task: v.looseObject({ kind: v.literal("text_to_text") }),
    requestId: v.optional(runIdSchema),
    prompt: v.optional(text),
    messages: v.optional(v.pipe(v.array(messageSchema), v.minLength(1))),
    generation: v.optional(generationSchema),
    constraints: v.optional(
      objectOnly(
        v.looseObject({
          privacy: v.optional(v.picklist(["local_required", "local_preferred", "cloud_allowed", "cloud_required"])),
          cloud: v.optional(v.picklist(["forbidden", "allowed", "required"])),
          timeoutMs: v.optional(positive),
        }),
      ),
    ),
    preferences: v.optional(
      objectOnly(v.looseObject({ optimizeFor: v.optional(v.picklist(["privacy", "latency", "cost", "balanced"])) })),
    ),
    telemetry: v.optional(
      objectOnly(
        v.looseObject({
          consent: v.optional(v.boolean()),
          level: v.optional(v.picklist(["off", "minimal", "debug"])),
          tags: v.optional(objectOnly(v.record(v.string(), v.string()))),
        }),
      ),
    ),
    authContextRef: v.optional(text),
    route: v.optional(text),
    targets: v.optional(v.pipe(v.array(text), v.minLength(1), v.maxLength(16))),
    onDisconnect: v.optional(v.picklist(["continue", "cancel"])),
    onMidStreamFailure: v.optional(v.picklist(["fail", "retract", "continue"])),
    durability: v.optional(v.picklist(["standard", "strict"])),
    clocks: v.optional(clocksSchema),
    metadata: v.optional(record),
    tools: v.optional(v.pipe(v.array(toolSchema), v.maxLength(128))),
    /** Which of the server's own tools the model may call: patterns over names, `*`, `x*`, `*x`, or the exact name. */
    serverTools: v.optional(v.pipe(v.array(v.pipe(v.string(), v.regex(/^(\*|\*?[^*]+|[^*]+\*)$/))), v.maxLength(128))),
    toolChoice: v.optional(v.union([v.picklist(["auto", "none", "required"]), v.strictObject({ name: text })])),
    maxSteps: v.optional(positive),
    threadId: v.optional(threadIdSchema),
    source: v.optional(v.picklist(["provider", "push"])),
    previousRunId: v.optional(runIdSchema),
    toolResults: v.optional(
      v.pipe(
        v.array(
          v.looseObject({
            toolCallId: text,
            output: v.unknown(),
            outputJson: v.optional(v.string()),
            isError: v.optional(v.boolean()),
          }),
        ),
        v.minLength(1),
      ),
    ),
    toolDecisions: v.optional(
      v.pipe(v.array(v.looseObject({ toolCallId: text, decision: v.picklist(["approve", "deny"]) })), v.minLength(1)),
    ),
  }),
);
export type StartRequest = v.InferOutput<typeof startRequestSchema>;

/** StreamRunHandle (contract a.1). `startedAt` is Unix epoch milliseconds; `providerId` the first target of the chain. */
export const runHandleSchema = v.object({
  schemaVersion: v.literal("1.0"),
  runId: text,
  startedAt: v.pipe(v.number(), v.minValue(0)),
  providerId: v.optional(text),
});
export type RunHandle = v.InferOutput<typeof runHandleSchema>;

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Rows as SQLite counts them, up to the terminal; bytes of the stored log and terminal. */
export const costSchema = v.object({ rowsWritten: count, rowsRead: count, bytesStored: count });
export type Cost = v.InferOutput<typeof costSchema>;

export const runStateSchema = v.object({
  schemaVersion: v.literal("1.0"),
  runId: text,
  status: v.picklist(["running", "completed", "error", "cancelled"]),
  startedAt: v.number(),
  lastSequence: v.pipe(v.number(), v.integer(), v.minValue(-1)),
  attempts: v.array(attemptRecordSchema),
  steps: count,
  usage: v.optional(accountedUsageSchema),
  provenance: v.optional(provenanceSchema),
  recoveries: count,
  cost: costSchema,
  metadata: v.optional(record),
});
export type RunStatus = v.InferOutput<typeof runStateSchema>["status"];
export type RunStateView = v.InferOutput<typeof runStateSchema>;

export const cancelRequestSchema = objectOnly(v.looseObject({ reason: v.optional(v.string()) }));

export const ticketRequestSchema = v.strictObject({
  runId: runIdSchema,
  scope: v.pipe(v.array(v.picklist(["read", "cancel"])), v.minLength(1)),
  /** Seconds, 1 to 86400; 3600 when left out. */
  expiresIn: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(86_400))),
});
export type TicketScope = v.InferOutput<typeof ticketRequestSchema>["scope"][number];

export const ticketSchema = v.object({
  ticket: v.string(),
  runId: text,
  scope: v.array(v.picklist(["read", "cancel"])),
  /** Unix epoch, milliseconds. */
  expiresAt: v.number(),
  url: v.string(),
});
