// What a run has asked to be told later: that a wait is over. A further request is paid for before the run is told.
import type { Input } from "../src/run/machine.ts";
import type { Effect } from "../src/run/step.ts";
import { pass } from "./gate.ts";
import type { RunTenant } from "./run-tenant.ts";
import type { Timer } from "./within.ts";

type Wake = Extract<Effect, { type: "wake" }>;
type Told = Extract<Input, { type: "retry" | "hedge" | "title" }>;

export interface Wakes {
  after(wake: Wake): void;
  /** Tells nothing any more. */
  stop(): void;
}

export interface WakesOptions {
  ctx: DurableObjectState;
  tenant: RunTenant;
  apply(input: Told): void;
  /** Whether the input would change anything. */
  changes(input: Told): boolean;
}

export function runWakes({ ctx, tenant, apply, changes }: WakesOptions): Wakes {
  const timers = new Set<Timer>();

  /** Other runs may want a further request at the same time. Without the tenant there is none. */
  async function askFurther(told: () => Told): Promise<void> {
    try {
      if (!changes(told()) || !(await tenant.spendFurther())) return;
      await pass("further", ctx);
      if (changes(told())) apply(told());
      else await tenant.giveBackFurther();
    } catch {
      // A budget that is told nothing is too small, not too large, and fills up again.
    }
  }

  return {
    after({ input: type, ms, spreadMs, step }) {
      const told = (): Told => ({ type, at: Date.now(), ...(step !== undefined && { step }) });
      const timer = setTimeout(
        () => {
          timers.delete(timer);
          if (type === "hedge") ctx.waitUntil(askFurther(told));
          else apply(told());
        },
        ms + Math.random() * spreadMs,
      );
      timers.add(timer);
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
