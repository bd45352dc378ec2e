// A turn from what was asked to its run: begins it at the visitor's object, starts the run once, and attaches to it.
import type { ReadFrom } from "../../../../schemas/attach.ts";
import type { TurnAnswer, TurnRequest } from "../../../../schemas/chat.ts";
import type { SvedaTurn } from "../../../dialects/sveda-request.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { sha256Hex } from "../../digest.ts";
import type { Problem } from "../../problem.ts";
import { askedTurn, type AskedTurn } from "./asked-turn.ts";
import { runStub, visitorStub, type SvedaContext } from "./context.ts";
import {
  fromProblem,
  svedaFound,
  svedaRefused,
  unprocessable,
  type SvedaProblem,
  type SvedaResult,
} from "./problem.ts";
import { misfitOf } from "./misfit.ts";
import { readingOf, svedaQuery } from "./reading.ts";
import { throttleOf, TOO_MANY_ATTEMPTS } from "./throttle.ts";
import { planTurn } from "./turn-plan.ts";

export interface OpenTurn {
  runId: string;
  chatId: string;
  /** The stream of the run's events. */
  reading: Response;
}

const BUSY_RETRY_MS = 1000;

/** `cursor`: where a repeat is read from, as far as the request may say so. */
export async function openTurn(
  context: SvedaContext,
  cursor: (request: Request) => SvedaResult<ReadFrom>,
): Promise<SvedaResult<OpenTurn>> {
  const { env, config } = context;
  const read = await askedTurn(context);
  if (!read.ok) return read;
  const asked = read.value;
  const { visitor, turn, chatId } = asked;
  const chats = visitorStub(env, visitor);
  const misfit = await misfitOf(asked, context);
  const answer = await begin(chats, await turnRequest(asked, misfit, context));
  if (!answer.begun) return svedaRefused(refusal(answer, turn, misfit));
  const { runId } = answer;
  if (answer.repeat) return attach(context, asked, runId, cursor);
  const plan = await planTurn(asked, answer, context);
  if (!plan.ok) {
    await chats.abandonTurn(runId);
    return svedaRefused(fromProblem(plan.problem));
  }
  const started = await runStub(env, visitor.tenant, runId).start(
    plan.value,
    config.limits.maxActiveRuns,
    svedaQuery("start", 0),
  );
  if (!started.started) {
    await chats.abandonTurn(runId);
    return svedaRefused(tooManyStreams);
  }
  if (started.reading === undefined) throw new Error("a start with a query answers with a reading");
  const reading = readingOf(started.reading);
  return reading.ok ? svedaFound({ runId, chatId, reading: reading.value }) : reading;
}

/** A stub's own type gives up at fields of unknown type. */
const begin = async (chats: ReturnType<typeof visitorStub>, request: TurnRequest): Promise<TurnAnswer> =>
  chats.beginTurn(request);

async function turnRequest(
  { turn, body, chatId, model }: AskedTurn,
  misfit: Problem | undefined,
  { request, config }: SvedaContext,
): Promise<TurnRequest> {
  const { display, history, prompt, images, decisions, identity } = turn;
  const { limits } = config.sveda;
  return {
    chatId,
    // It holds what a message says, of any length.
    identity: await sha256Hex(identity ?? `body ${canonicalJson(body)}`),
    liveOnly: identity === undefined,
    display,
    history,
    prompt,
    ...(images !== undefined && { images }),
    decisions,
    stream: throttleOf(limits.stream),
    activePerVisitor: limits.activePerVisitor,
    entry: {
      address: request.headers.get("cf-connecting-ip") ?? "unknown",
      throttle: throttleOf(limits.ip),
      active: limits.active,
    },
    unknownModel: model === undefined,
    // The other half is for the prompt and the tools.
    maxConversationBytes: Math.floor(config.limits.maxPromptBytes / 2),
    unfit: misfit !== undefined,
  };
}

const tooManyStreams: SvedaProblem = {
  code: "rate_limited",
  message: "Too many active streams.",
  retryAfterMs: BUSY_RETRY_MS,
};

function refusal(
  answer: Extract<TurnAnswer, { begun: false }>,
  { model }: SvedaTurn,
  misfit: Problem | undefined,
): SvedaProblem {
  switch (answer.refused) {
    case "too_many_attempts":
      return { code: "rate_limited", message: TOO_MANY_ATTEMPTS, retryAfterMs: answer.retryAfterMs };
    case "too_many_streams":
      return tooManyStreams;
    case "unknown_model":
      return unprocessable(`Unknown Sveda model [${model ?? ""}].`);
    case "unfit":
      return misfit === undefined ? nothingToSay : fromProblem(misfit);
    case "confirmation_required":
      return { code: "conflict", message: "Tool confirmation is required before the conversation can continue." };
    case "history_unavailable":
      return { code: "conflict", message: "Chat history is unavailable." };
    case "nothing_to_say":
      return nothingToSay;
  }
}

const nothingToSay = unprocessable("The turn has no prompt and no messages.");

/** A repeat reads the run that the first one started. */
async function attach(
  { request, env, config }: SvedaContext,
  { visitor, chatId }: AskedTurn,
  runId: string,
  cursor: (request: Request) => SvedaResult<ReadFrom>,
): Promise<SvedaResult<OpenTurn>> {
  const from = cursor(request);
  if (!from.ok) return from;
  const query = svedaQuery(from.value, config.limits.attachWaitMs);
  const answer = await runStub(env, visitor.tenant, runId).attach(query);
  if (!(answer instanceof Response) && answer.refused === "not_found") return svedaRefused(notYet);
  const reading = readingOf(answer);
  return reading.ok ? svedaFound({ runId, chatId, reading: reading.value }) : reading;
}

const notYet: SvedaProblem = {
  code: "unavailable",
  message: "The turn is about to start; try again.",
  retryAfterMs: BUSY_RETRY_MS,
};
