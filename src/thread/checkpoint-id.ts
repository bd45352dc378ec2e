// How a checkpoint of a thread is called outside: opaque, and in the order of text as the checkpoints are in time. Pure.

const DIGITS = 12;

export const checkpointId = (number: number): string => `cp-${String(number).padStart(DIGITS, "0")}`;

/** The state before everything: it is no checkpoint of any thread, and a run may begin from it. */
export const ROOT = 0;
export const ROOT_CHECKPOINT = checkpointId(ROOT);

/** `undefined` when no checkpoint can be called so. */
export function checkpointNumber(id: string): number | undefined {
  const [, digits] = /^cp-(\d{12})$/.exec(id) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
