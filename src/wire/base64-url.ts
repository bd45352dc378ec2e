// Bytes as base64url text without padding (RFC 4648, section 5), and back.

import { fromBase64, toBase64 } from "./base64.ts";

export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** `undefined` when the text is not base64url, or empty. */
export const fromBase64Url = (text: string): Uint8Array | undefined =>
  /^[A-Za-z0-9_-]+$/.test(text) ? fromBase64(text.replaceAll("-", "+").replaceAll("_", "/")) : undefined;
