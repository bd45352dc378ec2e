// The native run routes: start, state, events, outcome, cancel, delete, tickets. Translates between HTTP and a run's object; decides nothing about runs.
import * as v from "valibot";
import type { OutcomeAnswer, ReadFrom } from "../../schemas/attach.ts";
import type { Config } from "../../schemas/config.ts";
import type { Framing } from "../../schemas/framing.ts";
import type { RunHandle, TicketScope } from "../../schemas/run.ts";
import { cancelRequestSchema, ticketRequestSchema } from "../../schemas/run.ts";
import { isDialectId } from "../dialects/index.ts";
import { wireIssues } from "../run/issues.ts";
import { authorize } from "./authorize.ts";
import { readJson } from "./body.ts";
import {
  fieldProblem,
  issuesProblem,
  noSuchRun,
  problemResponse,
  problemStream,
  type Problem,
} from "./problem.ts";
import { framingOf, readFrom, waitMs } from "./read-from.ts";
import { planRun } from "./start-run.ts";
import { signTicket, ticketSecret } from "./tickets.ts";

export interface Context {
  request: Request;
  env: Env;
  config: Config;
  /** Path parameter; empty for routes without one. */
  runId: string;
}

/** Tenants wait this long before they ask for another slot. */
const BUSY_RETRY_MS = 1000;
const DEFAULT_TICKET_SECONDS = 3600;

export async function startRun({ request, env, config }: Context): Promise<Response> {
  const tenant = await authorize(request, env);
  if (!tenant.ok) return problemResponse(tenant.problem);
  const wait = waitMs(request);
  if (!wait.ok) return problemResponse(wait.problem);
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
    return problemResponse(
      fieldProblem("header:Idempotency-Key", "must be 1 to 255 visible ASCII characters", "pattern"),
    );
  }
  const framing = framingOf(request);
  const from = readFrom(request);
  if (!from.ok) return refuseCursor(from.problem, framing);
  const body = await readJson(request, config.limits.maxBodyBytes);
  if (!body.ok) return problemResponse(body.problem);
  const plan = await planRun(body.value, key, tenant.value, config);
  if (!plan.ok) return problemResponse(plan.problem);
  const { runId, limits } = plan.value;
  const stub = env.RUN.getByName(`${tenant.value}/${runId}`);
  const answer = await stub.start(plan.value, limits.maxActiveRuns);
  if (!answer.started) {
    return answer.refused === "conflict"
      ? problemResponse(conflict(answer.field, runId))
      : problemResponse({
          code: "rate_limited",
          message: `The tenant already has ${limits.maxActiveRuns} active runs.`,
          runId,
          retryAfterMs: BUSY_RETRY_MS,
          details: { limit: "maxActiveRuns" },
        });
  }
  const headers = { location: `/v1/runs/${runId}/events`, "x-run-id": runId };
  if (framing !== undefined) return attach({ env, tenant: tenant.value, runId, framing, from: from.value, waitMs: 0, headers });
  if (wait.value !== undefined) return outcomeResponse(await stub.outcome(wait.value), headers);
  return handleResponse(answer.handle, headers);
}

export async function readEvents(context: Context): Promise<Response> {
  const { request, env, config, runId } = context;
  const tenant = await authorizeRun(context, "read");
  if (!tenant.ok) return problemResponse(tenant.problem);
  const dialect = new URL(request.url).searchParams.get("dialect") ?? "inderun";
  if (!isDialectId(dialect)) {
    return problemResponse(fieldProblem("query:dialect", "names no dialect of this server", "enum"));
  }
  const framing = framingOf(request);
  const from = readFrom(request);
  if (!from.ok) return refuseCursor(from.problem, framing);
  return attach({
    env,
    tenant: tenant.value,
    runId,
    framing: framing ?? "sse",
    from: from.value,
    waitMs: config.limits.attachWaitMs,
    headers: { "x-run-id": runId },
  });
}

export async function readState(context: Context): Promise<Response> {
  const tenant = await authorizeRun(context, "read");
  if (!tenant.ok) return problemResponse(tenant.problem);
  const state = await runOf(context, tenant.value).state();
  return state === undefined ? problemResponse(noSuchRun()) : json(state);
}

export async function readOutcome(context: Context): Promise<Response> {
  const tenant = await authorizeRun(context, "read");
  if (!tenant.ok) return problemResponse(tenant.problem);
  const wait = waitMs(context.request);
  if (!wait.ok) return problemResponse(wait.problem);
  return outcomeResponse(await runOf(context, tenant.value).outcome(wait.value ?? 0));
}

