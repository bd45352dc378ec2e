// How a thread and its runs look on native routes. Shapes only.
import * as v from "valibot";
import { threadIdSchema } from "./run.ts";

const record = v.record(v.string(), v.unknown());
/** Unix epoch, milliseconds. */
const time = v.number();

export const threadSchema = v.object({
  schemaVersion: v.literal("1.0"),
  threadId: threadIdSchema,
  /** `interrupted`: calls of its last run wait for results or approvals. */
  status: v.picklist(["idle", "busy", "interrupted", "error"]),
  createdAt: time,
  updatedAt: time,
  title: v.optional(v.string()),
  metadata: record,
});

export const threadRunsSchema = v.object({
  schemaVersion: v.literal("1.0"),
  threadId: threadIdSchema,
  /** Newest first, at most 100. */
  runs: v.array(
    v.object({
      runId: v.string(),
      status: v.picklist(["pending", "running", "success", "error", "timeout", "interrupted"]),
      createdAt: time,
      updatedAt: time,
      /** What a run in a thread ended at, where that was a limit. */
      stopReason: v.optional(v.string()),
      error: v.optional(v.string()),
      metadata: record,
    }),
  ),
});
export type NativeThread = v.InferOutput<typeof threadSchema>;
export type NativeThreadRuns = v.InferOutput<typeof threadRunsSchema>;
