// Seeded random numbers: the same seed gives the same row.

export type Draw = (min: number, max: number) => number;

/** Whole numbers from `min` to `max`, both included (mulberry32). */
export function draws(seed: number): Draw {
  let state = seed | 0;
  return (min, max) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return min + (((mixed ^ (mixed >>> 14)) >>> 0) % (max - min + 1));
  };
}
