// Signs a request as Standard Webhooks has it, so that a tool can tell our calls from anybody else's. Never logs a key.
import { fromBase64, toBase64 } from "../../src/wire/base64.ts";

const PREFIX = "whsec_";

/**
 * The key that a secret stands for: after `whsec_` base64, as the standard writes secrets; any other secret is its own UTF-8 bytes.
 * `undefined` when what follows `whsec_` is not base64, or nothing.
 */
export function webhookKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  return fromBase64(secret.slice(PREFIX.length));
}

export interface Signed {
  id: string;
  /** Whole seconds since the Unix epoch. */
  timestamp: number;
  body: string;
}

/** The value of `webhook-signature`. */
export async function webhookSignature(key: Uint8Array, { id, timestamp, body }: Signed): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const hmac = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  return `v1,${toBase64(new Uint8Array(signature))}`;
}
