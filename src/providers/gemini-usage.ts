// Sums up Gemini's usage reports of one answer: cumulative, on every chunk. Never derives a total.
import type { Usage } from "../../schemas/usage.ts";
import { asCount, type JsonRecord } from "../wire/json.ts";
import { knownCounts } from "./usage.ts";

const names = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "cachedContentTokenCount",
  "totalTokenCount",
] as const;

/** Takes one `usageMetadata`; gives what is known by now. A count that a later report leaves out keeps its last value. */
export function geminiUsage(): (metadata: JsonRecord) => Usage | undefined {
  const latest = new Map<(typeof names)[number], number>();
  return (metadata) => {
    for (const name of names) {
      const count = asCount(metadata[name]);
      if (count !== undefined) latest.set(name, count);
    }
    const answer = latest.get("candidatesTokenCount");
    const thoughts = latest.get("thoughtsTokenCount");
    return knownCounts({
      inputTokens: latest.get("promptTokenCount"),
      // Thoughts are counted apart from the candidates, and both were generated. A zero is left out of the wire.
      outputTokens: answer === undefined && thoughts === undefined ? undefined : (answer ?? 0) + (thoughts ?? 0),
      totalTokens: latest.get("totalTokenCount"),
      reasoningTokens: thoughts,
      cachedInputTokens: latest.get("cachedContentTokenCount"),
    });
  };
}
