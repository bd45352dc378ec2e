// A run of a thread as this family's clients read it. Pure.
import type { DeerRun } from "../../../../schemas/dialects/deerflow-answers.ts";
import type { RunTotals } from "../../../../schemas/thread-rows.ts";
import type { ThreadRunView } from "../../../../schemas/thread.ts";
import { isoTime } from "./time.ts";

export const runForm = (run: ThreadRunView, totals: RunTotals): DeerRun => ({
  run_id: run.runId,
  thread_id: run.threadId,
  assistant_id: run.assistantId,
  status: run.status,
  metadata: run.metadata,
  kwargs: run.kwargs,
  multitask_strategy: run.strategy,
  created_at: isoTime(run.createdAt),
  updated_at: isoTime(run.updatedAt),
  ...totals,
  stop_reason: run.stopReason,
  error: run.error,
});

/** Of a run that has just begun. */
export const nothingUsed: RunTotals = {
  total_input_tokens: 0,
  total_output_tokens: 0,
  total_tokens: 0,
  llm_call_count: 0,
  lead_agent_tokens: 0,
  subagent_tokens: 0,
  middleware_tokens: 0,
  message_count: 0,
};
