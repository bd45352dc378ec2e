// `POST /kebab/ask`: a question, and the run that answers it, as a stream. Looks for nothing itself.
import * as v from "valibot";
import type { StartAnswer } from "../../../../schemas/attach.ts";
import { askRequestSchema } from "../../../../schemas/dialects/kebab-answer.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { wireIssues } from "../../../run/issues.ts";
import { readJson } from "../../body.ts";
import { sha256Hex } from "../../digest.ts";
import type { ReadingStart } from "../../read-from.ts";
import { nameOf } from "../../start-run.ts";
import { DEFAULT_COLLECTION, isCollectionName, runStub, type KebabContext } from "./context.ts";
import { planAsk, type Asked } from "./plan-ask.ts";
import { startTurn } from "./turn.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  noEmbeddings,
  noRunBefore,
  otherQuestion,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { cursorOf, kebabQuery, readingOf, repeatKeyOf, streamResponse } from "./reading.ts";

const BUSY_RETRY_MS = 1000;

export async function ask(context: KebabContext): Promise<Response> {
  const opened = await openAsk(context);
  return opened.ok
    ? streamResponse(opened.value.reading.body, opened.value.runId)
    : kebabProblemResponse(opened.problem);
}

async function openAsk(context: KebabContext): Promise<KebabResult<{ runId: string; reading: Response }>> {
  const start = cursorOf(context.request);
  if (!start.ok) return start;
  const asked = await readAsk(context);
  if (!asked.ok) return asked;
  const { conversation } = asked.value.body;
  const answer = await (typeof conversation === "string"
    ? startTurn(context, asked.value, conversation, start.value)
    : startAlone(context, asked.value, start.value));
  if (!answer.ok) return answer;
  const started = answer.value;
  if (!started.started) return kebabRefused(started.refused === "conflict" ? otherQuestion : tooManyRuns);
  if (started.reading === undefined) throw new Error("a start with a query answers with a reading");
  const reading = readingOf(started.reading, start.value);
  return reading.ok ? kebabFound({ runId: asked.value.runId, reading: reading.value }) : reading;
}

async function startAlone(context: KebabContext, asked: Asked, start: ReadingStart): Promise<KebabResult<StartAnswer>> {
  const { runId, requestHash, idempotencyKey } = asked;
  const run = runStub(context.env, context.tenant, runId);
  const query = kebabQuery(start.from, 0);
  const repeat = idempotencyKey === undefined ? undefined : await run.repeat({ requestHash, idempotencyKey }, query);
  if (repeat !== undefined) return kebabFound(repeat);
  if (typeof start.from === "object") return kebabRefused(noRunBefore(start));
  const plan = await planAsk(context, asked);
  if (!plan.ok) return plan;
  return kebabFound(await run.start(plan.value, context.config.limits.maxActiveRuns, query));
}

const tooManyRuns: KebabProblem = {
  reason: "rate_limited",
  message: "There are too many active runs.",
  retryAfterMs: BUSY_RETRY_MS,
};

async function readAsk({ request, config, tenant }: KebabContext): Promise<KebabResult<Asked>> {
  const key = repeatKeyOf(request);
  if (!key.ok) return key;
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
  if ((asked.mode ?? "lexical") !== "lexical" && embedPlanOf(config) === undefined) return kebabRefused(noEmbeddings);
  return kebabFound({
    body: asked,
    collection,
    runId: await nameOf({}, key.value, tenant),
    requestHash: await sha256Hex(canonicalJson({ ask: asked })),
    idempotencyKey: key.value,
  });
}
