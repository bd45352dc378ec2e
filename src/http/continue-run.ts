// A native start that goes on from another run: reads what that run left open, and plans the next one. Claims nothing: the new run's object does.
import * as v from "valibot";
import type { AttachQuery, StartAnswer } from "../../schemas/attach.ts";
import type { Config } from "../../schemas/config.ts";
import { continuationSchema } from "../../schemas/continuation.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { continuedRequest } from "../run/continued-request.ts";
import { nativeAgent } from "./native-agent.ts";
import { fieldProblem, found, issuesProblem, refused, type Problem, type Result } from "./problem.ts";
import { planNative, type NamedStart } from "./start-run.ts";

/**
 * Starts a run that goes on from `previousRunId`, or answers for the one that this is a repeat of: by then nothing goes on
 * from that run any more.
 */
export async function continueRun(
  env: Env,
  named: NamedStart,
  previousRunId: string,
  config: Config,
  query: AttachQuery | undefined,
): Promise<Result<StartAnswer>> {
  const { tenant, runId, requestHash, idempotencyKey } = named;
  const stub = env.RUN.getByName(`${tenant}/${runId}`);
  const repeat = () => stub.repeat({ requestHash, idempotencyKey }, query);
  const first = await repeat();
  if (first !== undefined) return found(first);
  const plan = await planContinuation(env, named, previousRunId, config);
  if (plan.ok) return found(await stub.start(plan.value, config.limits.maxActiveRuns, query));
  // It may have been started meanwhile.
  const again = await repeat();
  return again === undefined ? plan : found(again);
}

async function planContinuation(
  env: Env,
  { request: body, ...named }: NamedStart,
  previousRunId: string,
  config: Config,
): Promise<Result<RunPlan>> {
  const answer: unknown = await env.RUN.getByName(`${named.tenant}/${previousRunId}`).continuation();
  // What a run has kept goes on as it is; valibot's copy would lack some keys.
  if (!v.is(continuationSchema, answer)) throw new Error("A run handed over what is no continuation.");
  if (!answer.found) return refused(problems[answer.refused]);
  const continued = continuedRequest(body, answer);
  if (!continued.ok) return refused(issuesProblem(continued.issues));
  const { request, carried } = continued;
  return planNative(request, {
    ...named,
    config,
    agent: nativeAgent(request, config, carried),
    continues: previousRunId,
    brings: body,
  });
}

const at = (message: string, keyword: string): Problem => fieldProblem("/previousRunId", message, keyword);

/** The run is not, or no longer, one to go on from. */
export const notWaiting: Problem = {
  ...at("names a run that no other can go on from, or that one went on from before", "conflict"),
  code: "conflict",
};

const problems: Record<"not_found" | "not_waiting" | "gone", Problem> = {
  not_found: { ...at("names no run", "exists"), code: "not_found" },
  not_waiting: notWaiting,
  gone: { ...at("names a run whose events are gone", "gone"), code: "gone" },
};
