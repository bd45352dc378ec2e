// Who asks: a visitor by its embed token, or a host by its tenant's API key.
import type { Config, Policy } from "../../../../schemas/config.ts";
import { elsewhereProblem, isTenant, OPEN_TENANT, tenantOfKey } from "../../authorize.ts";
import { ticketSecret } from "../../tickets.ts";
import { openEmbedToken, TOKEN_PREFIX } from "./embed-token.ts";
import { fromProblem, svedaFound, svedaRefused, unauthorized, type SvedaResult } from "./problem.ts";

export interface Visitor {
  tenant: string;
  visitor: string;
  /** Of a named policy; whether it is configured is looked up where it matters. */
  policy: string | undefined;
  grants: Policy | undefined;
}

/** The visitor whose token the request carries. */
export async function visitorOf(request: Request, env: Env): Promise<SvedaResult<Visitor>> {
  const elsewhere = elsewhereProblem(new URL(request.url), env);
  if (elsewhere !== undefined) return svedaRefused(fromProblem(elsewhere));
  const bearer = bearerOf(request);
  const token = request.headers.get("x-sveda-embed-token") ?? (bearer?.startsWith(TOKEN_PREFIX) ? bearer : undefined);
  if (token === undefined) return svedaRefused(unauthorized);
  const secret = await ticketSecret(env);
  if (!secret.ok) return svedaRefused(fromProblem(secret.problem));
  const claims = await openEmbedToken(secret.value, token.trim(), Date.now());
  if (claims === undefined || !isTenant(claims.tenant, env)) return svedaRefused(unauthorized);
  return svedaFound({
    tenant: claims.tenant,
    visitor: claims.visitor_id,
    policy: claims.policy === null || claims.policy === "" ? undefined : claims.policy,
    grants: claims.grants ?? undefined,
  });
}

/** The tenant whose key the request carries. Without configured keys nobody needs one. */
export async function hostOf(request: Request, env: Env): Promise<SvedaResult<string>> {
  const elsewhere = elsewhereProblem(new URL(request.url), env);
  if (elsewhere !== undefined) return svedaRefused(fromProblem(elsewhere));
  if (env.API_KEYS === undefined) return svedaFound(OPEN_TENANT);
  const bearer = bearerOf(request);
  const key = request.headers.get("x-sveda-host-key") ?? (bearer?.startsWith(TOKEN_PREFIX) ? undefined : bearer);
  if (key === undefined) return svedaRefused(unauthorized);
  const tenant = await tenantOfKey(key.trim(), env.API_KEYS);
  return tenant.ok ? tenant : svedaRefused(fromProblem(tenant.problem));
}

const bearerOf = (request: Request): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];

/** What the visitor's policy says. A token may name one that is no longer configured. */
export function policyOf({ policy }: Visitor, { sveda }: Config): SvedaResult<Policy | undefined> {
  if (policy === undefined) return svedaFound(undefined);
  const named = Object.hasOwn(sveda.policies, policy) ? sveda.policies[policy] : undefined;
  return named === undefined
    ? svedaRefused({ code: "forbidden", message: `unknown policy: ${policy}` })
    : svedaFound(named);
}
