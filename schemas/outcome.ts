// StreamTerminalOutcome (contract a.4): how a run ended. A closed set of three, discriminated by `outcome`.
import * as v from "valibot";
import { provenanceSchema } from "./attempt.ts";
import { indeRunErrorSchema } from "./problem.ts";
import { accountedUsageSchema } from "./usage.ts";

const runId = v.pipe(v.string(), v.minLength(1));
const telemetry = v.looseObject({
  /** Target id of the last attempt, or of the selected target when none started. */
  providerUsed: v.pipe(v.string(), v.minLength(1)),
  /** Milliseconds from accept to the terminal, all attempts included. */
  totalMs: v.pipe(v.number(), v.minValue(0)),
});

export const stopReasonSchema = v.picklist(["stop", "length", "tool_calls", "content_filter", "max_steps", "continue"]);
export type StopReason = v.InferOutput<typeof stopReasonSchema>;

export const pendingToolSchema = v.object({
  toolCallId: v.string(),
  toolName: v.string(),
  execution: v.picklist(["server", "client"]),
  confirmation: v.optional(v.literal("required")),
});
export type PendingTool = v.InferOutput<typeof pendingToolSchema>;

const common = {
  /** Titles of the conversation in the order they were given; a later one replaces an earlier one. */
  titles: v.optional(v.array(v.string())),
  schemaVersion: v.literal("1.0"),
  runId,
  usage: v.optional(accountedUsageSchema),
  telemetry: v.optional(telemetry),
  provenance: v.optional(provenanceSchema),
};

const completedOutcomeSchema = v.looseObject({
  ...common,
  outcome: v.literal("completed"),
  finalText: v.string(),
  /** Left out when the provider reported none. */
  finishReason: v.optional(v.picklist(["stop", "length", "cancelled", "error"])),
  stopReason: v.optional(stopReasonSchema),
  pending: v.optional(v.array(pendingToolSchema)),
});

const errorOutcomeSchema = v.looseObject({
  ...common,
  outcome: v.literal("error"),
  error: indeRunErrorSchema,
  partialText: v.string(),
});

const cancelledOutcomeSchema = v.looseObject({
  ...common,
  outcome: v.literal("cancelled"),
  partialText: v.string(),
  reason: v.optional(v.string()),
});

export const outcomeSchema = v.variant("outcome", [completedOutcomeSchema, errorOutcomeSchema, cancelledOutcomeSchema]);
export type Outcome = v.InferOutput<typeof outcomeSchema>;
