// SHA-256 of a text, as names and hashes of requests are made.
import { toHex } from "../wire/hex.ts";

/** 64 lower-case hex digits. */
export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
