// A turn's run by its name: read on after a lost connection, or cancelled. A run of another visitor is not there.
import { cancelRequestSchema } from "../../../../schemas/run.ts";
import { asRecord, asText } from "../../../wire/json.ts";
import { readFrom } from "../../read-from.ts";
import { readBody } from "./body.ts";
import { json, runStub, visitorStub, type SvedaContext } from "./context.ts";
import {
  absent,
  svedaFound,
  svedaProblemResponse,
  svedaRefused,
  type SvedaProblem,
  type SvedaResult,
} from "./problem.ts";
import { readingOf, streamResponse, svedaQuery } from "./reading.ts";
import { visitorOf } from "./visitor.ts";

/** `GET /sveda/runs/{runId}`: the rest of the stream after Last-Event-ID, or all of it. */
export async function readTurnEvents(context: SvedaContext): Promise<Response> {
  const { request, env, config, name: runId } = context;
  const tenant = await tenantOfOwn(context);
  if (!tenant.ok) return svedaProblemResponse(tenant.problem);
  const start = readFrom(request);
  if (!start.ok) return svedaProblemResponse({ code: "invalid", message: start.problem.message });
  const { from } = start.value;
  // A merged state has no word in this protocol.
  if (from === "snapshot") return svedaProblemResponse(noSnapshot);
  const answer = await runStub(env, tenant.value, runId).attach(svedaQuery(from, config.limits.attachWaitMs));
  const reading = readingOf(answer);
  return reading.ok ? streamResponse(reading.value.body, runId) : svedaProblemResponse(reading.problem);
}

const noSnapshot: SvedaProblem = { code: "invalid", message: "Sveda's events cannot begin with a snapshot." };

/** `POST /sveda/runs/{runId}/cancel`: a live run is cancelled, an ended one stays as it is. */
export async function cancelTurn(context: SvedaContext): Promise<Response> {
  const { request, env, config, name: runId } = context;
  const body = await readBody(request, cancelRequestSchema, config.limits.maxBodyBytes, {});
  if (!body.ok) return svedaProblemResponse(body.problem);
  const tenant = await tenantOfOwn(context);
  if (!tenant.ok) return svedaProblemResponse(tenant.problem);
  const answer = await runStub(env, tenant.value, runId).cancel(body.value.reason);
  if (!(answer instanceof Response)) return svedaProblemResponse(absent);
  const outcome = asText(asRecord(await answer.json())?.["outcome"]);
  return json({ success: true, outcome });
}

/** The tenant of the visitor that asks, when the run is one of the visitor's turns. */
async function tenantOfOwn({ request, env, name: runId }: SvedaContext): Promise<SvedaResult<string>> {
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return visitor;
  const own = await visitorStub(env, visitor.value).owns(runId);
  return own ? svedaFound(visitor.value.tenant) : svedaRefused(absent);
}
