// A native start with `threadId`: the conversation of the thread before the request's own messages, and what the thread refuses as a native problem.
import type { AttachQuery, StartAnswer } from "../../schemas/attach.ts";
import type { Config } from "../../schemas/config.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { StreamMode } from "../../schemas/thread.ts";
import { provisionalTitle } from "../chat/titles.ts";
import { promptBytes } from "../run/request.ts";
import { promptOf } from "../run/side-questions.ts";
import { inputMessages, isSaid } from "../thread/input-messages.ts";
import { nativeAgent } from "./native-agent.ts";
import { fieldProblem, found, refused, type Problem, type Result } from "./problem.ts";
import { startInThread, type BegunInThread, type RefusedInThread, type StartedInThread } from "./start-in-thread.ts";
import { DEFAULT_ROUTE, planNative, planPushed, type NamedStart } from "./start-run.ts";

/** Live readers of the thread's family may want any of them. */
const MODES: readonly StreamMode[] = ["values", "messages-tuple", "updates", "custom"];

export async function startNamedInThread(
  env: Env,
  named: NamedStart,
  threadId: string,
  config: Config,
  query: AttachQuery | undefined,
): Promise<Result<StartAnswer>> {
  const { tenant, runId, requestHash, idempotencyKey, request } = named;
  const { limits } = config;
  const chain = request.source === "push" ? null : (request.route ?? DEFAULT_ROUTE);
  const started = await startInThread(env, {
    tenant,
    begin: {
      threadId,
      runId,
      requestHash,
      ifMissing: "create",
      strategy: "reject",
      input: inputMessages(runId, messagesOf(request).filter(isSaid)),
      assistantId: chain,
      metadata: request.metadata ?? {},
      kwargs: {},
      // The request's own messages are bounded by themselves, and leave the other half to its tools.
      maxConversationBytes: Math.floor(limits.maxPromptBytes / 2) + promptBytes(request),
      maxThreadBytes: limits.maxThreadBytes,
    },
    idempotencyKey,
    maxActiveRuns: limits.maxActiveRuns,
    query,
    plan: (begun) => planInThread(named, threadId, chain, begun, config),
  });
  return threadStarted(started);
}

/** The request's instructions stand before the conversation: they are its own, and no thread keeps them. */
function planInThread(
  { request, ...named }: NamedStart,
  threadId: string,
  chain: string | null,
  { messages, callIds, human, title }: BegunInThread,
  config: Config,
): Result<RunPlan> {
  const { prompt: _, ...rest } = request;
  const own = messagesOf(request);
  const said = messages.length > 0 ? messages : own.filter(isSaid);
  const whole: StartRequest = { ...rest, messages: [...own.filter((message) => !isSaid(message)), ...said] };
  const thread = { threadId, chain, modes: MODES, ...(human !== undefined && { human }) };
  // A producer that is elsewhere is told nothing of the conversation.
  if (request.source === "push") return planPushed(request, { ...named, config, thread });
  const name = title === undefined ? provisionalTitle(promptOf(request)) : "";
  return planNative(whole, {
    ...named,
    config,
    agent: nativeAgent(whole, config, {
      carried: [],
      callIds,
      ...(name !== "" && { title: { provisional: name, generate: false } }),
    }),
    thread,
    brings: request,
  });
}

const messagesOf = ({ prompt = "", messages }: StartRequest): NonNullable<StartRequest["messages"]> =>
  messages ?? (prompt === "" ? [] : [{ role: "user", content: prompt }]);

/** What came of a start in a thread, in native words. */
export function threadStarted(started: StartedInThread<Problem>): Result<StartAnswer> {
  switch (started.by) {
    case "run":
      return found(started.answer);
    case "plan":
      return refused(started.problem);
    case "thread":
      return refused(threadProblem(started.answer));
  }
}

const at = (message: string, keyword: string): Problem => fieldProblem("/threadId", message, keyword);

function threadProblem(answer: RefusedInThread): Problem {
  switch (answer.refused) {
    case "unknown_thread":
      return { ...at("names no thread", "exists"), code: "not_found" };
    case "active_run":
      return { ...at("names a thread with an active run", "conflict"), code: "conflict" };
    case "conflict":
      return {
        ...at("names a thread that has a run of this name, started with another body", "conflict"),
        code: "conflict",
      };
    case "full":
      return { ...at("names a thread that holds as much as a thread may", "maxBytes"), code: "too_large" };
    case "invalid_message":
      return fieldProblem(`/messages/${answer.index}`, "does not fit the thread", "reducer");
    case "unknown_checkpoint":
      throw new Error("A native start names no checkpoint.");
    case "not_waiting":
      throw new Error("Only a run that goes on from another settles calls.");
  }
}
