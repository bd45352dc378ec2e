// How a dialect's frames are put on the wire.
export type Framing = "sse" | "ndjson";
