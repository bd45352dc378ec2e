// What a scripted provider does on the wire, as a closed union of steps. Shapes only: playing them is the player's work.

export type Bytes = Uint8Array | string;

export type Step =
  /** Raw bytes on the wire, as they stand; the script may write the head itself this way. */
  | { readonly step: "write"; readonly bytes: Bytes }
  /** A status line and headers; the framing of the body is whatever these headers promise. */
  | { readonly step: "head"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** One piece of chunked transfer coding, written as one packet. Empty bytes write nothing: an empty one would end the body. */
  | { readonly step: "chunk"; readonly bytes: Bytes }
  /** The zero-length piece that ends a chunked body. */
  | { readonly step: "lastChunk" }
  | { readonly step: "delay"; readonly ms: number }
  /** Waits until the test opens the gate of this name. */
  | { readonly step: "gate"; readonly name: string }
  /** Silent until the peer closes or the server stops. */
  | { readonly step: "hang" }
  /** Ends our half of the connection in the regular way. Nothing after it is played. */
  | { readonly step: "fin" }
  /** Resets the connection, after everything written before has left this process. Nothing after it is played. */
  | { readonly step: "rst" };

/** Steps in order. A generator works too, but can be played once only: hand out a fresh one per request. */
export type Script = Iterable<Step>;
