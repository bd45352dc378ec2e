// `POST /kebab/ask`: a question, what is found for it, and the run that answers from that, as a stream. What was found is part of the plan: nothing is looked for twice.
import * as v from "valibot";
import type { AskPlan, AskRefusal } from "../../../../schemas/ask.ts";
import type { SearchAnswer, SearchAsk } from "../../../../schemas/collection.ts";
import { askRequestSchema, type AskRequest } from "../../../../schemas/dialects/kebab-answer.ts";
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
import { canonicalJson } from "../../../run/canonical.ts";
import { wireIssues } from "../../../run/issues.ts";
import { readJson } from "../../body.ts";
import { sha256Hex } from "../../digest.ts";
import { nameOf, planRequest } from "../../start-run.ts";
import {
  collectionStub,
  DEFAULT_COLLECTION,
  isCollectionName,
  runStub,
  staleMs,
  type KebabContext,
} from "./context.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  noCollection,
  noEmbeddings,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { cursorOf, kebabQuery, readingOf, streamResponse } from "./reading.ts";
import { DEFAULT_K, DEFAULT_SNIPPET } from "./search.ts";

const BUSY_RETRY_MS = 1000;
/** Where the configuration says nothing of a target. */
const CONTEXT_TOKENS = 128_000;

export async function ask(context: KebabContext): Promise<Response> {
  const opened = await openAsk(context);
  return opened.ok
    ? streamResponse(opened.value.reading.body, opened.value.runId)
    : kebabProblemResponse(opened.problem);
}

interface Asked {
  body: AskRequest;
  collection: string;
  runId: string;
  requestHash: string;
  idempotencyKey: string | undefined;
}

async function openAsk(context: KebabContext): Promise<KebabResult<{ runId: string; reading: Response }>> {
  const { env, config, tenant } = context;
  const from = cursorOf(context.request);
  if (!from.ok) return from;
  const asked = await readAsk(context);
  if (!asked.ok) return asked;
  const { runId, requestHash, idempotencyKey } = asked.value;
  const run = runStub(env, tenant, runId);
  let started =
    idempotencyKey === undefined
      ? undefined
      : await run.repeat({ requestHash, idempotencyKey }, kebabQuery(from.value, 0));
  if (started === undefined) {
    // A cursor belongs to a run that was there: when it is not, its reader must not pay for a new one.
    if (typeof from.value === "object") return kebabRefused(invalidInput("after", "There is no run to go on with."));
    const plan = await planAsk(context, asked.value);
    if (!plan.ok) return plan;
    started = await run.start(plan.value, config.limits.maxActiveRuns, kebabQuery(from.value, 0));
  }
  if (!started.started) return kebabRefused(started.refused === "conflict" ? otherQuestion : tooManyRuns);
  if (started.reading === undefined) throw new Error("a start with a query answers with a reading");
  const reading = readingOf(started.reading);
  return reading.ok ? kebabFound({ runId, reading: reading.value }) : reading;
}

const otherQuestion: KebabProblem = {
  reason: "conflict",
  message: "This Idempotency-Key was used for another question.",
  details: { field: "header:Idempotency-Key" },
};

const tooManyRuns: KebabProblem = {
  reason: "rate_limited",
  message: "There are too many active runs.",
  retryAfterMs: BUSY_RETRY_MS,
};

async function readAsk({ request, config, tenant }: KebabContext): Promise<KebabResult<Asked>> {
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
    return kebabRefused(invalidInput("header:Idempotency-Key", "The key must be 1 to 255 visible ASCII characters."));
  }
  const body = await readJson(request, config.limits.maxBodyBytes);
  if (!body.ok) return kebabRefused(fromProblem(body.problem));
  const parsed = v.safeParse(askRequestSchema, body.value ?? {});
  if (!parsed.success) {
    const [first] = wireIssues(parsed.issues);
    const field = first?.path.replace(/^\//, "") ?? "body";
    return kebabRefused(invalidInput(field, `The request is not valid: ${field} ${first?.message ?? ""}.`));
  }
  const asked = parsed.output;
  const collection = asked.collection ?? DEFAULT_COLLECTION;
  if (asked.question.trim() === "") return kebabRefused(invalidInput("question", "The question is empty."));
  if (!isCollectionName(collection)) return kebabRefused(invalidInput("collection", "This names no collection."));
  if (asked.multi_hop === true) return kebabRefused(notServed("multi_hop"));
  if (typeof asked.conversation === "string") return kebabRefused(notServed("conversation"));
  if ((asked.mode ?? "lexical") !== "lexical") return kebabRefused(noEmbeddings);
  return kebabFound({
    body: asked,
    collection,
    runId: await nameOf({}, key, tenant),
    requestHash: await sha256Hex(canonicalJson({ ask: asked })),
    idempotencyKey: key,
  });
}

/** Refused by name, never ignored. */
const notServed = (field: string): KebabProblem =>
  invalidInput(field, `${field} asks for something that this server does not do.`);

async function planAsk({ env, config, tenant }: KebabContext, asked: Asked): Promise<KebabResult<RunPlan>> {
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
  if (!answer.found) return kebabRefused(noCollection(collection));
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
