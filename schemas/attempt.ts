// One try at one target, as it stands in the run's state, in provenance and in error details.
import * as v from "valibot";
import { errorClassSchema, failureClassSchema } from "./failure.ts";
import { accountedUsageSchema } from "./usage.ts";

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

export const attemptRecordSchema = v.object({
  attempt: index,
  step: index,
  targetId: v.string(),
  status: v.picklist(["started", "committed", "completed", "failed", "superseded", "cancelled"]),
  errorClass: v.optional(errorClassSchema),
  failureClass: v.optional(failureClassSchema),
  httpStatus: v.optional(v.pipe(v.number(), v.integer())),
  providerCode: v.optional(v.string()),
  /** Milliseconds the provider asked to wait. */
  retryAfterMs: v.optional(index),
  /** Unix epoch, milliseconds. */
  startedAt: v.number(),
  /** Milliseconds from the attempt's start to its first output. */
  firstOutputMs: v.optional(v.number()),
  usage: v.optional(accountedUsageSchema),
});
export type AttemptRecord = v.InferOutput<typeof attemptRecordSchema>;

export const localitySchema = v.picklist(["local", "edge", "cloud"]);
export type Locality = v.InferOutput<typeof localitySchema>;

/** Which target ran, where, and how fallback went (IndeRun ExecutionProvenance, an open object). */
export const provenanceSchema = v.looseObject({
  targetId: v.string(),
  locality: localitySchema,
  configuredModel: v.optional(v.string()),
  reportedModel: v.optional(v.string()),
  fallbackOccurred: v.boolean(),
  attemptedProviderIds: v.array(v.string()),
  attempts: v.array(attemptRecordSchema),
});
export type Provenance = v.InferOutput<typeof provenanceSchema>;
