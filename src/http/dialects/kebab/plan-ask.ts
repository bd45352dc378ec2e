// What is found for a question, whether that is enough, and the plan of the run that answers from it. What was found is part of the plan: nothing is looked for twice.
import type { AskPlan, ResearchPlan } from "../../../../schemas/ask.ts";
import type { SearchAnswer, SearchAsk } from "../../../../schemas/collection.ts";
import type { Config } from "../../../../schemas/config.ts";
import type { AskRequest } from "../../../../schemas/dialects/kebab-answer.ts";
import type { SearchTrace } from "../../../../schemas/dialects/kebab.ts";
import type { EmbeddingUsed } from "../../../../schemas/embedding.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { Message, StartRequest } from "../../../../schemas/run.ts";
import type { ThreadRef } from "../../../../schemas/thread.ts";
import type { Found } from "../../../kebab/both-hits.ts";
import { refusalOf } from "../../../kebab/gate.ts";
import { answerRoom, askPrompt, MAX_SOURCE_CHARS, packSources, type Packed } from "../../../kebab/sources.ts";
import { askMessages, saidBefore, type Turn } from "../../../kebab/turns.ts";
import { MULTI_HOP_VERSION, PROMPT_VERSION } from "../../../kebab/versions.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { nativeAgent, type Conversation } from "../../native-agent.ts";
import type { Problem } from "../../problem.ts";
import { planRequest } from "../../start-run.ts";
import { collectionStub, staleMs, type KebabContext } from "./context.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabRefused,
  searchProblem,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { DEFAULT_K, DEFAULT_SNIPPET } from "./search.ts";

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
  const answer = await search(collectionStub(env, tenant, collection), searchOf(body, config, query));
  if (!answer.found) return kebabRefused(searchProblem(answer, collection));
  const { hits, trace, texts = [], embedding } = answer;
  return kebabFound({
    hits,
    texts,
    ...(trace !== undefined && { trace }),
    ...(embedding !== undefined && { embedding }),
  });
}

const searchOf = (body: AskRequest, config: Config, query: string): SearchAsk => ({
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

export function planFound(
  { config, tenant }: KebabContext,
  { body, collection, runId, requestHash, idempotencyKey }: Asked,
  { hits, texts, trace, embedding }: AskFound,
  turn?: AskTurn,
): KebabResult<RunPlan> {
  const { question } = body;
  const { scoreGate, texts: words } = config.kebab;
  const refusal = refusalOf(hits, scoreGate, words.noEvidence);
  // What is found for the whole question only says that there is something to look for.
  const research: ResearchPlan | undefined =
    body.multi_hop === true && refusal === undefined
      ? {
          collection,
          question,
          search: { ...searchOf(body, config, question), trace: false },
          noEvidence: words.noEvidence,
          ...saidBefore(turn?.earlier ?? []),
        }
      : undefined;
  const isFound = refusal === undefined && research === undefined;
  const packed: Packed = isFound ? packSources(hits, texts) : { text: "", used: 0 };
  const found: AskPlan = {
    mode: body.mode ?? "lexical",
    k: body.k ?? DEFAULT_K,
    scoreGate,
    traceId: `ret_${crypto.randomUUID().slice(0, 8)}`,
    hits: research === undefined ? hits : [],
    used: packed.used,
    promptVersion: body.multi_hop === true ? MULTI_HOP_VERSION : PROMPT_VERSION,
    ...(embedding !== undefined && hits.length > 0 && { embedding }),
    ...(trace !== undefined && research === undefined && { trace }),
    ...(refusal !== undefined && { refusal }),
    ...(research !== undefined && { research }),
    ...(turn !== undefined && { conversation: turn.conversation }),
  };
  const prompt = isFound ? askPrompt(question, packed) : question;
  const messages = askMessages(prompt, turn?.earlier ?? [], packed);
  const asking = requestOf(body, messages);
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
  if (!plan.ok) return kebabRefused(unplanned(plan.problem, config.limits.maxPromptBytes));
  const { request, chain } = plan.value;
  const maxOutputTokens = answerRoom(messages, packed, chain);
  return kebabFound({
    ...plan.value,
    request: { ...request, generation: { ...request.generation, maxOutputTokens } },
  });
}

/** What the request brings has another name here. */
const unplanned = (problem: Problem, maxPromptBytes: number): KebabProblem =>
  problem.code === "too_large"
    ? { ...invalidInput("question", `The question is larger than ${maxPromptBytes} bytes.`), reason: "too_large" }
    : fromProblem(problem);

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

const requestOf = ({ temperature, seed, route }: AskRequest, messages: Message[]): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages,
  generation: {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof seed === "number" && { seed }),
  },
  ...(typeof route === "string" && { route }),
});
