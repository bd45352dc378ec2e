// Usage objects from counts that may be missing, in one report or over several. Never adds two reports up.
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Usage } from "../../schemas/usage.ts";
import { asCount } from "../wire/json.ts";

/** Only the counts that were reported; `undefined` when none was. */
export function knownCounts(counts: Record<string, number | undefined>): Usage | undefined {
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

/** The report of a provider that counts what was read from its cache, or put there, beside the other input. */
export function usageApart(usage: Usage): ProviderEvent {
  const apart = (usage.cachedInputTokens ?? 0) + (asCount(usage["cacheCreationInputTokens"]) ?? 0);
  return { type: "usage", usage, ...(apart > 0 && { apart }) };
}

/** Gathers reports of what one answer has used by then: a narrower one takes back no count of those before it. */
export function usageReports(): (events: ProviderEvent[], report: Usage | undefined) => void {
  let known: Usage = {};
  return (events, report) => {
    if (report === undefined) return;
    known = { ...known, ...report };
    events.push({ type: "usage", usage: known });
  };
}
