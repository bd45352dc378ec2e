// The native route of a producer: events of a run that is carried out elsewhere. Translates between HTTP and the run's object; decides nothing about runs.
import * as v from "valibot";
import { pushRequestSchema, type PushAnswer, type PushBatch } from "../../schemas/push.ts";
import { checkPushedEvents } from "../run/pushed-check.ts";
import { wireIssues } from "../run/issues.ts";
import { readJson } from "./body.ts";
import { parsePushBody } from "./exact-body.ts";
import { fieldProblem, issuesProblem, noSuchRun, problemResponse, type Problem } from "./problem.ts";
import { authorizeRun, runOf, type Context } from "./runs.ts";

/** Bytes of a batch as its run's object is handed it: the platform carries 32 MiB, and up to twice the bytes of a text. */
const MAX_BATCH = 8_000_000;

export async function pushEvents(context: Context): Promise<Response> {
  const { request, config, runId } = context;
  // No ticket allows this: what stands in a URL must not write.
  const tenant = await authorizeRun(context);
  if (!tenant.ok) return problemResponse(tenant.problem);
  const body = await readJson(request, Math.min(config.limits.maxBodyBytes, MAX_BATCH), parsePushBody);
  if (!body.ok) return problemResponse(body.problem);
  const value: unknown = body.value ?? {};
  // The body itself goes on, not valibot's copy: the copy lacks a tool's keys named `constructor` and `prototype`.
  if (!v.is(pushRequestSchema, value)) {
    return problemResponse(issuesProblem(wireIssues(v.safeParse(pushRequestSchema, value).issues ?? [])));
  }
  const checked = checkPushedEvents(value.events);
  if (!checked.ok) return problemResponse(issuesProblem(checked.issues));
  const { epoch, sequence } = value;
  const answer = await push(runOf(context, tenant.value), { epoch, sequence, events: checked.events });
  if (!answer.taken) return problemResponse({ ...refusal(answer), runId });
  const { nextSequence, lastSequence } = answer;
  return Response.json(
    { accepted: true, nextSequence, lastSequence },
    { headers: { "cache-control": "no-store", "x-run-id": runId } },
  );
}

/** A stub's own type gives up at fields of unknown type. */
const push = async (stub: ReturnType<typeof runOf>, batch: PushBatch): Promise<PushAnswer> => stub.push(batch);

function refusal(answer: Extract<PushAnswer, { taken: false }>): Problem {
  switch (answer.refused) {
    case "not_found":
      return noSuchRun();
    case "invalid":
      return issuesProblem(answer.issues);
    case "not_pushed":
      return conflict("", "is for a run that no producer pushes", { refused: "not_pushed" });
    case "ended":
      return conflict("", "is for a run that has ended", { refused: "ended", outcome: answer.outcome });
    case "fenced":
      return conflict("/epoch", `is below ${answer.epoch}, that of the producer that took over`, {
        refused: "fenced",
        epoch: answer.epoch,
      });
    case "gap":
      return conflict("/sequence", `is ahead; the run's next is ${answer.expected}`, {
        refused: "gap",
        expectedSequence: answer.expected,
      });
  }
}

const conflict = (path: string, message: string, details: Record<string, unknown>): Problem => ({
  ...fieldProblem(path, message, "conflict"),
  code: "conflict",
  details,
});
