// The native run routes: start, state, events, outcome, cancel, delete, tickets. Translates between HTTP and a run's object; decides nothing about runs.
import * as v from "valibot";
import type { AttachQuery, ConflictField, OutcomeAnswer, Refusal, StartAnswer } from "../../schemas/attach.ts";
import type { Config } from "../../schemas/config.ts";
import type { Framing } from "../../schemas/framing.ts";
import type { RunHandle, TicketScope } from "../../schemas/run.ts";
import { cancelRequestSchema, runIdSchema, ticketRequestSchema } from "../../schemas/run.ts";
import { wireIssues } from "../run/issues.ts";
import { authorize } from "./authorize.ts";
import { readJson } from "./body.ts";
import { parseRunBody } from "./exact-body.ts";
import { continueRun, notWaiting } from "./continue-run.ts";
import { IDEMPOTENCY_KEY } from "./idempotency-key.ts";
import { startNamedInThread } from "./native-thread.ts";
import {
  fieldProblem,
  found,
  issuesProblem,
  noSuchRun,
  problemResponse,
  problemStream,
  refused,
  streamHeaders,
  type Problem,
  type Result,
} from "./problem.ts";
import { dialectOf, framingOf, readFrom, waitMs, type ReadingStart } from "./read-from.ts";
import { nameStart, planRun, type NamedStart } from "./start-run.ts";
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
/** A thread that does not answer is asked again after so long. */
const UNTOLD_RETRY_MS = 1000;
const DEFAULT_TICKET_SECONDS = 3600;

export async function startRun({ request, env, config }: Context): Promise<Response> {
  const tenant = await authorize(request, env);
  if (!tenant.ok) return problemResponse(tenant.problem);
  const wait = waitMs(request);
  if (!wait.ok) return problemResponse(wait.problem);
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) {
    return problemResponse(
      fieldProblem("header:Idempotency-Key", "must be 1 to 255 visible ASCII characters", "pattern"),
    );
  }
  const dialect = dialectOf(request);
  if (!dialect.ok) return problemResponse(dialect.problem);
  const framing = framingOf(request);
  const start = readFrom(request);
  if (!start.ok) return refuseCursor(start.problem, framing);
  const body = await readJson(request, config.limits.maxBodyBytes, parseRunBody);
  if (!body.ok) return problemResponse(body.problem);
  const named = await nameStart(body.value, key, tenant.value);
  if (!named.ok) return problemResponse(named.problem);
  const { runId } = named.value;
  const stub = env.RUN.getByName(`${tenant.value}/${runId}`);
  // A cursor belongs to a run that was there: when it is not, its reader must not pay for a new one.
  const resumes = framing !== undefined && typeof start.value.from === "object";
  if (resumes && !(await stub.exists())) return refuseCursor(cursorAhead(start.value, runId), framing);
  const { from } = start.value;
  const query = framing === undefined ? undefined : { dialect: dialect.value, framing, from, waitMs: 0 };
  const started = await startNamed(env, named.value, config, query);
  if (!started.ok) return problemResponse(started.problem);
  const answer = started.value;
  if (!answer.started) {
    return problemResponse(
      answer.refused === "conflict" ? conflict(answer.field, runId) : tooManyRuns(config.limits.maxActiveRuns, runId),
    );
  }
  const headers = { location: `/v1/runs/${runId}/events`, "x-run-id": runId };
  if (answer.reading !== undefined) {
    return readingResponse(answer.reading, { runId, framing, start: start.value, headers });
  }
  if (wait.value !== undefined) return outcomeResponse(await stub.outcome(wait.value), headers);
  return handleResponse(answer.handle, headers);
}

async function startNamed(
  env: Env,
  named: NamedStart,
  config: Config,
  query: AttachQuery | undefined,
): Promise<Result<StartAnswer>> {
  const { previousRunId, threadId } = named.request;
  if (previousRunId !== undefined) return continueRun(env, named, previousRunId, config, query);
  if (threadId !== undefined) return startNamedInThread(env, named, threadId, config, query);
  const plan = planRun(named, config);
  if (!plan.ok) return plan;
  const stub = env.RUN.getByName(`${named.tenant}/${named.runId}`);
  return found(await stub.start(plan.value, config.limits.maxActiveRuns, query));
}

