// A question as a turn of a conversation, which is a thread of the tenant: the thread keeps the question as it was asked, and says what came before it.
import type { StartAnswer } from "../../../../schemas/attach.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { StreamMode } from "../../../../schemas/thread.ts";
import { bothHits } from "../../../kebab/both-hits.ts";
import { followUpQuery, turnsOf } from "../../../kebab/turns.ts";
import { inputMessages } from "../../../thread/input-messages.ts";
import { firstCharacters } from "../../../wire/characters.ts";
import type { ReadingStart } from "../../read-from.ts";
import { startInThread, type BegunInThread, type RefusedInThread } from "../../start-in-thread.ts";
import { DEFAULT_ROUTE } from "../../start-run.ts";
import type { KebabContext } from "./context.ts";
import { findFor, planFound, type Asked, type AskFound } from "./plan-ask.ts";
import {
  invalidInput,
  kebabFound,
  kebabRefused,
  noRunBefore,
  otherQuestion,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { kebabQuery } from "./reading.ts";
import { DEFAULT_K } from "./search.ts";

/** UTF-8 bytes of the conversation that turns are taken from. */
const MAX_CONVERSATION = 131_072;
/** Characters. */
const MAX_TITLE = 40;
/** Live readers of the thread's family may want any of them. */
const MODES: readonly StreamMode[] = ["values", "messages-tuple", "updates", "custom"];

export async function startTurn(
  context: KebabContext,
  asked: Asked,
  threadId: string,
  reading: ReadingStart,
): Promise<KebabResult<StartAnswer>> {
  const { env, config, tenant } = context;
  const { body, runId, requestHash, idempotencyKey } = asked;
  const chain = body.route ?? DEFAULT_ROUTE;
  let alone: AskFound | undefined;
  /** What is found for the question alone is found before the conversation is told. */
  const plan = async (begun: BegunInThread): Promise<KebabResult<RunPlan>> => {
    if (alone === undefined) {
      const found = await findFor(context, asked, body.question);
      if (!found.ok) return found;
      alone = found.value;
    }
    return planTurn(context, asked, { threadId, chain, begun, alone });
  };
  const started = await startInThread<KebabProblem>(env, {
    tenant,
    begin: {
      threadId,
      runId,
      requestHash,
      ifMissing: "create",
      strategy: "reject",
      input: inputMessages(runId, [{ role: "user", content: body.question }]),
      assistantId: chain,
      metadata: {},
      kwargs: {},
      maxConversationBytes: MAX_CONVERSATION,
      maxThreadBytes: config.limits.maxThreadBytes,
    },
    idempotencyKey,
    maxActiveRuns: config.limits.maxActiveRuns,
    query: kebabQuery(reading.from, 0),
    plan: (begun) => (typeof reading.from === "object" ? kebabRefused(noRunBefore(reading)) : plan(begun)),
  });
  switch (started.by) {
    case "run":
      return kebabFound(started.answer);
    case "plan":
      return kebabRefused(started.problem);
    case "thread":
      return kebabRefused(threadProblem(started.answer));
  }
}

interface Turning {
  threadId: string;
  chain: string;
  begun: BegunInThread;
  alone: AskFound;
}

/** A question that goes on from the last answer is found with it, one that does not is found alone: both are looked for. */
async function planTurn(
  context: KebabContext,
  asked: Asked,
  { threadId, chain, begun, alone }: Turning,
): Promise<KebabResult<RunPlan>> {
  const { question, k } = asked.body;
  const earlier = turnsOf(begun.messages);
  const query = followUpQuery(question, earlier, context.config.kebab.texts.noEvidence);
  let found = alone;
  if (query !== undefined) {
    const more = await findFor(context, asked, query);
    if (!more.ok) return more;
    found = { ...more.value, ...bothHits(more.value, alone, k ?? DEFAULT_K) };
  }
  const provisional = firstCharacters(question.replace(/\s+/g, " ").trim(), MAX_TITLE).trim();
  return planFound(context, asked, found, {
    conversation: { id: threadId, turnIndex: begun.asked },
    earlier,
    thread: { threadId, chain, modes: MODES, ...(begun.human !== undefined && { human: begun.human }) },
    agent: {
      carried: [],
      callIds: begun.callIds,
      ...(begun.title === undefined && { title: { provisional, generate: false } }),
    },
  });
}

function threadProblem({ refused }: RefusedInThread): KebabProblem {
  switch (refused) {
    case "active_run":
      return {
        reason: "conflict",
        message: "A question of this conversation is being answered.",
        details: { field: "conversation" },
        hint: "Ask again when its answer is there, or cancel it.",
      };
    case "conflict":
      return otherQuestion;
    case "full":
      return { ...invalidInput("conversation", "The conversation holds as much as one may."), reason: "too_large" };
    case "unknown_thread":
    case "unknown_checkpoint":
    case "not_waiting":
    case "invalid_message":
      throw new Error("A question makes its thread, brings a message of its own, and goes on from no other run.");
  }
}
