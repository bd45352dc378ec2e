// Bytes as base64 text (RFC 4648, section 4), and back.

export const toBase64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** `undefined` when the text is not base64, or empty. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text === "") return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
