// Who asks: an API key, a ticket, or anybody on localhost when no keys are configured. Gives a tenant or a problem.
import * as v from "valibot";
import type { TicketScope } from "../../schemas/run.ts";
import { isSecretKey } from "../run/secret-keys.ts";
import { parseJson } from "../wire/json.ts";
import { sha256Hex } from "./digest.ts";
import { fieldProblem, found, refused, type Problem, type Result } from "./problem.ts";
import { openTicket, ticketSecret } from "./tickets.ts";

export const OPEN_TENANT = "local";
const encoder = new TextEncoder();
const keysSchema = v.record(
  v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/)),
);

/** `ticket`: what a ticket in the URL must allow for this route; routes without it take keys only. */
export interface Access {
  ticket?: { runId: string; scope: TicketScope };
}

export async function authorize(request: Request, env: Env, access: Access = {}): Promise<Result<string>> {
  const url = new URL(request.url);
  const misplaced = exposedKeyProblem(url) ?? elsewhereProblem(url, env);
  if (misplaced !== undefined) return refused(misplaced);
  const header = request.headers.get("authorization");
  const ticket = url.searchParams.get("ticket");
  if (header === null && ticket !== null && access.ticket !== undefined) {
    const secret = await ticketSecret(env);
    if (!secret.ok) return secret;
    const claim = await openTicket(secret.value, ticket, { ...access.ticket, now: Date.now() });
    return claim.ok ? found(claim.value.tenant) : claim;
  }
  if (env.API_KEYS === undefined) return found(OPEN_TENANT);
  return byKey(header, env.API_KEYS);
}

/** Addresses are logged and shared: no key may stand in one. */
export function exposedKeyProblem({ searchParams }: URL): Problem | undefined {
  const name = [...searchParams.keys()].find((one) => one === "key" || isSecretKey(one));
  return name === undefined
    ? undefined
    : fieldProblem(`query:${name}`, "looks like a credential; keys go into Authorization", "forbiddenSecretKey");
}

/** Without keys the server is open, so it answers on localhost only. */
export function elsewhereProblem({ hostname }: URL, env: Env): Problem | undefined {
  if (env.API_KEYS !== undefined || ["localhost", "127.0.0.1", "[::1]"].includes(hostname)) return undefined;
  return { code: "forbidden", message: "Without the secret API_KEYS this server answers on localhost only." };
}

async function byKey(header: string | null, keys: string): Promise<Result<string>> {
  if (header === null) return refused({ code: "unauthorized", message: "An API key is missing." });
  const key = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (key === undefined) {
    return refused({ code: "unauthorized", message: "The Authorization header must be 'Bearer' and a key." });
  }
  return tenantOfKey(key, keys);
}

/** Whose key this is. How long the answer takes does not depend on how much of a key was guessed. */
export async function tenantOfKey(key: string, keys: string): Promise<Result<string>> {
  const known = knownKeys(keys);
  if (!known.ok) return known;
  const hash = encoder.encode(await sha256Hex(key));
  let tenant: string | undefined;
  for (const [entry, owner] of Object.entries(known.value)) {
    if (crypto.subtle.timingSafeEqual(encoder.encode(entry), hash)) tenant = owner;
  }
  return tenant === undefined ? refused({ code: "unauthorized", message: "The API key is not known." }) : found(tenant);
}

/** True when this tenant is one of the server's: that of the open server, or the owner of a key. */
export function isTenant(tenant: string, env: Env): boolean {
  if (env.API_KEYS === undefined) return tenant === OPEN_TENANT;
  const known = knownKeys(env.API_KEYS);
  return known.ok && Object.values(known.value).includes(tenant);
}

function knownKeys(keys: string): Result<Record<string, string>> {
  const parsed = v.safeParse(keysSchema, parseJson(keys)?.value);
  return parsed.success
    ? found(parsed.output)
    : refused({ code: "bug", message: "The secret API_KEYS is not a JSON object of SHA-256 hashes to tenants." });
}
