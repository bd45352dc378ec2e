// Medians, percentiles and the order in which contestants take turns. Pure but for awaiting the contestants.

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

/** Lets all take turns, every other round in reverse order, so that a drift of the machine falls on all alike. */
export async function takeTurns<Result>(
  rounds: number,
  contestants: readonly Contestant<Result>[],
): Promise<Map<string, Result[]>> {
  const results = new Map<string, Result[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, take } of round % 2 === 0 ? contestants : contestants.toReversed()) {
      results.get(name)?.push(await take(round));
    }
  }
  return results;
}
