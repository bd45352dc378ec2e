// Gathers a provider's events for a few milliseconds, so that a flood is logged in few large pieces. What comes first after a pause goes on at once: a paced stream is not delayed.
import type { ProviderEvent } from "../schemas/provider.ts";
import type { Timer } from "./within.ts";

/** Milliseconds between two batches. At one event per packet this takes a third off the time of a flood. */
const BATCH_MS = 4;
/** Events of one batch that make a flood, and the milliseconds between two batches of it: a frame of a screen. */
const FLOOD_EVENTS = 64;
const FLOOD_MS = 16;
/** Bytes of the wire whose events go on without waiting. */
const BATCH_BYTES = 262_144;

export interface EventBatch {
  /** `bytes`: what the events were read from. A verdict goes on at once. */
  add(events: readonly ProviderEvent[], bytes: number): void;
  /** Hands on what has gathered. */
  flush(): void;
  /** Drops what has gathered. */
  stop(): void;
}

/** `onFault` gets what `deliver` throws when nobody else is there to catch it. */
export function eventBatch(
  deliver: (events: ProviderEvent[]) => void,
  now: () => number,
  onFault: (error: unknown) => void,
): EventBatch {
  let events: ProviderEvent[] = [];
  let bytes = 0;
  let last = 0;
  let waitMs = BATCH_MS;
  let timer: Timer | undefined;

  const clear = (): ProviderEvent[] => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    const gathered = events;
    events = [];
    bytes = 0;
    return gathered;
  };

  const flush = (): void => {
    const gathered = clear();
    last = now();
    waitMs = gathered.length < FLOOD_EVENTS ? BATCH_MS : FLOOD_MS;
    if (gathered.length > 0) deliver(gathered);
  };

  const onTimer = (): void => {
    try {
      flush();
    } catch (error) {
      onFault(error);
    }
  };

  return {
    add(more, count) {
      for (const event of more) events.push(event);
      bytes += count;
      if (events.length === 0) return;
      const wait = last + waitMs - now();
      if (wait <= 0 || bytes >= BATCH_BYTES || events.at(-1)?.type === "verdict") flush();
      else timer ??= setTimeout(onTimer, wait);
    },
    flush,
    stop() {
      clear();
    },
  };
}
