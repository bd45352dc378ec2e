// Reads a response's body piece by piece, as the pieces come. Knows no format and keeps nothing.

/** Bytes read at once, at most. */
const PIECE_BYTES = 65_536;

export interface BodyReader {
  /** The next piece, good until the next call; `undefined` at the end. Rejects when the body breaks. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

/** One buffer serves all reads: with a new one per piece, 96 MiB of wire leave 90 MiB of garbage resident. */
export function bodyReader(body: ReadableStream<Uint8Array>): BodyReader {
  const reader = byteReader(body);
  if (reader === undefined) return pieceReader(body);
  let buffer = new ArrayBuffer(PIECE_BYTES);
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = value.buffer;
      return done ? undefined : value;
    },
    cancel: () => reader.cancel(),
  };
}

/** Only a stream of bytes reads into a buffer: a body from the network does, one made by a script may not. */
function byteReader(body: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

function pieceReader(body: ReadableStream<Uint8Array>): BodyReader {
  const reader = body.getReader();
  return {
    async read() {
      const { done, value } = await reader.read();
      return done ? undefined : value;
    },
    cancel: () => reader.cancel(),
  };
}
