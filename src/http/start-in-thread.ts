// How a run of a thread begins: the thread is asked first, and told when nothing comes of it. Plans nothing itself, and knows no family's errors.
import type { AttachQuery, StartAnswer } from "../../schemas/attach.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { ThreadRunAnswer, ThreadRunRequest } from "../../schemas/thread.ts";

/** What the thread knows when the run begins: the conversation that a model is to read, the request's own messages at its end. */
export type BegunInThread = Omit<Extract<ThreadRunAnswer, { begun: true }>, "begun" | "repeat">;

export type RefusedInThread = Extract<ThreadRunAnswer, { begun: false }>;

/** A plan, or why there is none, in the words of the family. */
export type Planned<P> = { ok: true; value: RunPlan } | { ok: false; problem: P };

export interface ThreadStart<P> {
  tenant: string;
  /** With the name and the hash that the plan has. */
  begin: ThreadRunRequest;
  idempotencyKey?: string | undefined;
  maxActiveRuns: number;
  /** Attaches to the run's events in the same call. */
  query?: AttachQuery | undefined;
  /**
   * Called first with an empty conversation: what is refused for itself begins nothing and makes no thread. The plan has
   * `thread` and an agent, and goes by `begin.continues`. A plan that takes time holds the thread meanwhile.
   */
  plan(begun: BegunInThread): Planned<P> | Promise<Planned<P>>;
}

/** Whose answer it is: the run's, the thread's, or that of whoever planned the run. */
export type StartedInThread<P> =
  | { by: "run"; answer: StartAnswer }
  | { by: "thread"; answer: RefusedInThread }
  | { by: "plan"; problem: P };

/** A stub's own type gives up at fields of unknown type. */
const beginRun = async (
  thread: ReturnType<Env["THREAD"]["getByName"]>,
  request: ThreadRunRequest,
): Promise<ThreadRunAnswer> => thread.beginRun(request);

const nothingYet: BegunInThread = { messages: [], callIds: [], asked: 0 };

/** Starts the run, or answers for the one that this is a repeat of, whatever has become of its thread. */
export async function startInThread<P>(env: Env, start: ThreadStart<P>): Promise<StartedInThread<P>> {
  const { tenant, begin, idempotencyKey, query } = start;
  const { runId, requestHash } = begin;
  // Anew for each call: a stub whose object has died stays broken.
  const run = () => env.RUN.getByName(`${tenant}/${runId}`);
  const thread = () => env.THREAD.getByName(`${tenant}/${begin.threadId}`);
  const first = await run().repeat({ requestHash, idempotencyKey }, query);
  if (first !== undefined) return { by: "run", answer: first };
  const unfit = await start.plan(nothingYet);
  if (!unfit.ok) return { by: "plan", problem: unfit.problem };
  const begun = await beginRun(thread(), begin);
  if (!begun.begun) return { by: "thread", answer: begun };
  // Of a repeat whoever asked before may be about to start it as well: a run starts once.
  const plan = await orAbandoned(start.plan(begun), () => thread().abandonRun(runId));
  if (!plan.ok) {
    await thread().abandonRun(runId);
    return { by: "plan", problem: plan.problem };
  }
  const answer = await run().start(plan.value, start.maxActiveRuns, query);
  if (!answer.started) await thread().abandonRun(runId);
  return { by: "run", answer };
}

/** What fails without a word must not hold the thread. */
async function orAbandoned<T>(planned: T | Promise<T>, abandon: () => Promise<void>): Promise<T> {
  try {
    return await planned;
  } catch (error) {
    await abandon();
    throw error;
  }
}
