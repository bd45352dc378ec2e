// A question's run after its start: its stream read again, and its end brought about. Starts nothing.
import * as v from "valibot";
import { cancelRequestSchema } from "../../../../schemas/run.ts";
import { parseJson } from "../../../wire/json.ts";
import { readJson } from "../../body.ts";
import type { ReadingStart } from "../../read-from.ts";
import { json, runStub, type KebabContext } from "./context.ts";
import { fromProblem, invalidInput, kebabProblemResponse, noRun } from "./problem.ts";
import { cursorOf, kebabQuery, readingOf, streamResponse } from "./reading.ts";

/** `GET /kebab/runs/{runId}`: the rest of the stream behind `?after=N`, or all of it. */
export async function readAnswer({ request, env, config, tenant, runId }: KebabContext): Promise<Response> {
  const start = cursorOf(request);
  if (!start.ok) return kebabProblemResponse(start.problem);
  const answer = await runStub(env, tenant, runId).attach(kebabQuery(start.value.from, config.limits.attachWaitMs));
  const reading = readingOf(answer, start.value);
  return reading.ok ? streamResponse(reading.value.body, runId) : kebabProblemResponse(reading.problem);
}

const atEnd: ReadingStart = { from: "now", field: "query:from" };

/** `POST /kebab/runs/{runId}/cancel`: a live run is cancelled, an ended one stays as it is. Answers with the stream's last line. */
export async function cancelAsk({ request, env, config, tenant, runId }: KebabContext): Promise<Response> {
  const body = await readJson(request, config.limits.maxBodyBytes);
  if (!body.ok) return kebabProblemResponse(fromProblem(body.problem));
  const parsed = v.safeParse(cancelRequestSchema, body.value ?? {});
  if (!parsed.success) return kebabProblemResponse(invalidInput("reason", "The reason must be text."));
  const run = runStub(env, tenant, runId);
  const outcome = await run.cancel(parsed.output.reason);
  if (!(outcome instanceof Response)) return kebabProblemResponse(noRun);
  // It crosses the wire with its body: what is not read is given back.
  await outcome.body?.cancel();
  const reading = readingOf(await run.attach(kebabQuery(atEnd.from, 0)), atEnd);
  if (!reading.ok) return kebabProblemResponse(reading.problem);
  const last = (await reading.value.text()).trimEnd().split("\n").at(-1) ?? "";
  return json(parseJson(last)?.value);
}
