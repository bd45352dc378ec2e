// Who asks, in this family: a tenant by its API key, in either of the two headers that its clients use.
import { elsewhereProblem, exposedKeyProblem, OPEN_TENANT, tenantOfKey } from "../../authorize.ts";
import { deerFound, deerRefused, fromProblem, notAuthenticated, tokenInvalid, type DeerResult } from "./problem.ts";

/** Without configured keys nobody needs one. */
export async function tenantOf(request: Request, env: Env): Promise<DeerResult<string>> {
  const url = new URL(request.url);
  const misplaced = exposedKeyProblem(url) ?? elsewhereProblem(url, env);
  if (misplaced !== undefined) return deerRefused(fromProblem(misplaced));
  if (env.API_KEYS === undefined) return deerFound(OPEN_TENANT);
  const authorization = request.headers.get("authorization");
  const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  const key = bearer ?? request.headers.get("x-api-key")?.trim();
  if (key === undefined || key === "") {
    return deerRefused(authorization === null ? notAuthenticated : tokenInvalid);
  }
  const tenant = await tenantOfKey(key, env.API_KEYS);
  if (tenant.ok) return deerFound(tenant.value);
  return deerRefused(tenant.problem.code === "unauthorized" ? tokenInvalid : fromProblem(tenant.problem));
}