export async function cancelRun(context: Context): Promise<Response> {
  const tenant = await authorizeRun(context, "cancel");
  if (!tenant.ok) return problemResponse(tenant.problem);
  const body = await readJson(context.request, context.config.limits.maxBodyBytes);
  if (!body.ok) return problemResponse(body.problem);
  const parsed = v.safeParse(cancelRequestSchema, body.value ?? {});
  if (!parsed.success) return problemResponse(issuesProblem(wireIssues(parsed.issues)));
  return outcomeResponse(await runOf(context, tenant.value).cancel(parsed.output.reason));
}

export async function deleteRun(context: Context): Promise<Response> {
  const tenant = await authorize(context.request, context.env);
  if (!tenant.ok) return problemResponse(tenant.problem);
  const existed = await runOf(context, tenant.value).forget();
  return existed ? new Response(null, { status: 204 }) : problemResponse(noSuchRun());
}

export async function createTicket({ request, env, config }: Context): Promise<Response> {
  const tenant = await authorize(request, env);
  if (!tenant.ok) return problemResponse(tenant.problem);
  const body = await readJson(request, config.limits.maxBodyBytes);
  if (!body.ok) return problemResponse(body.problem);
  const parsed = v.safeParse(ticketRequestSchema, body.value);
  if (!parsed.success) return problemResponse(issuesProblem(wireIssues(parsed.issues)));
  const secret = await ticketSecret(env);
  if (!secret.ok) return problemResponse(secret.problem);
  const { runId, expiresIn = DEFAULT_TICKET_SECONDS } = parsed.output;
  const scope = [...new Set(parsed.output.scope)];
  const expiresAt = Date.now() + expiresIn * 1000;
  const ticket = await signTicket(secret.value, { tenant: tenant.value, run: runId, scope, expires: expiresAt });
  const url = new URL(`/v1/runs/${runId}/events?ticket=${ticket}`, request.url).href;
  return Response.json({ ticket, runId, scope, expiresAt, url }, { status: 201, headers: { "cache-control": "no-store" } });
}

/** A path that cannot be a run's name is a run that is not there. */
function authorizeRun({ request, env, runId }: Context, scope: TicketScope) {
  return authorize(request, env, { ticket: { runId, scope } });
}

function runOf({ env, runId }: Context, tenant: string) {
  return env.RUN.getByName(`${tenant}/${runId}`);
}

interface AttachRequest {
  env: Env;
  tenant: string;
  runId: string;
  framing: Framing;
  from: ReadFrom;
  waitMs: number;
  headers: Record<string, string>;
}

async function attach({ env, tenant, runId, framing, from, waitMs: wait, headers }: AttachRequest): Promise<Response> {
  const stub = env.RUN.getByName(`${tenant}/${runId}`);
  const answer = await stub.attach({ dialect: "inderun", framing, from, waitMs: wait });
  if (answer instanceof Response) {
    return new Response(answer.body, {
      status: answer.status,
      headers: {
        ...Object.fromEntries(answer.headers),
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
        ...headers,
      },
    });
  }
  switch (answer.refused) {
    case "not_found":
      return problemResponse(noSuchRun());
    case "gone":
      return problemResponse({ code: "gone", message: "The run's events are no longer kept; its outcome is.", runId });
    case "cursor_ahead":
      return refuseCursor(
        { ...fieldProblem("header:Last-Event-ID", "is ahead of the run", "cursor"), runId },
        framing,
      );
  }
}

function refuseCursor(problem: Problem, framing: Framing | undefined): Response {
  return framing === "sse" ? problemStream(problem) : problemResponse(problem);
}

function outcomeResponse(answer: OutcomeAnswer, headers: Record<string, string> = {}): Response {
  if ("refused" in answer) return problemResponse(noSuchRun());
  if ("running" in answer) return handleResponse(answer.running, headers);
  return new Response(answer.outcome, {
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
}

function handleResponse(handle: RunHandle, headers: Record<string, string>): Response {
  return Response.json(handle, { status: 202, headers: { "cache-control": "no-store", ...headers } });
}

const json = (value: unknown): Response => Response.json(value, { headers: { "cache-control": "no-store" } });

const conflict = (field: string, runId: string): Problem => ({
  code: "conflict",
  message:
    field === "body"
      ? "A run of this name exists and was started with another body."
      : "A run of this name exists and was started with another Idempotency-Key.",
  issues: [{ path: field === "body" ? "" : `header:${field}`, message: "differs from the run's own", keyword: "conflict" }],
  runId,
});
