// How much of the corpus the laws are judged on: a share that fits into every test run, or all of it with `--mode laws`.

/** Splits that `--mode laws` compares at least. */
export const MILLION = 1_000_000;

export const allLaws: boolean = process.env["MODE"] === "laws";

/** The same draws in every run: whole numbers from 1 up to and including `last`. */
export function drawing(seed: number): (last: number) => number {
  let state = seed >>> 0;
  return (last) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + Math.floor((state / 2 ** 32) * last);
  };
}
