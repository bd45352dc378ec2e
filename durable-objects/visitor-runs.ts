// How a visitor's object speaks to the runs of its turns. An object that was reset in between is asked again.
import type { RunStateView, RunStatus } from "../schemas/run.ts";
import { asRecord, asText } from "../src/wire/json.ts";

const TRIES = 3;

/** How a run stands after it was told to end: `text` is what it had shown. */
export type CancelAnswer = "unknown" | "running" | { outcome: "completed" | "error" | "cancelled"; text: string };

export interface VisitorRuns {
  /** `unknown`: no run of this name was started, or it is forgotten. */
  statusOf(runId: string): Promise<RunStatus | "unknown">;
  cancel(runId: string, reason: string): Promise<CancelAnswer>;
}

type Stub = ReturnType<Env["RUN"]["getByName"]>;

/** A stub's own type gives up at fields of unknown type. */
const viewOf = async (stub: Stub): Promise<RunStateView | undefined> => stub.state();

export function visitorRuns(env: Env, tenant: string): VisitorRuns {
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
    statusOf: (runId) => ask(runId, async (stub) => (await viewOf(stub))?.status ?? "unknown"),
    cancel: (runId, reason) =>
      ask(runId, async (stub) => {
        const answer = await stub.cancel(reason);
        if ("refused" in answer) return "unknown";
        if ("running" in answer) return "running";
        const payload = asRecord(await answer.json());
        const { outcome } = payload ?? {};
        return {
          outcome: outcome === "completed" || outcome === "error" ? outcome : "cancelled",
          text: asText(payload?.["partialText"]) ?? asText(payload?.["finalText"]) ?? "",
        };
      }),
  };
}
