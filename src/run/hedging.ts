// When a second target is asked as well, and how often: from how fast a target was lately, within a budget of further requests. Pure.
import type { HedgeSettings } from "../../schemas/config.ts";

/** How many first outputs of a target are remembered, and how many it takes to judge by them. */
const REMEMBERED = 64;
const ENOUGH = 8;
/** Savings are counted in hundredths of a request: then ten times ten percent are one whole. */
const ONE = 100;
/** What is saved up at most, and what a new tenant begins with. */
const MOST_SAVED = 5 * ONE;
export const FIRST_SAVED = ONE;

/** Milliseconds to a target's first outputs, the latest last. */
export type Latencies = readonly number[];

export const remembering = (latencies: Latencies, ms: number): Latencies => [...latencies, ms].slice(-REMEMBERED);

/** Milliseconds after which a target is slower than in 19 of 20 cases; while too little is known, what the route says. */
export function hedgeDelay(latencies: Latencies, { afterMs }: HedgeSettings): number {
  if (latencies.length < ENOUGH) return afterMs;
  const sorted = latencies.toSorted((left, right) => left - right);
  return Math.max(1, sorted[Math.ceil(sorted.length * 0.95) - 1] ?? afterMs);
}

/** What a tenant has saved after one more run on such a route. */
export const savedUp = (saved: number, { budgetPercent }: HedgeSettings): number =>
  Math.min(MOST_SAVED, saved + budgetPercent);

/** What is left when a further request is made; `undefined` when it cannot be paid for. */
export const spent = (saved: number): number | undefined => (saved < ONE ? undefined : saved - ONE);

/** A further request was paid for and not made. */
export const givenBack = (saved: number): number => Math.min(MOST_SAVED, saved + ONE);
