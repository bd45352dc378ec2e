// How the object of a visitor or of a thread speaks to the runs that began there. An object that was reset in between is asked again.
import * as v from "valibot";
import { outcomeSchema, type Outcome } from "../schemas/outcome.ts";
import type { RunWord } from "../src/chat/turn-rules.ts";

const TRIES = 3;

/** How a run stands after it was told to end. `outcome` is left out of one that cannot be read: even that has ended. */
export type CancelAnswer = "unknown" | "running" | { outcome?: Outcome };

export interface RunCalls {
  /** `unknown`: no run of this name was started, or it is forgotten. */
  statusOf(runId: string): Promise<RunWord>;
  /** Whether there is a run; one that is just being started is waited for. */
  exists(runId: string): Promise<boolean>;
  cancel(runId: string, reason: string): Promise<CancelAnswer>;
  /** Nothing of the run is left afterwards. */
  forget(runId: string): Promise<void>;
}

type Stub = ReturnType<Env["RUN"]["getByName"]>;

export function runCalls(env: Env, tenant: string): RunCalls {
  const ask = async <T>(runId: string, question: (stub: Stub) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        // Anew for each call: a stub whose object has died stays broken.
        return await question(env.RUN.getByName(`${tenant}/${runId}`));
      } catch (error) {
        if (tries === TRIES) throw error;
      }
    }
  };

  return {
    forget: (runId) =>
      ask(runId, async (stub) => {
        if ((await stub.forget()) === "untold") throw new Error("The run stays until its thread has its records.");
      }),
    statusOf: (runId) => ask(runId, async (stub) => (await stub.word()) ?? "unknown"),
    exists: (runId) => ask(runId, (stub) => stub.exists()),
    cancel: (runId, reason) =>
      ask(runId, async (stub) => {
        const answer = await stub.cancel(reason);
        if ("refused" in answer) return "unknown";
        if ("running" in answer) return "running";
        const outcome: unknown = await answer.json();
        return v.is(outcomeSchema, outcome) ? { outcome } : {};
      }),
  };
}
