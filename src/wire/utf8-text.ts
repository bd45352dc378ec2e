// Text of a stretch of UTF-8 bytes. What is no UTF-8 becomes U+FFFD; a byte order mark stays.

/** For whole stretches only, which is what it is fast at: a decoder that streams takes three times as long. */
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

export const utf8Text = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end));
