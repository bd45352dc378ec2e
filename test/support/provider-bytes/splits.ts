// Cuts bytes into pieces at chosen or seeded positions, without regard to what they mean. Plain typed arrays only, so that
// it runs in workerd too.

/** The bytes in pieces, cut before each of the positions; positions may come in any order, repeat and be out of range. */
export function splitBytes(bytes: Uint8Array | string, cutPositions: readonly number[]): Uint8Array[] {
  const whole = toBytes(bytes);
  const inside = new Set(cutPositions.filter((position) => position > 0 && position < whole.length));
  const edges = [...inside].toSorted((left, right) => left - right);
  return [...edges, whole.length].map((edge, index) => whole.subarray(index === 0 ? 0 : edges[index - 1], edge));
}

/** The bytes in 1 to `maxPieces` pieces; the same seed cuts the same way. */
export function seededSplits(bytes: Uint8Array | string, seed: number, maxPieces: number): Uint8Array[] {
  const whole = toBytes(bytes);
  const random = seededRandom(seed);
  const cuts = Math.floor(random() * maxPieces);
  return splitBytes(
    whole,
    Array.from({ length: cuts }, () => 1 + Math.floor(random() * (whole.length - 1))),
  );
}

/** UTF-8 for text, the same array for bytes. */
export function toBytes(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
}

/** One array from many. */
export function joinBytes(pieces: readonly (Uint8Array | string)[]): Uint8Array {
  const arrays = pieces.map(toBytes);
  const joined = new Uint8Array(arrays.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of arrays) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

/** Mulberry32: small, and the same everywhere. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
