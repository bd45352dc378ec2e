// Whether the server is there, and whether it can serve visitors. Asks nobody who they are.
import type { Config } from "../../../../schemas/config.ts";
import { API_VERSION } from "../../describe.ts";
import type { Result } from "../../problem.ts";
import { ticketSecret } from "../../tickets.ts";
import { json } from "./context.ts";
import { notReady } from "./problem.ts";

const state = { ok: true, runtime: "holdfast", version: `v${API_VERSION}` };

/** `GET /sveda/health`. */
export const health = (): Response => json(state);

/** `GET /sveda/ready`: the configuration is valid and tokens can be made. */
export async function ready(env: Env, settings: Result<Config>): Promise<Response> {
  if (!settings.ok) return notReady(state, settings.problem.message);
  try {
    const secret = await ticketSecret(env);
    return secret.ok ? json(state) : notReady(state, secret.problem.message);
  } catch {
    return notReady(state, "runtime store is unavailable");
  }
}
