// Compares the work of two runs by processor time, which a busy machine does not stretch.

/** How many times the work of `small` it takes to do `large`; the median of seven runs each, taken in turn. */
export function growth(small: () => void, large: () => void): number {
  const costs = Array.from({ length: 7 }, () => [cost(small), cost(large)] as const);
  return median(costs.map(([, ofLarge]) => ofLarge)) / median(costs.map(([ofSmall]) => ofSmall));
}

function cost(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, user + system);
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 1;
