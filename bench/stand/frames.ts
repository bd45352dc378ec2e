// From the pieces of a finished reading to its SSE frames, with the time each was complete, and the proof that a reader got
// everything. Used after the clock has stopped.
import { Buffer } from "node:buffer";
import type { WireEvent } from "../../test/support/api.ts";
import type { Reading } from "./client.ts";

export interface Frame {
  /** When its last byte arrived, `performance.now()`. */
  readonly at: number;
  readonly id: string | undefined;
  readonly data: string;
}

export interface WholeRun {
  readonly frames: readonly Frame[];
  readonly text: string;
}

/** Frames with a `data:` line. */
export function framesOf({ pieces }: Reading): Frame[] {
  const all = Buffer.concat(pieces.map(({ bytes }) => bytes));
  const frames: Frame[] = [];
  let piece = 0;
  let pieceEnd = pieces[0]?.bytes.length ?? 0;
  for (let start = 0, end = all.indexOf("\n\n"); end >= 0; start = end + 2, end = all.indexOf("\n\n", start)) {
    while (pieceEnd < end + 2) pieceEnd += pieces[++piece]?.bytes.length ?? 0;
    const block = all.toString("utf8", start, end);
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (data !== undefined) frames.push({ at: pieces[piece]?.at ?? 0, id: /^id: (.*)$/m.exec(block)?.[1], data });
  }
  return frames;
}

/** A native stream read from the beginning: throws unless every sequence is there, in order, up to a completed terminal. */
export function wholeRun(reading: Reading): WholeRun {
  const frames = framesOf(reading);
  let text = "";
  let last: WireEvent | undefined;
  for (const [sequence, { id, data }] of frames.entries()) {
    last = eventOf(data);
    if (last.sequence !== sequence || id !== String(sequence)) {
      throw new Error(`a reader got ${id} where ${sequence} was due`);
    }
    if (last.type === "content_delta") text += String(last.payload["text"]);
    if (last.type === "content_snapshot") text = String(last.payload["text"]);
  }
  expectCompleted(last);
  return { frames, text };
}

/** Throws unless the event is the terminal of a completed run. */
export function expectCompleted(event: WireEvent | undefined): void {
  if (event?.type === "terminal" && event.payload["outcome"] === "completed") return;
  throw new Error(`a reader's last event is ${JSON.stringify(event)?.slice(0, 500)}`);
}

export function eventOf(data: string): WireEvent {
  return JSON.parse(data);
}