export async function readEvents(context: Context): Promise<Response> {
  const { request, config, runId } = context;
  const tenant = await authorizeRun(context, "read");
  if (!tenant.ok) return problemResponse(tenant.problem);
  const dialect = dialectOf(request);
  if (!dialect.ok) return problemResponse(dialect.problem);
  const framing = framingOf(request);
  const start = readFrom(request);
  if (!start.ok) return refuseCursor(start.problem, framing);
  const answer = await runOf(context, tenant.value).attach({
    dialect: dialect.value,
    framing: framing ?? "sse",
    from: start.value.from,
    waitMs: config.limits.attachWaitMs,
  });
  return readingResponse(answer, { runId, framing, start: start.value, headers: { "x-run-id": runId } });
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
  const tenant = await authorizeRun(context);
  if (!tenant.ok) return problemResponse(tenant.problem);
  switch (await runOf(context, tenant.value).forget()) {
    case "forgotten":
      return new Response(null, { status: 204 });
    case "unknown":
      return problemResponse(noSuchRun());
    case "untold":
      return problemResponse({
        code: "unavailable",
        message: "The run's thread, or its collection, does not answer; try again.",
        retryAfterMs: UNTOLD_RETRY_MS,
      });
  }
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
  return Response.json(
    { ticket, runId, scope, expiresAt, url },
    { status: 201, headers: { "cache-control": "no-store" } },
  );
}

/** Without a scope no ticket will do. A path that cannot be a run's name is a run that is not there. */
export async function authorizeRun({ request, env, runId }: Context, scope?: TicketScope): Promise<Result<string>> {
  const tenant = await authorize(request, env, scope === undefined ? {} : { ticket: { runId, scope } });
  return tenant.ok && !v.is(runIdSchema, runId) ? refused(noSuchRun()) : tenant;
}

export function runOf({ env, runId }: Context, tenant: string) {
  return env.RUN.getByName(`${tenant}/${runId}`);
}

interface Reading {
  runId: string;
  /** What the client asked for; SSE when it asked for nothing. */
  framing: Framing | undefined;
  start: ReadingStart;
  headers: Record<string, string>;
}

function readingResponse(answer: Response | Refusal, { runId, framing, start, headers }: Reading): Response {
  if (answer instanceof Response) {
    return new Response(answer.body, {
      status: answer.status,
      headers: { ...Object.fromEntries(answer.headers), ...streamHeaders, ...headers },
    });
  }
  switch (answer.refused) {
    case "not_found":
      return problemResponse(noSuchRun());
    case "gone":
      return problemResponse({ code: "gone", message: "The run's events are no longer kept; its outcome is.", runId });
    case "cursor_ahead":
      return refuseCursor(cursorAhead(start, runId), framing);
  }
}

const cursorAhead = ({ field }: ReadingStart, runId: string): Problem => ({
  ...fieldProblem(field, "is ahead of the run", "cursor"),
  runId,
});

function refuseCursor(problem: Problem, framing: Framing | undefined): Response {
  return framing === "sse" ? problemStream(problem) : problemResponse(problem);
}

function outcomeResponse(answer: OutcomeAnswer, headers: Record<string, string> = {}): Response {
  if (answer instanceof Response) {
    return new Response(answer.body, {
      headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    });
  }
  return "refused" in answer ? problemResponse(noSuchRun()) : handleResponse(answer.running, headers);
}

function handleResponse(handle: RunHandle, headers: Record<string, string>): Response {
  return Response.json(handle, { status: 202, headers: { "cache-control": "no-store", ...headers } });
}

const json = (value: unknown): Response => Response.json(value, { headers: { "cache-control": "no-store" } });

const tooManyRuns = (maxActiveRuns: number, runId: string): Problem => ({
  code: "rate_limited",
  message: `The tenant already has ${maxActiveRuns} active runs.`,
  runId,
  retryAfterMs: BUSY_RETRY_MS,
  details: { limit: "maxActiveRuns" },
});

const conflict = (field: ConflictField, runId: string): Problem =>
  field === "previousRunId"
    ? { ...notWaiting, runId }
    : {
        code: "conflict",
        message:
          field === "body"
            ? "A run of this name exists and was started with another body."
            : "A run of this name exists and was started with another Idempotency-Key.",
        issues: [
          {
            path: field === "body" ? "" : `header:${field}`,
            message: "differs from the run's own",
            keyword: "conflict",
          },
        ],
        runId,
      };
