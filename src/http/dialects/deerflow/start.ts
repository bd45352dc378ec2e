// A run of a thread from what was asked to its first events: begun at the thread's object and started once. Waits for no end.
import type { AttachQuery, Refusal, StartAnswer } from "../../../../schemas/attach.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { StartRequest } from "../../../../schemas/run.ts";
import type { ThreadRef, ThreadRunRequest } from "../../../../schemas/thread.ts";
import { provisionalTitle } from "../../../chat/titles.ts";
import { promptOf } from "../../../run/side-questions.ts";
import { givenResults } from "../../../thread/input-messages.ts";
import { modelMessages } from "../../../thread/model-messages.ts";
import { stillOpen } from "../../../thread/open-calls.ts";
import { planContinuation, waitingRun } from "../../continue-run.ts";
import { nativeAgent } from "../../native-agent.ts";
import { asRecord } from "../../../wire/json.ts";
import { found, type Problem, type Result } from "../../problem.ts";
import { startInThread, type BegunInThread, type RefusedInThread } from "../../start-in-thread.ts";
import { planRequest } from "../../start-run.ts";
import { LEAD_AGENT } from "./assistants.ts";
import { runStub, threadOf, type DeerContext } from "./context.ts";
import { missing, valueError } from "./faults.ts";
import {
  badRequest,
  conflict,
  deerFound,
  deerRefused,
  faulty,
  fromProblem,
  noSuchCheckpoint,
  noSuchThread,
  threadFull,
  type DeerProblem,
  type DeerResult,
} from "./problem.ts";
import type { Resume, WantedRun } from "./run-create.ts";

export interface OpenedRun {
  runId: string;
  /** The stream of its events, when it was asked for. */
  reading: Response | Refusal | undefined;
}

const BUSY_RETRY_MS = 1000;

/** Starts the run, or finds the one that this is a repeat of. `context.threadId`: where it is to begin. */
export async function openRun(
  context: DeerContext,
  wanted: WantedRun,
  query: AttachQuery | undefined,
): Promise<DeerResult<OpenedRun>> {
  const { name } = wanted;
  const repeat = async (): Promise<DeerResult<OpenedRun> | undefined> => {
    if (name.idempotencyKey === undefined) return undefined;
    const answer = await runStub(context, name.runId).repeat(name, query);
    return answer === undefined ? undefined : openedBy(answer, context, wanted);
  };
  const first = await repeat();
  if (first !== undefined) return first;
  const opened = await beginRun(context, wanted, query);
  // It may have been started meanwhile.
  return opened.ok ? opened : ((await repeat()) ?? opened);
}

async function beginRun(
  context: DeerContext,
  wanted: WantedRun,
  query: AttachQuery | undefined,
): Promise<DeerResult<OpenedRun>> {
  const { env, config, tenant, threadId } = context;
  const { runId, requestHash, idempotencyKey } = wanted.name;
  const prepared =
    wanted.resume === undefined
      ? await prepareFresh(context, wanted)
      : await prepareResumed(context, wanted, wanted.resume);
  if (!prepared.ok) return prepared;
  const { begin, plan } = prepared.value;
  const started = await startInThread(env, {
    tenant,
    begin: {
      runId,
      requestHash,
      threadId,
      ifMissing: wanted.ifMissing,
      strategy: wanted.strategy,
      assistantId: wanted.assistantId,
      metadata: wanted.metadata,
      kwargs: wanted.kwargs,
      values: wanted.values,
      maxThreadBytes: config.limits.maxThreadBytes,
      ...begin,
    },
    idempotencyKey,
    maxActiveRuns: config.limits.maxActiveRuns,
    query,
    plan: (begun) => withGrace(plan(begun), config.deerflow.disconnectGraceMs),
  });
  switch (started.by) {
    case "thread":
      return deerRefused(refusalOf(started.answer, threadId, wanted));
    case "plan":
      return deerRefused(planProblem(started.problem, wanted.resume));
    case "run":
      return openedBy(started.answer, context, wanted);
  }
}

function openedBy(answer: StartAnswer, { threadId }: DeerContext, { name }: WantedRun): DeerResult<OpenedRun> {
  if (answer.started) return deerFound({ runId: name.runId, reading: answer.reading });
  if (answer.refused === "too_many_runs") return deerRefused(tooManyRuns);
  return deerRefused(answer.field === "previousRunId" ? nothingWaits(threadId) : keyTaken);
}

interface Prepared {
  begin: Pick<ThreadRunRequest, "input" | "maxConversationBytes"> &
    Partial<Pick<ThreadRunRequest, "checkpointId" | "continues">>;
  plan(begun: BegunInThread): Result<RunPlan>;
}

/** A run that answers the thread's conversation, with what the request adds to it. */
async function prepareFresh(context: DeerContext, wanted: WantedRun): Promise<DeerResult<Prepared>> {
  const { config, tenant } = context;
  const { input, checkpointId, name: run } = wanted;
  const silent = await silence(context, wanted);
  if (silent !== undefined) return deerRefused(silent);
  const brought = modelMessages(input, () => false);
  const plan = ({ messages, callIds, human, title }: BegunInThread): Result<RunPlan> => {
    const request = { ...requestOf(context, wanted), messages: messages.length > 0 ? messages : brought };
    const provisional = title === undefined ? provisionalTitle(promptOf(request)) : "";
    const agent = nativeAgent(request, config, {
      carried: [],
      callIds,
      ...(provisional !== "" && { title: { provisional, generate: false } }),
    });
    const thread = { ...refOf(context, wanted), ...(human !== undefined && { human }) };
    return planRequest(request, { tenant, config, ...run, agent, thread, brings: { messages: brought } });
  };
  return deerFound({
    begin: {
      input,
      ...(checkpointId !== undefined && { checkpointId }),
      maxConversationBytes: config.limits.maxPromptBytes,
    },
    plan,
  });
}

