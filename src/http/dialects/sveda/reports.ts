// What visitors report about answers: taken from a visitor, kept by its tenant, read by the tenant's host.
import { contentReportRequestSchema } from "../../../../schemas/dialects/sveda-embed.ts";
import { characterCount, firstCharacters } from "../../../wire/characters.ts";
import { readBody } from "./body.ts";
import { json, type SvedaContext } from "./context.ts";
import { svedaProblemResponse } from "./problem.ts";
import { hostOf, visitorOf } from "./visitor.ts";

/** Characters. */
const MAX_REASON = 80;
const MAX_EXCERPT = 4000;

/** `POST /sveda/content-reports`. A reason that is missing or too long is refused, an excerpt that is too long is cut. */
export async function keepReport({ request, env, config }: SvedaContext): Promise<Response> {
  const body = await readBody(request, contentReportRequestSchema, config.limits.maxBodyBytes);
  if (!body.ok) return svedaProblemResponse(body.problem);
  const visitor = await visitorOf(request, env);
  if (!visitor.ok) return svedaProblemResponse(visitor.problem);
  const reason = (body.value.reason ?? "").trim();
  if (reason === "" || characterCount(reason) > MAX_REASON) {
    return svedaProblemResponse({ code: "invalid", message: "A report reason is required." });
  }
  const excerpt = firstCharacters((body.value.excerpt ?? "").trim(), MAX_EXCERPT);
  const tenant = env.TENANT.getByName(visitor.value.tenant);
  await tenant.keepReport({ at: Date.now(), visitor: visitor.value.visitor, reason, excerpt });
  return Response.json({ ok: true }, { status: 201, headers: { "cache-control": "no-store" } });
}

/** `GET /sveda/content-reports`, for hosts: the kept reports, newest first. */
export async function listReports({ request, env }: SvedaContext): Promise<Response> {
  const host = await hostOf(request, env);
  if (!host.ok) return svedaProblemResponse(host.problem);
  const reports = await env.TENANT.getByName(host.value).reports();
  return json({ reports: reports.map(({ at, ...report }) => ({ ...report, createdAt: new Date(at).toISOString() })) });
}
