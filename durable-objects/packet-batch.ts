// Gathers a provider's packets for a few milliseconds, so that a flood is logged in few large pieces. Copies no byte. The first packet after a pause goes on at once: a paced stream is not delayed.
import type { Timer } from "./within.ts";

/** Milliseconds between two batches. At one event per packet this takes a third off the time of a flood. */
const BATCH_MS = 4;
/** Bytes that go on without waiting. */
const BATCH_BYTES = 65_536;

export interface PacketBatch {
  add(packet: Uint8Array): void;
  /** Hands on what has gathered. */
  flush(): void;
  /** Drops what has gathered. */
  stop(): void;
}

/** `onFault` gets what `process` throws when nobody else is there to catch it. */
export function packetBatch(
  process: (packets: readonly Uint8Array[]) => void,
  now: () => number,
  onFault: (error: unknown) => void,
): PacketBatch {
  let packets: Uint8Array[] = [];
  let bytes = 0;
  let last = 0;
  let timer: Timer | undefined;

  const clear = (): Uint8Array[] => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    const gathered = packets;
    packets = [];
    bytes = 0;
    return gathered;
  };

  const flush = (): void => {
    const gathered = clear();
    last = now();
    if (gathered.length > 0) process(gathered);
  };

  const onTimer = (): void => {
    try {
      flush();
    } catch (error) {
      onFault(error);
    }
  };

  return {
    add(packet) {
      packets.push(packet);
      bytes += packet.byteLength;
      const wait = last + BATCH_MS - now();
      if (wait <= 0 || bytes >= BATCH_BYTES) flush();
      else timer ??= setTimeout(onTimer, wait);
    },
    flush,
    stop() {
      clear();
    },
  };
}
