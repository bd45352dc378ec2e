// When a second target is asked as well, and how often: from how fast a target was lately, within a budget of further requests. Pure.
import type { HedgeSettings } from "../../schemas/config.ts";

/** How many first outputs of a target are remembered, and how many it takes to judge by them. */
const REMEMBERED = 64;
const ENOUGH = 8;
/** Further requests that may be saved up. */
const MOST_SAVED = 5;

/** Milliseconds to a target's first outputs, the latest last. */
export type Latencies = readonly number[];

export const remembering = (latencies: Latencies, ms: number): Latencies => [...latencies, ms].slice(-REMEMBERED);

/** Milliseconds after which a target is slower than in 19 of 20 cases; while too little is known, what the route says. */
export function hedgeDelay(latencies: Latencies, { afterMs }: HedgeSettings): number {
  if (latencies.length < ENOUGH) return afterMs;
  const sorted = latencies.toSorted((left, right) => left - right);
  return Math.max(1, sorted[Math.ceil(sorted.length * 0.95) - 1] ?? afterMs);
}

/** What a tenant may spend on further requests after one more run. A new tenant may spend one. */
export function savedUp(saved: number | undefined, { budgetPercent }: HedgeSettings): number {
  return Math.min(MOST_SAVED, (saved ?? 1) + budgetPercent / 100);
}

/** Whether a further request can be paid for. */
export const affords = (saved: number): boolean => saved >= 1;
