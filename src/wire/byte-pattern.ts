// Bytes that are looked for at a place, four at a time: what a provider repeats with every token is compared, not parsed.

/** Bytes to look in, with what reads them by fours. */
export interface Viewed {
  bytes: Uint8Array;
  view: DataView;
}

export interface BytePattern {
  readonly bytes: Uint8Array;
  /** The bytes by fours, without those that are left over. */
  readonly words: Int32Array;
}

export const viewed = (bytes: Uint8Array): Viewed => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
});

/** The bytes must not change afterwards. */
export function bytePattern(bytes: Uint8Array): BytePattern {
  const { view } = viewed(bytes);
  return { bytes, words: Int32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getInt32(4 * index, true)) };
}

/** Whether these bytes stand from `at` on, and before `end`. */
export function standsAt({ bytes, words }: BytePattern, within: Viewed, at: number, end: number): boolean {
  if (bytes.length > end - at) return false;
  let next = at;
  for (let index = 0; index < words.length; index++, next += 4) {
    if (within.view.getInt32(next, true) !== words[index]) return false;
  }
  for (let index = 4 * words.length; index < bytes.length; index++) {
    if (within.bytes[at + index] !== bytes[index]) return false;
  }
  return true;
}
