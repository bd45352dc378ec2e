// Reads a response's body piece by piece, as the pieces come. Knows no format and keeps nothing.

/** Bytes read at once, at most. Most pieces are a token, and fresh memory has its price: at first it is less. */
const PIECE_BYTES = 65_536;
const FIRST_BYTES = 4096;

/** The body has broken off. The runtime's words for it may hold hosts and paths, and cannot tell causes apart. */
export class BrokenBody extends Error {
  override name = "BrokenBody";
}

export interface BodyReader {
  /** The next piece, good until the next call; `undefined` at the end. Rejects with `BrokenBody`. */
  read(): Promise<Uint8Array | undefined>;
  /** Hands on every further piece as it comes, good during the call, until `take` wants no more. Rejects with `BrokenBody`, or what `take` throws. */
  each(take: (piece: Uint8Array) => boolean): Promise<void>;
  cancel(): Promise<void>;
}

export function bodyReader(body: ReadableStream<Uint8Array>): BodyReader {
  const source = byteSource(body) ?? pieceSource(body);
  let used: Uint8Array | undefined;
  // One promise per piece: there may be tens of thousands.
  const each = async (take: (piece: Uint8Array) => boolean): Promise<void> => {
    for (;;) {
      let read: ReadableStreamReadResult<Uint8Array>;
      try {
        read = await source.read(used);
      } catch {
        throw new BrokenBody("The body has broken off.");
      }
      used = read.value;
      if (read.done || !take(read.value)) return;
    }
  };
  return {
    each,
    async read() {
      let next: Uint8Array | undefined;
      await each((piece) => {
        next = piece;
        return false;
      });
      return next;
    },
    cancel: () => source.cancel(),
  };
}

interface Source {
  /** `used`: the piece before, whose bytes nobody needs any more. */
  read(used: Uint8Array | undefined): Promise<ReadableStreamReadResult<Uint8Array>>;
  cancel(): Promise<void>;
}

/** One buffer serves all reads: with a new one per piece, 96 MiB of wire leave 90 MiB of garbage resident. */
function byteSource(body: ReadableStream<Uint8Array>): Source | undefined {
  try {
    const reader = body.getReader({ mode: "byob" });
    return { read: (used) => reader.read(new Uint8Array(roomAfter(used))), cancel: () => reader.cancel() };
  } catch {
    // Only a stream of bytes reads into a buffer: a body from the network does, one made by a script may not.
    return undefined;
  }
}

/** The memory of the piece before; where that was full more waits, and it is a larger one. */
function roomAfter(used: Uint8Array | undefined): ArrayBuffer {
  if (!(used?.buffer instanceof ArrayBuffer)) return new ArrayBuffer(FIRST_BYTES);
  const { buffer, byteLength } = used;
  return byteLength === buffer.byteLength && byteLength < PIECE_BYTES ? new ArrayBuffer(PIECE_BYTES) : buffer;
}

function pieceSource(body: ReadableStream<Uint8Array>): Source {
  const reader = body.getReader();
  return { read: () => reader.read(), cancel: () => reader.cancel() };
}
