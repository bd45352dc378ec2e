// Bounded waiting, with the timer released whichever way it ends.

/** True when the promise settled, false when `ms` milliseconds passed first. Rejects when the promise does. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const alarm = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => alarm.resolve(false), Math.max(0, ms));
  try {
    return await Promise.race([promise.then(() => true), alarm.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after so many milliseconds. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when what was begun by now has gone its way: what a reader was given is on the wire. */
export const nextTurn = (): Promise<void> => pause(0);

/** How long another object may hold up the end of a run. Milliseconds. */
export const END_WAIT_MS = 2000;

/** False when another object did not answer in time: it has died or is not to be reached, and is told again later. */
export async function answersWithin(answer: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    return await within(answer, ms);
  } catch {
    return false;
  }
}

/**
 * By more than this a timer is off only when the process stood still, or the time was set: whoever seems to have been silent is
 * heard first, and has as long for it. Milliseconds.
 */
export const OFF_MS = 250;

/** An alarm may be late, too: whoever counts as lost since then has a moment for what was sent meanwhile. */
export async function hearFirst(lostAt: number | undefined): Promise<void> {
  if (lostAt !== undefined && Date.now() >= lostAt) await pause(OFF_MS);
}

/** What `setTimeout` gives, under whichever runtime's types. */
export type Timer = ReturnType<typeof setTimeout>;
