// Gathers the pieces of a body for a few milliseconds, so that a flood is read and logged in few large ones. What comes first after a pause goes on at once: a paced stream is not delayed.
import type { Timer } from "./within.ts";

/** Milliseconds between two batches. At one event per packet this takes a third off the time of a flood. */
const BATCH_MS = 4;
/** Events of one batch that make a flood, and the milliseconds between two batches of it: a frame of a screen. */
const FLOOD_EVENTS = 64;
const FLOOD_MS = 16;
/** Bytes that gather, at most, and at first. A piece that is not small in comparison goes on by itself. */
const BATCH_BYTES = 1_048_576;
const FIRST_BYTES = 16_384;

export interface PieceBatch {
  /** `at`: when it came. Unix epoch, milliseconds. */
  add(piece: Uint8Array, at: number): void;
  /** Hands on what has gathered. */
  flush(): void;
  /** Drops what has gathered. */
  stop(): void;
}

/**
 * `take` is given bytes that are good during the call, and says how many events they held. What it throws at a piece that goes on
 * at once is the caller's; `onFault` gets what it throws at what has gathered.
 */
export function pieceBatch(
  take: (bytes: Uint8Array) => number,
  now: () => number,
  onFault: (error: unknown) => void,
): PieceBatch {
  let room = new Uint8Array(0);
  let length = 0;
  let last = 0;
  let waitMs = BATCH_MS;
  let timer: Timer | undefined;

  const clear = (): void => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    length = 0;
  };

  const give = (bytes: Uint8Array): void => {
    last = now();
    waitMs = take(bytes) < FLOOD_EVENTS ? BATCH_MS : FLOOD_MS;
  };

  const flush = (): void => {
    const gathered = room.subarray(0, length);
    clear();
    if (gathered.byteLength === 0) return;
    try {
      give(gathered);
    } catch (error) {
      onFault(error);
    }
  };

  const keep = (piece: Uint8Array): void => {
    const needed = length + piece.byteLength;
    if (needed > room.byteLength) {
      const larger = new Uint8Array(Math.max(FIRST_BYTES, Math.min(BATCH_BYTES, 2 * needed)));
      larger.set(room.subarray(0, length));
      room = larger;
    }
    room.set(piece, length);
    length = needed;
  };

  return {
    add(piece, at) {
      if (length + piece.byteLength > BATCH_BYTES) flush();
      // The time may have been set back since.
      const wait = Math.min(last + waitMs - at, waitMs);
      const isLarge = piece.byteLength >= FIRST_BYTES;
      if (wait > 0 && !isLarge) {
        keep(piece);
        timer ??= setTimeout(flush, wait);
      } else if (length === 0 || isLarge) {
        flush();
        give(piece);
      } else {
        keep(piece);
        flush();
      }
    },
    flush,
    stop: clear,
  };
}
