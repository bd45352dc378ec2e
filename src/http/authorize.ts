// Who asks: an API key, a ticket, or anybody on localhost when no keys are configured. Gives a tenant or a problem.
import * as v from "valibot";
import type { TicketScope } from "../../schemas/run.ts";
import { isSecretKey } from "../run/secret-keys.ts";
import { toHex } from "../wire/hex.ts";
import { parseJson } from "../wire/json.ts";
import { fieldProblem, found, refused, type Problem, type Result } from "./problem.ts";
import { openTicket, ticketSecret } from "./tickets.ts";

const OPEN_TENANT = "local";
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
  for (const name of url.searchParams.keys()) {
    if (name === "key" || isSecretKey(name)) {
      return refused(
        fieldProblem(`query:${name}`, "looks like a credential; keys go into Authorization", "forbiddenSecretKey"),
      );
    }
  }
  if (env.API_KEYS === undefined && !isLocal(url)) return refused(localOnly);
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

const isLocal = ({ hostname }: URL): boolean => ["localhost", "127.0.0.1", "[::1]"].includes(hostname);

const localOnly: Problem = {
  code: "forbidden",
  message: "Without the secret API_KEYS this server answers on localhost only.",
};

async function byKey(header: string | null, keys: string): Promise<Result<string>> {
  const parsed = v.safeParse(keysSchema, parseJson(keys)?.value);
  if (!parsed.success) {
    return refused({ code: "bug", message: "The secret API_KEYS is not a JSON object of SHA-256 hashes to tenants." });
  }
  if (header === null) return refused({ code: "unauthorized", message: "An API key is missing." });
  const key = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (key === undefined) {
    return refused({ code: "unauthorized", message: "The Authorization header must be 'Bearer' and a key." });
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const hash = toHex(new Uint8Array(digest));
  const tenant = Object.hasOwn(parsed.output, hash) ? parsed.output[hash] : undefined;
  if (tenant === undefined) return refused({ code: "unauthorized", message: "The API key is not known." });
  return found(tenant);
}
