// A native start that goes on from another run: reads what that run left open, and plans the next one. Claims nothing: the new run's object does.
import * as v from "valibot";
import type { AttachQuery, StartAnswer } from "../../schemas/attach.ts";
import type { Config } from "../../schemas/config.ts";
import { continuationSchema, type WaitingRun } from "../../schemas/continuation.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { ThreadRef } from "../../schemas/thread.ts";
import { continuedRequest } from "../run/continued-request.ts";
import { givenResults } from "../thread/input-messages.ts";
import { stillOpen } from "../thread/open-calls.ts";
import { nativeAgent } from "./native-agent.ts";
import { threadStarted } from "./native-thread.ts";
import { fieldProblem, found, issuesProblem, refused, type Problem, type Result } from "./problem.ts";
import { startInThread, type BegunInThread } from "./start-in-thread.ts";
import { planNative, type NamedStart } from "./start-run.ts";
import { threadCalls } from "./thread-calls.ts";

/**
 * Starts a run that goes on from `previousRunId`, in the thread of that one if it has one, or answers for the one that this
 * is a repeat of: by then nothing goes on from that run any more.
 */
export async function continueRun(
  env: Env,
  named: NamedStart,
  previousRunId: string,
  config: Config,
  query: AttachQuery | undefined,
): Promise<Result<StartAnswer>> {
  const { tenant, runId, requestHash, idempotencyKey } = named;
  const repeat = () => env.RUN.getByName(`${tenant}/${runId}`).repeat({ requestHash, idempotencyKey }, query);
  const first = await repeat();
  if (first !== undefined) return found(first);
  const started = await startAfter(env, named, previousRunId, config, query);
  if (started.ok) return started;
  // It may have been started meanwhile.
  const again = await repeat();
  return again === undefined ? started : found(again);
}

async function startAfter(
  env: Env,
  named: NamedStart,
  previousRunId: string,
  config: Config,
  query: AttachQuery | undefined,
): Promise<Result<StartAnswer>> {
  const left = await waitingRun(env, named.tenant, previousRunId);
  if (!left.ok) return left;
  const { thread } = left.value;
  const { threadId } = named.request;
  if (threadId !== undefined && threadId !== thread?.threadId) return refused(otherThread);
  const { maxActiveRuns } = config.limits;
  if (thread === undefined) {
    const plan = planContinuation(named, previousRunId, left.value, config);
    if (!plan.ok) return plan;
    return found(await env.RUN.getByName(`${named.tenant}/${named.runId}`).start(plan.value, maxActiveRuns, query));
  }
  const { tenant, runId, requestHash, idempotencyKey, request } = named;
  const standing = await threadCalls(env, tenant, thread.threadId).waiting(runId);
  const inThread = standing.found && standing.waiting?.runId === previousRunId ? standing.waiting : undefined;
  const waiting = inThread === undefined ? left.value : stillOpen(left.value, inThread);
  const input = givenResults(runId, request.toolResults ?? [], waiting.open);
  const started = await startInThread(env, {
    tenant,
    begin: {
      threadId: thread.threadId,
      runId,
      requestHash,
      ifMissing: "refuse",
      strategy: "reject",
      input,
      continues: previousRunId,
      settles: waiting.open.map(({ toolCallId }) => toolCallId),
      assistantId: thread.chain,
      metadata: request.metadata ?? {},
      kwargs: {},
      // The conversation is that of the earlier run.
      maxConversationBytes: 0,
      maxThreadBytes: config.limits.maxThreadBytes,
    },
    idempotencyKey,
    maxActiveRuns,
    query,
    plan: (begun) =>
      planContinuation(named, previousRunId, waiting, config, {
        begun,
        ref: { ...thread, ...(input.length > 0 && { results: input }) },
      }),
  });
  const isOver = started.by === "thread" && started.answer.refused === "not_waiting";
  return isOver ? refused(notWaiting) : threadStarted(started);
}

/** The run that is to be gone on from. */
export async function waitingRun(env: Env, tenant: string, runId: string): Promise<Result<WaitingRun>> {
  const answer: unknown = await env.RUN.getByName(`${tenant}/${runId}`).continuation();
  // What a run has kept goes on as it is; valibot's copy would lack some keys.
  if (!v.is(continuationSchema, answer)) throw new Error("A run handed over what is no continuation.");
  return answer.found ? found(answer) : refused(problems[answer.refused]);
}

/** The plan of a run that goes on from `waiting`; in its thread, when that has begun the run. */
export function planContinuation(
  { request: body, ...named }: NamedStart,
  previousRunId: string,
  waiting: WaitingRun,
  config: Config,
  thread?: { begun: BegunInThread; ref: ThreadRef },
): Result<RunPlan> {
  const continued = continuedRequest(body, waiting);
  if (!continued.ok) return refused(issuesProblem(continued.issues));
  const { request, carried } = continued;
  return planNative(request, {
    ...named,
    config,
    agent: nativeAgent(request, config, { carried, callIds: thread?.begun.callIds }),
    thread: thread?.ref,
    continues: previousRunId,
    brings: body,
  });
}

const at = (message: string, keyword: string): Problem => fieldProblem("/previousRunId", message, keyword);

const otherThread: Problem = fieldProblem(
  "/threadId",
  "is not the thread of the run that 'previousRunId' names",
  "const",
);

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
