// The canonical log: IndeRun StreamEvent 1.0 (contract a.2) and the additional types of this project. Shapes only.
import * as v from "valibot";
import { errorClassSchema, failureClassSchema } from "./failure.ts";
import { outcomeSchema, stopReasonSchema } from "./outcome.ts";
import { accountedUsageSchema } from "./usage.ts";

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

const contentDelta = v.looseObject({ text: v.string() });
const contentSnapshot = v.looseObject({
  /** Replaces the whole text; empty withdraws all of it. */
  text: v.string(),
  /** Replaces the reasoning shown, when present. */
  reasoning: v.optional(v.string()),
  /** First sequence that a recovery released; readers past it must take this text instead. */
  releasedFrom: v.optional(index),
  /** Last sequence that a `from=snapshot` frame stands for. */
  covers: v.optional(index),
});
const lifecycle = v.looseObject({
  phase: v.picklist(["provider_selected", "started"]),
  providerId: v.optional(v.string()),
});
const toolCall = v.looseObject({
  toolCallId: v.string(),
  toolName: v.string(),
  input: v.optional(v.record(v.string(), v.unknown())),
  /** The input as JSON text, instead of `input`, when it holds a secret-looking key. */
  inputJson: v.optional(v.string()),
  execution: v.picklist(["server", "client"]),
  confirmation: v.optional(v.literal("required")),
  /** What the provider wants back with the call in the next request. */
  echo: v.optional(v.record(v.string(), v.unknown())),
  /** The echo as JSON text, instead of `echo`, when it holds a secret-looking key. */
  echoJson: v.optional(v.string()),
});
const toolResult = v.looseObject({
  toolCallId: v.string(),
  toolName: v.string(),
  /** Any JSON value. */
  output: v.optional(v.unknown()),
  /** The output as JSON text, instead of `output`, when it holds a secret-looking key; `renderDataJson` likewise. */
  outputJson: v.optional(v.string()),
  isError: v.optional(v.boolean()),
  renderHint: v.optional(v.picklist(["confirm_dialog", "resource_links", "plain", "custom"])),
  renderData: v.optional(v.record(v.string(), v.unknown())),
  renderDataJson: v.optional(v.string()),
  /** The call is of an earlier run, and this is what was decided about it. */
  decision: v.optional(v.picklist(["approve", "deny"])),
});
const toolProgress = v.looseObject({
  phase: v.optional(v.string()),
  /** The calls are of an earlier run. */
  carried: v.optional(v.literal(true)),
  tasks: v.array(
    v.looseObject({
      id: v.string(),
      label: v.string(),
      status: v.picklist(["pending", "running", "completed", "failed"]),
      detail: v.optional(v.string()),
    }),
  ),
});
const contextUsage = v.looseObject({
  usedTokens: index,
  maxTokens: index,
  /** 0 to 100, one decimal. */
  percent: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  /** The provider has not said what it used. */
  estimated: v.optional(v.boolean()),
});
const step = v.looseObject({
  step: index,
  phase: v.picklist(["started", "finished"]),
  /** The server has put it in between the events of a producer that says nothing of steps. */
  implied: v.optional(v.literal(true)),
  /** `finished`: why the model stopped; left out when it did not say. */
  finishReason: v.optional(stopReasonSchema),
});
const maxSteps = v.looseObject({ maxSteps: v.pipe(v.number(), v.integer(), v.minValue(1)), canContinue: v.boolean() });
const toolCallDelta = v.looseObject({
  toolCallId: v.string(),
  toolName: v.optional(v.string()),
  inputText: v.string(),
});
const usageReport = v.looseObject({
  ...accountedUsageSchema.entries,
  /** Left out: what a model was asked beside all attempts. */
  attempt: v.optional(index),
});
const attempt = v.looseObject({
  attempt: index,
  step: v.optional(index),
  targetId: v.string(),
  phase: v.picklist(["started", "committed", "failed", "superseded"]),
  /** `started`: the attempt goes on from the text that is shown. */
  continues: v.optional(v.boolean()),
  errorClass: v.optional(errorClassSchema),
  failureClass: v.optional(failureClassSchema),
  httpStatus: v.optional(index),
  providerCode: v.optional(v.string()),
  retryAfterMs: v.optional(index),
  reportedModel: v.optional(v.string()),
  message: v.optional(v.string()),
});
const retrieval = v.looseObject({
  /** Best first. */
  hits: v.optional(v.array(v.record(v.string(), v.unknown()))),
  /** The hits as JSON text, instead of `hits`, when one holds a secret-looking key. */
  hitsJson: v.optional(v.string()),
  trace: v.optional(v.record(v.string(), v.unknown())),
});
/** How far the work is that goes before an answer, or is all that the run does. */
const preparationProgress = v.looseObject({
  /** Whose work it is. */
  providerId: v.pipe(v.string(), v.minLength(1)),
  task: v.pipe(v.string(), v.minLength(1)),
  fractionCompleted: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
});
const diagnostic = v.looseObject({ code: v.optional(v.string()) });

