// IndeRunError: the one error shape of native routes and of the terminal event (contract a.5). Shapes only.
import * as v from "valibot";
import { errorClassSchema } from "./failure.ts";

export const validationIssueSchema = v.object({
  /** JSON pointer to the field, or `header:NAME` / `query:NAME`. */
  path: v.string(),
  message: v.string(),
  keyword: v.string(),
});
export type ValidationIssue = v.InferOutput<typeof validationIssueSchema>;

export const indeRunErrorSchema = v.looseObject({
  schemaVersion: v.literal("1.0"),
  errorClass: errorClassSchema,
  message: v.pipe(v.string(), v.minLength(1)),
  runId: v.optional(v.pipe(v.string(), v.minLength(1))),
  providerId: v.optional(v.pipe(v.string(), v.minLength(1))),
  retryable: v.optional(v.boolean()),
  retryAfterMs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  details: v.optional(v.record(v.string(), v.unknown())),
});
export type IndeRunError = v.InferOutput<typeof indeRunErrorSchema>;
