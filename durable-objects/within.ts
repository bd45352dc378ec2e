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

/** What `setTimeout` gives, under whichever runtime's types. */
export type Timer = ReturnType<typeof setTimeout>;
