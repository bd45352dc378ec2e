// Text of a stretch of UTF-8 bytes. What is no UTF-8 becomes U+FFFD; a byte order mark stays.

/** For whole stretches only, which is what it is fast at: a decoder that streams takes three times as long. */
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Bytes up to which ASCII is put together from its letters: a call of the decoder costs as much as this many. */
const SHORT = 12;
const LETTERS = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code));

export const utf8Text = (bytes: Uint8Array, start: number, end: number): string =>
  (end - start <= SHORT ? asciiText(bytes, start, end) : undefined) ?? decoder.decode(bytes.subarray(start, end));

/** `undefined` when it holds anything but ASCII. */
function asciiText(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = "";
  for (let at = start; at < end; at++) {
    const letter = LETTERS[bytes[at] ?? 0];
    if (letter === undefined) return undefined;
    text += letter;
  }
  return text;
}
