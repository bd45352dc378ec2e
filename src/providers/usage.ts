// Usage objects from counts that may be missing.
import type { Usage } from "../../schemas/usage.ts";

/** Only the counts that were reported; `undefined` when none was. */
export function knownCounts(counts: Record<string, number | undefined>): Usage | undefined {
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
