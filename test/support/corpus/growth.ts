// Compares the work of two runs by processor time, which a busy machine does not stretch.

/** How many times the work of `small` it takes to do `large`; the best of three runs each. */
export function growth(small: () => void, large: () => void): number {
  return cost(large) / cost(small);
}

function cost(run: () => void): number {
  const costs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.max(1, Math.min(...costs));
}