/** A thread in which nothing was said, and to which nothing is added, has nothing to answer. */
async function silence(context: DeerContext, { input, checkpointId }: WantedRun): Promise<DeerProblem | undefined> {
  if (input.length > 0) return undefined;
  const answer = await threadOf(context).state(checkpointId);
  if (!answer.found) return refusalOf({ begun: false, refused: answer.refused }, context.threadId, { checkpointId });
  return (answer.state?.messages ?? []).length > 0 ? undefined : faulty([missing(["body", "input"], null)]);
}

/** A run that goes on from the calls which wait in the state. */
async function prepareResumed(
  context: DeerContext,
  wanted: WantedRun,
  { results = [], decisions = [] }: Resume,
): Promise<DeerResult<Prepared>> {
  const { env, config, tenant, threadId } = context;
  const { name: run, checkpointId } = wanted;
  const standing = await threadOf(context).waiting(run.runId, checkpointId);
  if (!standing.found) {
    return deerRefused(refusalOf({ begun: false, refused: standing.refused }, threadId, wanted));
  }
  const inThread = standing.waiting;
  if (inThread === undefined) return deerRefused(nothingWaits(threadId));
  const { runId: previousRunId } = inThread;
  const left = await waitingRun(env, tenant, previousRunId);
  if (!left.ok || left.value.thread?.threadId !== threadId) return deerRefused(nothingWaits(threadId));
  const waiting = stillOpen(left.value, inThread);
  if (waiting.open.length === 0) return deerRefused(nothingWaits(threadId));
  const input = givenResults(run.runId, results, waiting.open);
  const body: StartRequest = {
    ...requestOf(context, wanted),
    previousRunId,
    ...(results.length > 0 && { toolResults: results }),
    ...(decisions.length > 0 && { toolDecisions: decisions }),
  };
  const ref = { ...refOf(context, wanted), ...(input.length > 0 && { results: input }) };
  const named = { tenant, request: body, ...run };
  return deerFound({
    // The conversation is that of the earlier run.
    begin: {
      input,
      ...(checkpointId !== undefined && { checkpointId }),
      continues: previousRunId,
      settles: waiting.open.map(({ toolCallId }) => toolCallId),
      maxConversationBytes: 0,
    },
    plan: (begun) => planContinuation(named, previousRunId, waiting, config, { begun, ref }),
  });
}

const requestOf = (_context: DeerContext, { model, maxSteps, onDisconnect }: WantedRun): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  ...model,
  serverTools: ["*"],
  maxSteps,
  ...(onDisconnect !== undefined && { onDisconnect }),
});

const refOf = ({ threadId }: DeerContext, { assistantId, modes }: WantedRun): ThreadRef => ({
  threadId,
  chain: assistantId ?? LEAD_AGENT,
  modes,
});

/** Clients of this family come back by themselves, and take their time. */
function withGrace(plan: Result<RunPlan>, disconnectGraceMs: number): Result<RunPlan> {
  if (!plan.ok) return plan;
  return found({ ...plan.value, limits: { ...plan.value.limits, disconnectGraceMs } });
}

const nothingWaits = (threadId: string): DeerProblem =>
  conflict(`Thread ${threadId} has no interrupted run that can be resumed`);

const keyTaken: DeerProblem = conflict("This Idempotency-Key started a run with another body or in another thread");

const tooManyRuns: DeerProblem = {
  code: "rate_limited",
  detail: "Too many active runs",
  retryAfterMs: BUSY_RETRY_MS,
};

function refusalOf(
  answer: RefusedInThread,
  threadId: string,
  { checkpointId = "" }: Pick<WantedRun, "checkpointId">,
): DeerProblem {
  switch (answer.refused) {
    case "unknown_thread":
      return noSuchThread(threadId);
    case "unknown_checkpoint":
      return noSuchCheckpoint(checkpointId);
    case "active_run":
      return conflict(`Thread ${threadId} already has an active run`);
    case "conflict":
      return keyTaken;
    case "full":
      return threadFull;
    case "not_waiting":
      return nothingWaits(threadId);
    case "invalid_message":
      return badRequest(`Invalid message at input.messages[${answer.index}]: ${answer.message}`);
  }
}

const places: Record<string, "decisions" | "results"> = { toolDecisions: "decisions", toolResults: "results" };

/** Faults of a run's request that stand in the body under another name. */
function planProblem(problem: Problem, resume: Resume | undefined): DeerProblem {
  const faults = (problem.issues ?? []).flatMap(({ path, message }) => {
    const [, field = "", index, name] = path.split("/");
    const place = places[field];
    if (place === undefined || index === undefined) return [];
    const loc = ["body", "command", "resume", place, Number(index), ...(name === undefined ? [] : [name])];
    const answer = resume?.[place]?.[Number(index)];
    return [valueError(loc, (name === undefined ? answer : asRecord(answer)?.[name]) ?? null, message)];
  });
  return faults.length > 0 ? faulty(faults) : fromProblem(problem);
}
