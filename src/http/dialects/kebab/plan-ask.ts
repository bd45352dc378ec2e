// What is found for a question, whether that is enough, and the plan of the run that answers from it. What was found is part of the plan: nothing is looked for twice.
import type { AskPlan, AskRefusal } from "../../../../schemas/ask.ts";
import type { SearchAnswer, SearchAsk } from "../../../../schemas/collection.ts";
import type { AskRequest } from "../../../../schemas/dialects/kebab-answer.ts";
import type { KebabHit, SearchTrace } from "../../../../schemas/dialects/kebab.ts";
import type { EmbeddingUsed } from "../../../../schemas/embedding.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { StartRequest } from "../../../../schemas/run.ts";
import type { ThreadRef } from "../../../../schemas/thread.ts";
import { NEAR_MISSES, refusalText } from "../../../kebab/answer.ts";
import type { Found } from "../../../kebab/both-hits.ts";
import {
  ANSWER_RULES,
  answerTokens,
  askPrompt,
  MAX_SOURCE_CHARS,
  packSources,
  turnTokens,
  type Packed,
} from "../../../kebab/sources.ts";
import { packTurns, turnMessages, type Turn, type TurnMessage } from "../../../kebab/turns.ts";
import { PROMPT_VERSION } from "../../../kebab/versions.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { nativeAgent, type Conversation } from "../../native-agent.ts";
import { planRequest } from "../../start-run.ts";
import { collectionStub, staleMs, type KebabContext } from "./context.ts";
import { fromProblem, kebabFound, kebabRefused, searchProblem, type KebabResult } from "./problem.ts";
import { DEFAULT_K, DEFAULT_SNIPPET } from "./search.ts";

/** Where the configuration says nothing of a target. */
const CONTEXT_TOKENS = 128_000;

/** A valid question, with the name and the hash that its repeats have too. */
export interface Asked {
  body: AskRequest;
  collection: string;
  runId: string;
  requestHash: string;
  idempotencyKey: string | undefined;
}

/** What was found for it. */
export interface AskFound extends Found {
  trace?: SearchTrace;
  embedding?: EmbeddingUsed;
}

/** The turn that a question is in its conversation. */
export interface AskTurn {
  conversation: NonNullable<AskPlan["conversation"]>;
  /** Oldest first. */
  earlier: readonly Turn[];
  thread: ThreadRef;
  agent: Conversation;
}

export async function planAsk(context: KebabContext, asked: Asked): Promise<KebabResult<RunPlan>> {
  const found = await findFor(context, asked, asked.body.question);
  return found.ok ? planFound(context, asked, found.value) : found;
}

export async function findFor(
  { env, config, tenant }: KebabContext,
  { body, collection }: Asked,
  query: string,
): Promise<KebabResult<AskFound>> {
  const answer = await search(collectionStub(env, tenant, collection), {
    query,
    mode: body.mode ?? "lexical",
    embed: embedPlanOf(config),
    k: body.k ?? DEFAULT_K,
    snippetChars: DEFAULT_SNIPPET,
    maxTokens: undefined,
    cursor: undefined,
    trace: body.explain ?? false,
    staleMs: staleMs(config),
    filters: noFilters,
    textChars: MAX_SOURCE_CHARS,
  });
  if (!answer.found) return kebabRefused(searchProblem(answer, collection));
  const { hits, trace, texts = [], embedding } = answer;
  return kebabFound({
    hits,
    texts,
    ...(trace !== undefined && { trace }),
    ...(embedding !== undefined && { embedding }),
  });
}

export function planFound(
  { config, tenant }: KebabContext,
  { body, runId, requestHash, idempotencyKey }: Asked,
  { hits, texts, trace, embedding }: AskFound,
  turn?: AskTurn,
): KebabResult<RunPlan> {
  const { question } = body;
  const { scoreGate, texts: words } = config.kebab;
  const refusal = refusalOf(hits, scoreGate, words.noEvidence);
  const packed: Packed = refusal === undefined ? packSources(hits, texts) : { text: "", used: 0 };
  const found: AskPlan = {
    mode: body.mode ?? "lexical",
    k: body.k ?? DEFAULT_K,
    scoreGate,
    traceId: `ret_${crypto.randomUUID().slice(0, 8)}`,
    hits,
    used: packed.used,
    promptVersion: PROMPT_VERSION,
    ...(embedding !== undefined && hits.length > 0 && { embedding }),
    ...(trace !== undefined && { trace }),
    ...(refusal !== undefined && { refusal }),
    ...(turn !== undefined && { conversation: turn.conversation }),
  };
  const prompt = refusal === undefined ? askPrompt(question, packed) : question;
  const before = turnMessages(packTurns(turn?.earlier ?? [], turnTokens(packed)));
  const asking = requestOf(body, before, prompt);
  const plan = planRequest(asking, {
    tenant,
    config,
    runId,
    requestHash,
    idempotencyKey,
    ask: found,
    ...(turn !== undefined && { thread: turn.thread, agent: nativeAgent(asking, config, turn.agent) }),
    // What was found is the server's own.
    brings: { prompt: question },
  });
  if (!plan.ok) return kebabRefused(fromProblem(plan.problem));
  const { request, chain } = plan.value;
  const contextTokens = Math.min(...chain.map(({ target }) => target.contextTokens ?? CONTEXT_TOKENS));
  const said = before.map(({ content }) => content).join("");
  const maxOutputTokens = answerTokens(ANSWER_RULES + said + prompt, said + packed.text, contextTokens);
  return kebabFound({
    ...plan.value,
    request: { ...request, generation: { ...request.generation, maxOutputTokens } },
  });
}

/** A stub's own type gives up at fields of unknown type. */
const search = async (stub: ReturnType<typeof collectionStub>, wanted: SearchAsk): Promise<SearchAnswer> =>
  stub.search(wanted);

const noFilters: SearchAsk["filters"] = {
  tags: undefined,
  lang: undefined,
  pathGlob: undefined,
  trustMin: undefined,
  media: undefined,
  ingestedAfter: undefined,
  docId: undefined,
};

/** `undefined` when the best hit is good enough for a model to be asked. */
function refusalOf(hits: readonly KebabHit[], scoreGate: number, words: string): AskRefusal | undefined {
  const [best] = hits;
  if (best === undefined) return { reason: "no_chunks", text: refusalText(words, []) };
  if (best.retrieval.fusion_score >= scoreGate) return undefined;
  return { reason: "score_gate", text: refusalText(words, hits.slice(0, NEAR_MISSES)) };
}

const requestOf = (
  { temperature, seed, route }: AskRequest,
  before: readonly TurnMessage[],
  prompt: string,
): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages: [{ role: "system", content: ANSWER_RULES }, ...before, { role: "user", content: prompt }],
  generation: {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof seed === "number" && { seed }),
  },
  ...(typeof route === "string" && { route }),
});
