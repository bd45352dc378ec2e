// What a run tells its tenant's object and asks of it: how its targets did, whether a further request may be made, and its slot. Decides nothing.
import type { TargetNews, TargetReport } from "../schemas/plan.ts";
import type { RunRow } from "./run-row.ts";
import { answersWithin, END_WAIT_MS } from "./within.ts";

export interface RunTenant {
  /** Failures are told at once: other runs are about to make the same choice. All else goes with the slot. */
  tell(report: TargetReport): void;
  /** Pays for a further request. False when there is nothing left to spend. */
  spendFurther(): Promise<boolean>;
  /** The further request was not made after all. */
  giveBackFurther(): Promise<void>;
  /** Gives the slot back, with what is still to be told. */
  release(): Promise<boolean>;
}

export function runTenant(ctx: DurableObjectState, env: Env, row: RunRow): RunTenant {
  const { tenant, chain, breaker } = row.plan;
  // Anew for each call: a stub whose object has died stays broken.
  const stub = () => env.TENANT.getByName(tenant);
  let news: TargetNews[] = [];

  const take = (): TargetNews[] => {
    const taken = news;
    news = [];
    return taken;
  };

  return {
    tell(report) {
      const planned = chain.find(({ id }) => id === report.targetId);
      // The embedded target fails on purpose: there is nothing to learn from it.
      if (planned === undefined || planned.adapter === "demo") return;
      news.push({ report, scope: planned.scope, breaker });
      if (report.result !== "failed") return;
      ctx.waitUntil(
        stub()
          .report(take())
          .catch(() => undefined),
      );
    },
    spendFurther: () => stub().spendFurther(),
    giveBackFurther: () => stub().giveBackFurther(),
    release: () => releaseSlot(env, row, take()),
  };
}

/** Gives the tenant's slot back, with what the run has learned of its targets. False when the tenant did not answer in time. */
export function releaseSlot(
  env: Env,
  { plan: { tenant, runId } }: Pick<RunRow, "plan">,
  news: TargetNews[] = [],
): Promise<boolean> {
  return answersWithin(env.TENANT.getByName(tenant).release(runId, news), END_WAIT_MS);
}
