// What the edge makes of a native start's body.
import type { Config } from "../../schemas/config.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { Result } from "../../src/http/problem.ts";
import { nameStart, planRun } from "../../src/http/start-run.ts";

export async function planBody(body: unknown, config: Config): Promise<Result<RunPlan>> {
  const named = await nameStart(body, undefined, "local");
  return named.ok ? planRun(named.value, config) : named;
}
