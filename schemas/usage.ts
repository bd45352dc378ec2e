// Token usage as reported by a provider, or estimated where none was. Totals are never derived: some providers count reasoning outside of output.
import * as v from "valibot";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const usageSchema = v.looseObject({
  inputTokens: v.optional(count),
  outputTokens: v.optional(count),
  totalTokens: v.optional(count),
  reasoningTokens: v.optional(count),
  cachedInputTokens: v.optional(count),
});
export type Usage = v.InferOutput<typeof usageSchema>;

/** Usage as a run accounts for it. */
export const accountedUsageSchema = v.looseObject({
  ...usageSchema.entries,
  /** Our own count of what was sent and shown, because the provider reported none; of a sum: some part of it is. */
  estimated: v.optional(v.boolean()),
});
export type AccountedUsage = v.InferOutput<typeof accountedUsageSchema>;
