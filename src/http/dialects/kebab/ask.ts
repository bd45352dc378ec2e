// `POST /kebab/ask`: a question, and the run that answers it, as a stream. Looks for nothing itself.
import * as v from "valibot";
import { askRequestSchema } from "../../../../schemas/dialects/kebab-answer.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { wireIssues } from "../../../run/issues.ts";
import { readJson } from "../../body.ts";
import { sha256Hex } from "../../digest.ts";
import { nameOf } from "../../start-run.ts";
import { DEFAULT_COLLECTION, isCollectionName, runStub, type KebabContext } from "./context.ts";
import { planAsk, type Asked } from "./plan-ask.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  noEmbeddings,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { cursorOf, kebabQuery, readingOf, streamResponse } from "./reading.ts";

const BUSY_RETRY_MS = 1000;

export async function ask(context: KebabContext): Promise<Response> {
  const opened = await openAsk(context);
  return opened.ok
    ? streamResponse(opened.value.reading.body, opened.value.runId)
    : kebabProblemResponse(opened.problem);
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
