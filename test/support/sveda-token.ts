// Embed tokens made by hand, from the description of their format alone, with Node's own cryptography.
import { createHmac, hkdfSync } from "node:crypto";

export const keyOf = (secret: string, tenant: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, "", `holdfast sveda embed ${tenant}`, 32));

/** `text`: the claims as JSON, or anything else. */
export function tokenOf(key: Buffer, text: string): string {
  const body = Buffer.from(text).toString("base64url");
  return `sveda_embed_${body}.${createHmac("sha256", key).update(body).digest("hex")}`;
}
