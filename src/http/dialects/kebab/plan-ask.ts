// What is found for a question, whether that is enough, and the plan of the run that answers from it. What was found is part of the plan: nothing is looked for twice.
import type { AskPlan, AskRefusal } from "../../../../schemas/ask.ts";
import type { SearchAnswer, SearchAsk } from "../../../../schemas/collection.ts";
import type { AskRequest } from "../../../../schemas/dialects/kebab-answer.ts";
import type { KebabHit } from "../../../../schemas/dialects/kebab.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { StartRequest } from "../../../../schemas/run.ts";
import { NEAR_MISSES, refusalText } from "../../../kebab/answer.ts";
import {
  ANSWER_RULES,
  answerTokens,
  askPrompt,
  MAX_SOURCE_CHARS,
  packSources,
  type Packed,
} from "../../../kebab/sources.ts";
import { PROMPT_VERSION } from "../../../kebab/versions.ts";
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

export async function planAsk({ env, config, tenant }: KebabContext, asked: Asked): Promise<KebabResult<RunPlan>> {
  const { body, collection, runId, requestHash, idempotencyKey } = asked;
  const { question } = body;
  const k = body.k ?? DEFAULT_K;
  const { scoreGate, texts: words } = config.kebab;
  const answer = await search(collectionStub(env, tenant, collection), {
    query: question,
    k,
    snippetChars: DEFAULT_SNIPPET,
    maxTokens: undefined,
    cursor: undefined,
    trace: body.explain ?? false,
    staleMs: staleMs(config),
    filters: noFilters,
    textChars: MAX_SOURCE_CHARS,
  });
  if (!answer.found) return kebabRefused(searchProblem(answer, collection));
  const { hits, trace, texts = [] } = answer;
  const refusal = refusalOf(hits, scoreGate, words.noEvidence);
  const packed: Packed = refusal === undefined ? packSources(hits, texts) : { text: "", used: 0 };
  const found: AskPlan = {
    mode: "lexical",
    k,
    scoreGate,
    traceId: `ret_${crypto.randomUUID().slice(0, 8)}`,
    hits,
    used: packed.used,
    promptVersion: PROMPT_VERSION,
    ...(trace !== undefined && { trace }),
    ...(refusal !== undefined && { refusal }),
  };
  const prompt = refusal === undefined ? askPrompt(question, packed) : question;
  const plan = planRequest(requestOf(body, prompt), {
    tenant,
    config,
    runId,
    requestHash,
    idempotencyKey,
    ask: found,
    // What was found is the server's own.
    brings: { prompt: question },
  });
  if (!plan.ok) return kebabRefused(fromProblem(plan.problem));
  const { request, chain } = plan.value;
  const contextTokens = Math.min(...chain.map(({ target }) => target.contextTokens ?? CONTEXT_TOKENS));
  const maxOutputTokens = answerTokens(ANSWER_RULES + prompt, packed, contextTokens);
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

const requestOf = ({ temperature, seed, route }: AskRequest, prompt: string): StartRequest => ({
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages: [
    { role: "system", content: ANSWER_RULES },
    { role: "user", content: prompt },
  ],
  generation: {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof seed === "number" && { seed }),
  },
  ...(typeof route === "string" && { route }),
});
