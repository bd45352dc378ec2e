// What a run has before it is accepted: a slot of its tenant, and its chain in the order that the tenant knows to be best.
import type { RunPlan } from "../schemas/plan.ts";
import { healthyFirst } from "../src/run/breaker.ts";
import { decidedFor } from "../src/run/planner.ts";
import { LIVE_ALARM_MS } from "./retention.ts";

/** How the run is to be tried; `undefined` when the tenant has no slot left. */
export async function admit(
  env: Env,
  plan: RunPlan,
  startedAt: number,
  maxActiveRuns: number,
): Promise<Pick<RunPlan, "chain" | "decision" | "hedgeAfterMs"> | undefined> {
  const admitted = await env.TENANT.getByName(plan.tenant).admit({
    runId: plan.runId,
    startedAt,
    until: startedAt + plan.totalMs + LIVE_ALARM_MS,
    maxActiveRuns,
    chain: plan.chain.map(({ id, scope }) => ({ id, scope })),
    breaker: plan.breaker,
    hedge: plan.hedge,
  });
  if (!admitted.admitted) return undefined;
  const { benched, hedgeAfterMs } = admitted;
  const chain = healthyFirst(plan.chain, benched);
  return { chain, decision: decidedFor(plan.decision, chain), hedgeAfterMs };
}