/** Payload schema of every event type this version writes. */
export const payloadSchemas = {
  content_delta: contentDelta,
  content_snapshot: contentSnapshot,
  reasoning_delta: v.looseObject({ text: v.string() }),
  lifecycle,
  diagnostic,
  attempt,
  usage: usageReport,
  tool_call: toolCall,
  tool_call_delta: toolCallDelta,
  tool_result: toolResult,
  tool_progress: toolProgress,
  context_usage: contextUsage,
  title: v.looseObject({ title: v.string() }),
  step,
  max_steps: maxSteps,
  retrieval,
  preparation_progress: preparationProgress,
  terminal: outcomeSchema,
};
export type EventType = keyof typeof payloadSchemas;
export type Payload<T extends EventType> = v.InferOutput<(typeof payloadSchemas)[T]>;

/** An event before it has a number: what the run machine decides. */
export type Draft = { [T in EventType]: { type: T; payload: Payload<T> } }[EventType];

/** A numbered entry of the log. `at` is Unix epoch milliseconds; it says nothing about order, `sequence` does. */
export type LogEvent = Draft & { sequence: number; at: number };

/** A numbered entry of a type that this version does not know, as a producer has pushed it. */
export interface OtherEvent {
  type: "other";
  name: string;
  payload: Record<string, unknown>;
  sequence: number;
  at: number;
}

/** A numbered entry with its payload as JSON text: what the log stores and dialects encode without parsing again. */
export interface LogEntry {
  sequence: number;
  at: number;
  type: string;
  payload: string;
  /** The bare text, when the payload is exactly `{"text": ...}`. */
  text?: string;
}

const envelope = {
  schemaVersion: v.literal("1.0"),
  runId: v.pipe(v.string(), v.minLength(1)),
  sequence: index,
  timestamp: v.pipe(v.number(), v.minValue(0)),
};
const event = <T extends EventType>(type: T) =>
  v.looseObject({ ...envelope, type: v.literal(type), payload: payloadSchemas[type] });

/** StreamEvent as it travels in the native dialect. */
export const streamEventSchema = v.variant("type", [
  event("content_delta"),
  event("content_snapshot"),
  event("reasoning_delta"),
  event("lifecycle"),
  event("diagnostic"),
  event("attempt"),
  event("usage"),
  event("tool_call"),
  event("tool_call_delta"),
  event("tool_result"),
  event("tool_progress"),
  event("context_usage"),
  event("title"),
  event("step"),
  event("max_steps"),
  event("retrieval"),
  event("preparation_progress"),
  event("terminal"),
]);

const numbered = <T extends EventType>(type: T) =>
  v.object({ sequence: index, at: v.number(), type: v.literal(type), payload: payloadSchemas[type] });

/** A log entry with its payload parsed: what a restarted object folds back into its state. */
export const logEventSchema = v.variant("type", [
  numbered("content_delta"),
  numbered("content_snapshot"),
  numbered("reasoning_delta"),
  numbered("lifecycle"),
  numbered("diagnostic"),
  numbered("attempt"),
  numbered("usage"),
  numbered("tool_call"),
  numbered("tool_call_delta"),
  numbered("tool_result"),
  numbered("tool_progress"),
  numbered("context_usage"),
  numbered("title"),
  numbered("step"),
  numbered("max_steps"),
  numbered("retrieval"),
  numbered("preparation_progress"),
  numbered("terminal"),
]);
