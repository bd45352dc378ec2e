// Documents whose keeping is a run: it is started here, its collection carries it out, and its stream says how far that is and how it ends.
import type { NewDocument } from "../../../../schemas/collection.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { embedPlanOf } from "../../../run/embed-plan.ts";
import { sha256Hex } from "../../digest.ts";
import { framingOf } from "../../read-from.ts";
import { nameOf, planPushed } from "../../start-run.ts";
import { collectionStub, runStub, type KebabContext } from "./context.ts";
import {
  fromProblem,
  kebabFound,
  kebabProblemResponse,
  kebabRefused,
  noRunBefore,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";
import { cursorOf, kebabQuery, readingOf, repeatKeyOf, streamResponse } from "./reading.ts";

const BUSY_RETRY_MS = 1000;
/** Bytes of progress and report: what a collection's limits leave room for, many times over. */
const MAX_TOLD_BYTES = 256 * 1024 * 1024;

/** Whoever asks for lines wants to see how far it is. */
export const wantsRun = (request: Request): boolean => framingOf(request) === "ndjson";

export async function ingestAsRun(context: KebabContext, documents: NewDocument[]): Promise<Response> {
  const opened = await open(context, documents);
  return opened.ok
    ? streamResponse(opened.value.reading.body, opened.value.runId)
    : kebabProblemResponse(opened.problem);
}

async function open(
  context: KebabContext,
  documents: NewDocument[],
): Promise<KebabResult<{ runId: string; reading: Response }>> {
  const { request, env, config, tenant, collection } = context;
  const reading = cursorOf(request);
  if (!reading.ok) return reading;
  const given = repeatKeyOf(request);
  if (!given.ok) return given;
  const key = given.value;
  const runId = await nameOf({}, key, tenant);
  const requestHash = await hashOf(collection, documents);
  const run = runStub(env, tenant, runId);
  const query = kebabQuery(reading.value.from, 0);
  let started = key === undefined ? undefined : await run.repeat({ requestHash, idempotencyKey: key }, query);
  if (started === undefined) {
    if (typeof reading.value.from === "object") return kebabRefused(noRunBefore(reading.value));
    const plan = planPushed(
      { schemaVersion: "1.0", task: { kind: "text_to_text" } },
      {
        tenant,
        config: { ...config, limits: { ...config.limits, maxOutputBytes: MAX_TOLD_BYTES } },
        runId,
        requestHash,
        idempotencyKey: key,
        ingest: { collection, documents: documents.length },
      },
    );
    if (!plan.ok) return kebabRefused(fromProblem(plan.problem));
    const { push: { leaseMs } = { leaseMs: config.limits.producerLeaseMs } } = plan.value;
    started = await run.start(plan.value, config.limits.maxActiveRuns, query);
    if (started.started && !started.repeated) await begin(context, { tenant, runId, collection, leaseMs }, documents);
  }
  if (!started.started) return kebabRefused(started.refused === "conflict" ? otherDocuments : tooManyRuns);
  if (started.reading === undefined) throw new Error("a start with a query answers with a reading");
  const read = readingOf(started.reading, reading.value);
  return read.ok ? kebabFound({ runId, reading: read.value }) : read;
}

/** A collection that cannot be reached ends the run at once: nobody else will carry it out. */
async function begin(
  { env, config }: KebabContext,
  run: { tenant: string; runId: string; collection: string; leaseMs: number },
  documents: NewDocument[],
): Promise<void> {
  try {
    await collectionStub(env, run.tenant, run.collection).ingest(run, documents, embedPlanOf(config));
  } catch (error) {
    await runStub(env, run.tenant, run.runId).cancel("The collection could not be reached.");
    throw error;
  }
}

/** The same for the same documents: what they hold is in their fingerprints. */
const hashOf = (collection: string, documents: readonly NewDocument[]): Promise<string> =>
  sha256Hex(
    canonicalJson({ ingest: collection, documents: documents.map(({ path, fingerprint }) => [path, fingerprint]) }),
  );

const otherDocuments: KebabProblem = {
  reason: "conflict",
  message: "This Idempotency-Key was used for another request.",
  details: { field: "header:Idempotency-Key" },
};

const tooManyRuns: KebabProblem = {
  reason: "rate_limited",
  message: "There are too many active runs.",
  retryAfterMs: BUSY_RETRY_MS,
};
