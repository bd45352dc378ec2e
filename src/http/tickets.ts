// Tickets: signed, scoped, expiring credentials that may stand in a URL. HMAC-SHA256 over a short JSON claim.
import * as v from "valibot";
import type { TicketScope } from "../../schemas/run.ts";
import { fromBase64Url, toBase64Url } from "../wire/base64-url.ts";
import { parseJson } from "../wire/json.ts";
import { found, refused, type Problem, type Result } from "./problem.ts";

const claimSchema = v.strictObject({
  tenant: v.string(),
  run: v.string(),
  scope: v.array(v.picklist(["read", "cancel"])),
  /** Unix epoch, milliseconds. */
  expires: v.number(),
});
export type TicketClaim = v.InferOutput<typeof claimSchema>;

/** The signing secret: TICKET_SECRET, or in open mode a random key kept by the tenant's object. */
export async function ticketSecret(env: Env): Promise<Result<string>> {
  if (env.TICKET_SECRET !== undefined && env.TICKET_SECRET !== "") return found(env.TICKET_SECRET);
  if (env.API_KEYS === undefined) return found(await env.TENANT.getByName("local").ticketKey());
  return refused({
    code: "unavailable",
    message: "Tickets need the secret TICKET_SECRET, which is not set on this server.",
  });
}

export async function signTicket(secret: string, claim: TicketClaim): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(claim));
  const signature = await crypto.subtle.sign("HMAC", await importKey(secret, "sign"), text);
  return `${toBase64Url(text)}.${toBase64Url(new Uint8Array(signature))}`;
}

/**
 * The claim of a ticket that is valid now for `runId` and `scope`. Malformed, forged and expired are alike: 401.
 * Another run's ticket is 404, as if the run were not there; a missing scope is 403.
 */
export async function openTicket(
  secret: string,
  ticket: string,
  need: { runId: string; scope: TicketScope; now: number },
): Promise<Result<TicketClaim>> {
  const claim = await verify(secret, ticket);
  if (claim === undefined) return refused(notValid());
  if (claim.expires <= need.now) return refused(notValid("has expired"));
  if (claim.run !== need.runId) return refused({ code: "not_found", message: "There is no such run." });
  if (!claim.scope.includes(need.scope)) {
    return refused({ code: "forbidden", message: `The ticket does not allow '${need.scope}'.` });
  }
  return found(claim);
}

async function verify(secret: string, ticket: string): Promise<TicketClaim | undefined> {
  const [body, signature, ...rest] = ticket.split(".").map(fromBase64Url);
  if (body === undefined || signature === undefined || rest.length > 0) return undefined;
  if (!(await crypto.subtle.verify("HMAC", await importKey(secret, "verify"), signature, body))) return undefined;
  const parsed = v.safeParse(claimSchema, parseJson(new TextDecoder().decode(body))?.value);
  return parsed.success ? parsed.output : undefined;
}

const notValid = (why = "is not valid"): Problem => ({ code: "unauthorized", message: `The ticket ${why}.` });

function importKey(secret: string, usage: "sign" | "verify"): Promise<CryptoKey> {
  const bytes = new TextEncoder().encode(`holdfast ticket ${secret}`);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}
