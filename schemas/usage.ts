// Token usage as reported by a provider. Totals are never derived: some providers count reasoning outside of output.
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
