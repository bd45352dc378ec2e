// Records that a producer pushes of a run which it carries out elsewhere. Looks at no record: the thread does.
import * as v from "valibot";
import { ingestSchema } from "../../../../schemas/dialects/deerflow.ts";
import { runIdSchema } from "../../../../schemas/run.ts";
import type { IngestAnswer } from "../../../../schemas/thread-ingest.ts";
import { readBody } from "./body.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import { faultsOf, valueError } from "./faults.ts";
import { deerProblemResponse, faulty, noSuchThread, threadFull, type DeerProblem, type Fault } from "./problem.ts";

const DEFAULT_LEASE_MS = 60_000;

/** `POST /threads/{t}/runs/{r}/events` */
export async function pushRecords(context: DeerContext): Promise<Response> {
  const { request, config, threadId, runId } = context;
  const body = await readBody(request, ingestSchema, config.limits.maxBodyBytes);
  if (!body.ok) return deerProblemResponse(body.problem);
  const named = v.safeParse(runIdSchema, runId);
  if (!named.success) return deerProblemResponse(faulty(faultsOf(named.issues, runId, ["path", "run_id"])));
  const { epoch, sequence, records, end, lease_ms: leaseMs, metadata } = body.value;
  const answer = await threadOf(context).ingest({
    runId,
    epoch: epoch ?? 0,
    sequence,
    records: records ?? [],
    ...(end !== undefined && {
      end: { status: end.status, stopReason: end.stop_reason ?? null, error: end.error ?? null },
    }),
    leaseMs: leaseMs ?? DEFAULT_LEASE_MS,
    ifMissing: body.value.if_not_exists ?? "refuse",
    assistantId: body.value.assistant_id ?? null,
    metadata: metadata ?? {},
    userId: body.value.user_id ?? null,
    maxThreadBytes: config.limits.maxThreadBytes,
  });
  if (!answer.taken) return deerProblemResponse(refusalOf(answer, threadId, runId));
  return json({ epoch: answer.epoch, next: answer.next, seqs: answer.seqs });
}

type Refused = Extract<IngestAnswer, { taken: false }>;

function refusalOf(answer: Refused, threadId: string, runId: string): DeerProblem {
  switch (answer.refused) {
    case "unknown_thread":
      return noSuchThread(threadId);
    case "full":
      return threadFull;
    case "not_pushed":
      return stopped("not_pushed", `Run ${runId} is carried out by this server, which records it`);
    case "ended":
      return stopped("ended", `Run ${runId} has ended (status: ${answer.status})`, { status: answer.status });
    case "fenced":
      return stopped("fenced", `Run ${runId} is recorded by a later producer`, { epoch: answer.epoch });
    case "gap":
      return stopped("gap", `The next record of run ${runId} is ${answer.expected}`, { expected: answer.expected });
    case "invalid":
      return faulty(answer.issues.map(({ path, message }) => valueError(placeOf(path), null, message)));
  }
}

/** The word says what a producer is to do; a text would have to be taken apart. */
const stopped = (code: string, message: string, more: Record<string, unknown> = {}): DeerProblem => ({
  code: "conflict",
  detail: { code, message, ...more },
});

/** A JSON pointer as a place in the body. */
const placeOf = (pointer: string): Fault["loc"] => [
  "body",
  ...pointer
    .split("/")
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
];
