// What the DeerFlow family answers. Times are ISO 8601 in UTC, with microseconds. Shapes only.
import * as v from "valibot";
import { objectOnly } from "../object-only.ts";

const record = objectOnly(v.record(v.string(), v.unknown()));
const text = v.nullable(v.string());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const time = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/));

const interruptSchema = v.object({ id: v.string(), value: record });

export const deerThreadSchema = v.object({
  thread_id: v.string(),
  status: v.picklist(["idle", "busy", "interrupted", "error"]),
  created_at: time,
  updated_at: time,
  metadata: record,
  values: record,
  interrupts: v.record(v.string(), v.array(interruptSchema)),
});
export type DeerThread = v.InferOutput<typeof deerThreadSchema>;

export const deerThreadsSchema = v.array(deerThreadSchema);

export const deerRunSchema = v.object({
  run_id: v.string(),
  thread_id: v.string(),
  assistant_id: text,
  status: v.picklist(["pending", "running", "success", "error", "timeout", "interrupted"]),
  metadata: record,
  kwargs: record,
  multitask_strategy: v.picklist(["reject", "interrupt", "rollback"]),
  created_at: time,
  updated_at: time,
  total_input_tokens: count,
  total_output_tokens: count,
  total_tokens: count,
  llm_call_count: count,
  lead_agent_tokens: count,
  subagent_tokens: count,
  middleware_tokens: count,
  message_count: count,
  stop_reason: text,
  /** What is told of a failure. */
  error: text,
});
export type DeerRun = v.InferOutput<typeof deerRunSchema>;

export const deerRunsSchema = v.array(deerRunSchema);

const checkpointSchema = v.object({
  id: v.string(),
  ts: time,
  thread_id: v.string(),
  checkpoint_ns: v.string(),
  checkpoint_id: v.string(),
  checkpoint_map: v.null(),
});

export const deerStateSchema = v.object({
  values: record,
  next: v.array(v.string()),
  metadata: record,
  checkpoint: v.nullable(checkpointSchema),
  checkpoint_id: text,
  parent_checkpoint: v.nullable(v.omit(checkpointSchema, ["id", "ts"])),
  parent_checkpoint_id: text,
  created_at: v.nullable(time),
  tasks: v.array(v.object({ id: v.string(), name: v.string(), interrupts: v.array(interruptSchema) })),
});
export type DeerState = v.InferOutput<typeof deerStateSchema>;

export const deerHistorySchema = v.array(deerStateSchema);

/** A record with its place in the thread. */
const rowEntries = {
  thread_id: v.string(),
  run_id: v.string(),
  seq: v.pipe(v.number(), v.integer(), v.minValue(1)),
  event_type: v.string(),
  category: v.string(),
  content: v.unknown(),
  metadata: record,
  created_at: time,
};
const feedbackMarkSchema = v.nullable(
  v.object({ feedback_id: v.string(), rating: v.picklist([1, -1]), comment: text }),
);
const rowSchema = v.looseObject(rowEntries);
const markedRowSchema = v.looseObject({ ...rowEntries, feedback: feedbackMarkSchema });

export const deerEventsSchema = v.array(rowSchema);
export const deerMessagesSchema = v.array(markedRowSchema);
export const deerMessagesPageSchema = v.object({
  data: v.array(markedRowSchema),
  has_more: v.boolean(),
  next_before_seq: v.nullable(v.number()),
});
export const deerRunMessagesSchema = v.object({ data: v.array(rowSchema), has_more: v.boolean() });

export const deerFeedbackSchema = v.object({
  feedback_id: v.string(),
  run_id: v.string(),
  thread_id: v.string(),
  user_id: text,
  message_id: text,
  rating: v.picklist([1, -1]),
  comment: text,
  created_at: time,
});
export const deerFeedbackListSchema = v.array(deerFeedbackSchema);
export const deerFeedbackStatsSchema = v.object({
  run_id: v.string(),
  total: count,
  positive: count,
  negative: count,
});

export const deerWorkspaceSchema = v.object({
  available: v.boolean(),
  version: v.literal(1),
  summary: record,
  files: v.array(record),
  limits: record,
});

export const deerUsageSchema = v.object({
  thread_id: v.string(),
  total_tokens: count,
  total_input_tokens: count,
  total_output_tokens: count,
  total_runs: count,
  by_model: v.record(v.string(), v.object({ tokens: count, runs: count })),
  by_caller: v.object({ lead_agent: count, subagent: count, middleware: count }),
  context_usage: v.nullable(record),
});

export const deerAssistantSchema = v.object({
  assistant_id: v.string(),
  graph_id: v.string(),
  name: v.string(),
  config: record,
  context: record,
  metadata: record,
  description: v.string(),
  created_at: time,
  updated_at: time,
  version: v.literal(1),
});
export type DeerAssistant = v.InferOutput<typeof deerAssistantSchema>;
export const deerAssistantsSchema = v.array(deerAssistantSchema);

export const deerReplaySchema = v.looseObject({
  input: record,
  checkpoint: record,
  metadata: record,
  target_run_id: v.string(),
});

/** Channels and their values; beside them what waits, and how the run failed. */
export const deerValuesSchema = record;

export const deerIngestSchema = v.object({
  epoch: count,
  /** The position of the next record. */
  next: count,
  /** The numbers of these records in the thread. */
  seqs: v.array(v.pipe(v.number(), v.integer(), v.minValue(1))),
});

export const deerDoneSchema = v.object({ success: v.literal(true), message: v.optional(v.string()) });

const faultSchema = v.looseObject({
  type: v.string(),
  loc: v.array(v.union([v.string(), v.number()])),
  msg: v.string(),
  input: v.unknown(),
});

export const deerErrorSchema = v.object({
  detail: v.union([v.string(), v.array(faultSchema), v.looseObject({ code: v.string(), message: v.string() })]),
});
