// The provider bodies of the measures, in the bytes of an OpenAI chat stream, and the marks by which a reader's event is matched
// with the write it came from.
import type { Buffer } from "node:buffer";
import { openAiChat } from "../../test/support/provider-bytes/openai-chat.ts";
import type { Frame } from "./frames.ts";
import { packetsOf, type Answer } from "./provider.ts";

/** `performance.now()` of each write: by the call's index, then by the event's. */
export type WriteTimes = number[][];

/** The events of a whole answer: what comes before the text, one event per token, what comes after it. */
export function answerEvents(tokens: readonly string[]): string[] {
  return openAiChat({
    deltas: tokens,
    usage: { prompt_tokens: 9, completion_tokens: tokens.length, total_tokens: 9 + tokens.length },
  });
}

/** Words of five bytes, the blank included. */
export function tokensOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${(index % 10_000).toString().padStart(4, "w")} `);
}

/** Sends prepared packets as fast as they are taken, once the gate is open. */
export function flatOut(packets: readonly Buffer[], gate: Promise<void> = Promise.resolve()): Answer {
  return async (stream) => {
    await gate;
    await stream.send(packets);
  };
}

export interface Pace {
  count: number;
  perSecond: number;
  /** Filled as the writes happen. */
  writes: WriteTimes;
  gate?: Promise<void>;
  /** Default: a mark that `delaysOf` finds. */
  token?: (call: number, index: number) => string;
}

/** One token per tick. A late timer makes one write late, not those after it. */
export function paced({ count, perSecond, writes, gate = Promise.resolve(), token = mark }: Pace): Answer {
  return async (stream) => {
    const times: number[] = [];
    writes[stream.index] = times;
    const tokens = Array.from({ length: count }, (_, index) => token(stream.index, index));
    const packets = packetsOf(answerEvents(tokens));
    await gate;
    await stream.send(packets.slice(0, 1));
    const begun = performance.now();
    for (const [index, packet] of packets.slice(1, 1 + count).entries()) {
      if (stream.gone()) return;
      const wait = begun + (index * 1000) / perSecond - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      times.push(performance.now());
      await stream.send([packet]);
    }
    await stream.send(packets.slice(1 + count));
  };
}

/** Milliseconds from each write to its arrival at this reader; throws when one of `count` marks did not arrive exactly once. */
export function delaysOf(frames: readonly Frame[], writes: WriteTimes, count: number): number[] {
  const delays: number[] = [];
  for (const { at, data } of frames) {
    for (const [, call, index] of data.matchAll(/#(\d+)\.(\d+) /g)) {
      if (Number(index) !== delays.length) throw new Error(`token ${index} arrived where ${delays.length} was due`);
      delays.push(at - (writes[Number(call)]?.[Number(index)] ?? Number.NaN));
      if (delays.length === count) return delays;
    }
  }
  throw new Error(`${delays.length} of ${count} tokens arrived`);
}

/** Tokens per second that were really written, the slowest call's. */
export function paceOf(writes: WriteTimes): number {
  const paces = writes.map((times) => ((times.length - 1) * 1000) / ((times.at(-1) ?? 0) - (times[0] ?? 0)));
  return Math.min(...paces);
}

function mark(call: number, index: number): string {
  return `#${call}.${index} `;
}
