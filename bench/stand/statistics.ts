// Medians, percentiles and the order in which contestants take turns. It measures nothing itself.
import { nextTurn } from "../../test/support/fault-provider/waits.ts";

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export interface Contestant<Result> {
  readonly name: string;
  /** `round` counts from 0. */
  take(round: number): Promise<Result>;
}

/**
 * Lets all take turns, every other round in reverse order, so that a drift of the machine falls on all alike. Ends early when a
 * further round is not likely to end within `budgetMs`.
 */
export async function takeTurns<Result>(
  rounds: number,
  contestants: readonly Contestant<Result>[],
  budgetMs = Number.POSITIVE_INFINITY,
): Promise<Map<string, Result[]>> {
  const results = new Map<string, Result[]>(contestants.map(({ name }) => [name, []]));
  const begun = performance.now();
  for (let round = 0; round < rounds; round++) {
    const spent = performance.now() - begun;
    if (round > 0 && spent + spent / round > budgetMs) break;
    for (const { name, take } of round % 2 === 0 ? contestants : contestants.toReversed()) {
      // What has closed or come meanwhile is dealt with before, not within, what is measured.
      await nextTurn();
      results.get(name)?.push(await take(round));
    }
  }
  return results;
}
