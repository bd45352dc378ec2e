// Bodies too large to be made whole, and the memory that reading one large event takes. Everything of its own is made before it looks.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Adapter } from "../../src/providers/provider.ts";
import { openAiEvents, wordsOf } from "./parse-bodies.ts";

const PACKET_BYTES = 16_384;
const PATTERN_EVENTS = 4000;
const MAX_EVENT = 16 * 1024 * 1024;

/** Packets of a long answer of about so many bytes; the middle of it repeats. */
export function* largeBody(bytes: number, lineEnd: "\n" | "\r\n"): Generator<Uint8Array> {
  const events = openAiEvents(wordsOf(PATTERN_EVENTS), true, lineEnd);
  const [head, ending] = [new TextEncoder().encode(events[0]), new TextEncoder().encode(events.slice(-2).join(""))];
  const pattern = new TextEncoder().encode(events.slice(1, -2).join(""));
  yield head;
  for (let sent = 0; sent < bytes; sent += pattern.length) yield* piecesOf(pattern);
  yield ending;
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PACKET_BYTES) yield bytes.subarray(at, at + PACKET_BYTES);
}

export interface LargeEventPeak {
  /** Most bytes on the heap and outside of it, beyond what there was before, looked at after each packet. */
  readonly peak: number;
  /** The same with garbage collected before each look. */
  readonly held: number;
  /** Bytes of the event. */
  readonly event: number;
}

/** One event whose text has so many bytes, in packets of 16 KiB. */
export function largeEventPeak(adapter: Adapter, textBytes: number): LargeEventPeak {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const encoder = new TextEncoder();
  const [begin = "", end = ""] = (openAiEvents(["%"], true)[1] ?? "").split("%");
  const [head, tail] = [encoder.encode(begin), encoder.encode(end)];
  const filler = encoder.encode("text".repeat(PACKET_BYTES / 4));
  const count = Math.ceil(textBytes / PACKET_BYTES);

  const run = (look: () => number): number => {
    const stage = adapter.reader({ maxEvent: MAX_EVENT });
    let seen = 0;
    let most = 0;
    collect();
    const before = look();
    const feed = (packet: Uint8Array): void => {
      for (const event of stage.feed(packet)) if (event.type === "text") seen += event.text.length;
      most = Math.max(most, look() - before);
    };
    feed(head);
    for (let sent = 0; sent < count; sent++) feed(filler);
    feed(tail);
    if (seen !== count * PACKET_BYTES) throw new Error("the large event was not read whole");
    return most;
  };

  const inUse = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  run(inUse);
  return {
    peak: run(inUse),
    held: run(() => {
      collect();
      return inUse();
    }),
    event: head.length + tail.length + count * PACKET_BYTES,
  };
}
