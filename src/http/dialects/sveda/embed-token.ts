// Embed tokens: what a visitor's page is given by its host and sends with every request. Signed for one tenant; keeps nothing.
import * as v from "valibot";
import { embedClaimsSchema, type EmbedClaims } from "../../../../schemas/dialects/sveda-embed.ts";
import { fromBase64Url, toBase64Url } from "../../../wire/base64-url.ts";
import { toHex } from "../../../wire/hex.ts";
import { parseJson } from "../../../wire/json.ts";

export const TOKEN_PREFIX = "sveda_embed_";
/** The visitor that hosts administer by; no page may be it. */
export const ADMIN_VISITOR = "sveda-admin";

const encoder = new TextEncoder();

/** `secret`: the server's; each tenant's tokens have a key of their own, made from it. */
export async function signEmbedToken(secret: string, claims: EmbedClaims): Promise<string> {
  const body = toBase64Url(encoder.encode(JSON.stringify(claims)));
  const key = await keyOf(secret, claims.tenant, "sign");
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(body));
  return `${TOKEN_PREFIX}${body}.${toHex(new Uint8Array(signature))}`;
}

/** The claims of a token that is valid at `now` (Unix epoch, milliseconds); malformed, forged and expired are alike. */
export async function openEmbedToken(secret: string, token: string, now: number): Promise<EmbedClaims | undefined> {
  const dot = token.lastIndexOf(".");
  if (!token.startsWith(TOKEN_PREFIX) || dot < 0) return undefined;
  const body = token.slice(TOKEN_PREFIX.length, dot);
  const signature = fromHex(token.slice(dot + 1));
  const bytes = fromBase64Url(body);
  if (signature === undefined || bytes === undefined) return undefined;
  const parsed = v.safeParse(embedClaimsSchema, parseJson(new TextDecoder().decode(bytes))?.value);
  if (!parsed.success) return undefined;
  const claims = parsed.output;
  const key = await keyOf(secret, claims.tenant, "verify");
  if (!(await crypto.subtle.verify("HMAC", key, signature, encoder.encode(body)))) return undefined;
  const limited = (claims.policy ?? "") !== "" || (claims.grants ?? undefined) !== undefined;
  if (isAdmin(claims) && limited) return undefined;
  return claims.expires_at >= Math.floor(now / 1000) ? claims : undefined;
}

const isAdmin = ({ admin, visitor_id }: EmbedClaims): boolean => admin === true && visitor_id === ADMIN_VISITOR;

async function keyOf(secret: string, tenant: string, usage: "sign" | "verify"): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveKey"]);
  const info = encoder.encode(`holdfast sveda embed ${tenant}`);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
    material,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    [usage],
  );
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}
