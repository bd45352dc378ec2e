// Bytes to the places of their lines: LF, CRLF or CR, cut anywhere, one leading BOM passed over. Linear in the input, bounded per line. Decodes nothing, and keeps no packet.

/** Gets a line without its end: the bytes from `start` up to `end`. They are good during the call only. */
export type OnLine = (bytes: Uint8Array, start: number, end: number) => void;

/** Asked where a line begins, the first of the body apart: where the next one begins, after those it has read by itself. */
export type ReadAhead = (bytes: Uint8Array, start: number) => number;

export interface ByteLines {
  /** `tooLong` once a line has passed the limit, after which nothing more is given. */
  feed(bytes: Uint8Array): "lines" | "tooLong";
  /** Gives what stands after the last line end, if anything, once the input is over. */
  rest(onRest: OnLine): void;
}

const LF = 10;
const CR = 13;
const BOM = [0xef, 0xbb, 0xbf];
/** Bytes. Room for the unfinished line of an ordinary stream. */
const FIRST_ROOM = 1024;
/** Bytes from which on the room for an unfinished line grows by a quarter, not by doubling: it may be large. */
const LARGE_ROOM = 65_536;

/** `maxLine` is in bytes. A CR ends its line at once; a LF right after it, even in a later packet, is swallowed. */
export function byteLines(maxLine: number, onLine: OnLine, ahead?: ReadAhead): ByteLines {
  /** The start of an unfinished line, copied so that no packet is kept for it. */
  let held = new Uint8Array(FIRST_ROOM);
  let heldLength = 0;
  let first = true;
  let afterCr = false;
  let dead = false;

  const hold = (bytes: Uint8Array, start: number, end: number): void => {
    const length = heldLength + end - start;
    if (length > held.length) held = larger(held, length);
    held.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), heldLength);
    heldLength = length;
  };

  const give = (to: OnLine, bytes: Uint8Array, start: number, end: number): void => {
    const marked = first && BOM.every((byte, index) => start + index < end && bytes[start + index] === byte);
    first = false;
    to(bytes, marked ? start + BOM.length : start, end);
  };

  const die = (): "tooLong" => {
    dead = true;
    held = new Uint8Array(0);
    heldLength = 0;
    return "tooLong";
  };

  return {
    feed(bytes) {
      if (dead || bytes.length === 0) return dead ? "tooLong" : "lines";
      let start = afterCr && bytes[0] === LF ? 1 : 0;
      afterCr = false;
      for (;;) {
        if (ahead !== undefined && heldLength === 0 && !first) start = ahead(bytes, start);
        const end = lineEnd(bytes, start);
        if (end === -1) break;
        if (heldLength + end - start > maxLine) return die();
        if (heldLength === 0) give(onLine, bytes, start, end);
        else {
          hold(bytes, start, end);
          const length = heldLength;
          heldLength = 0;
          // The text that a large line becomes takes as much again: what was room for more is given back before.
          if (length > LARGE_ROOM) held = resized(held, length);
          give(onLine, held, 0, length);
          if (held.length > LARGE_ROOM) held = resized(held, FIRST_ROOM);
        }
        start = end + 1;
        if (bytes[end] === LF) continue;
        if (start === bytes.length) afterCr = true;
        else if (bytes[start] === LF) start++;
      }
      if (heldLength + bytes.length - start > maxLine) return die();
      if (start < bytes.length) hold(bytes, start, bytes.length);
      return "lines";
    },
    rest(onRest) {
      if (heldLength > 0) give(onRest, held, 0, heldLength);
    },
  };
}

/** The next line end, -1 when there is none: one pass for both kinds takes half the time of two searches. */
function lineEnd(bytes: Uint8Array, start: number): number {
  for (let index = start; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === LF || byte === CR) return index;
  }
  return -1;
}

function larger(held: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  return resized(held, length > LARGE_ROOM ? Math.ceil(length * 1.25) : Math.max(2 * held.length, length));
}

/** Gives the old memory back at once, not when garbage is collected: a line of 8 MiB takes 10, not 50. */
function resized(held: Uint8Array<ArrayBuffer>, room: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(held.buffer.transfer(room));
}
