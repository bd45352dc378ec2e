// From a POST body to a run's plan: validation, name, chain, clocks, policies. Starts nothing by itself.
import type { Config, HedgeSettings, Route, Target } from "../../schemas/config.ts";
import type { Asks, RunPlan } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { adapters } from "../providers/index.ts";
import { canonicalJson } from "../run/canonical.ts";
import { planRoute } from "../run/planner.ts";
import { checkStartRequest, promptBytes } from "../run/request.ts";
import { localityOf, planTarget, routeTargets, totalClock } from "../run/settings.ts";
import { utf8Length } from "../run/utf8.ts";
import { toHex } from "../wire/hex.ts";
import { fieldProblem, found, issuesProblem, refused, type Problem, type Result } from "./problem.ts";

/** Bytes of a request as it is stored: one row of the platform holds 2 MB. */
const MAX_STORED_REQUEST = 1_900_000;

const DEFAULT_ROUTE = "default";

/** Fields whose meaning this version does not implement: refused by name, never ignored. */
const unsupported: ((request: StartRequest) => string | undefined)[] = [
  ({ source }) => (source === "push" ? "/source" : undefined),
  ({ previousRunId }) => (previousRunId === undefined ? undefined : "/previousRunId"),
  ({ toolResults }) => (toolResults === undefined ? undefined : "/toolResults"),
  ({ toolDecisions }) => (toolDecisions === undefined ? undefined : "/toolDecisions"),
  ({ threadId }) => (threadId === undefined ? undefined : "/threadId"),
];

export async function planRun(
  body: unknown,
  idempotencyKey: string | undefined,
  tenant: string,
  { targets, routes, limits, breaker }: Config,
): Promise<Result<RunPlan>> {
  const checked = checkStartRequest(body);
  if (!checked.ok) return refused(issuesProblem(checked.issues));
  // Metadata is kept beside the request and outlives it: stored in both, it could outgrow a row.
  const { request } = checked;
  const { metadata, ...asked } = request;
  const text = canonicalJson(request);
  const tooLarge = sizeProblem(request, text, limits.maxPromptBytes);
  if (tooLarge !== undefined) return refused(tooLarge);
  const field = unsupported.map((check) => check(request)).find((path) => path !== undefined);
  if (field !== undefined) {
    return refused({
      ...fieldProblem(field, "asks for something this version does not support", "unsupported"),
      code: "capability_mismatch",
    });
  }
  const runId = await nameOf(request, idempotencyKey, tenant);
  const named = namedTargets(request, targets, routes);
  if (!named.ok) return named;
  const plan = planRoute({
    mode: "stream",
    offline: false,
    candidates: named.value.map((target) => ({ id: target.id, locality: localityOf(target), streaming: "supported" })),
    constraints: request.constraints,
    preferences: request.preferences,
  });
  if (!plan.ok) {
    return refused({
      code: "capability_mismatch",
      message: "No target of the route may serve this request.",
      runId,
      details: { failureCode: plan.failureCode, rejectedProviders: plan.rejected },
    });
  }
  const chain = plan.chain.flatMap((id) => named.value.filter((target) => target.id === id));
  return found({
    runId,
    tenant,
    request: asked,
    requestHash: await sha256(text),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    chain: chain.map((target) => planTarget(target, adapters[target.adapter].continues(target), request.clocks)),
    totalMs: totalClock(chain, request.clocks, request.constraints?.timeoutMs),
    asks: asksOf(request),
    breaker,
    hedge: hedgeOf(request, routes),
    limits,
    policies: {
      replaces: true,
      onDisconnect: request.onDisconnect ?? "continue",
      onMidStreamFailure: request.onMidStreamFailure ?? "fail",
      durability: request.durability ?? "standard",
      telemetry: request.telemetry?.consent !== false && request.telemetry?.level !== "off",
    },
    decision: plan.decision,
    agent: undefined,
    chat: undefined,
    continues: undefined,
    ...(metadata !== undefined && { metadata }),
  });
}

function sizeProblem(request: StartRequest, text: string, maxPromptBytes: number): Problem | undefined {
  const refuse = (path: string, limit: number): Problem => ({
    ...fieldProblem(path, `is larger than ${limit} bytes`, "maxBytes"),
    code: "too_large",
  });
  if (promptBytes(request) > maxPromptBytes)
    return refuse(request.messages === undefined ? "/prompt" : "/messages", maxPromptBytes);
  return utf8Length(text) > MAX_STORED_REQUEST ? refuse("", MAX_STORED_REQUEST) : undefined;
}

/** `requestId`, else a name made from the key, else a random one. */
async function nameOf(request: StartRequest, idempotencyKey: string | undefined, tenant: string): Promise<string> {
  if (request.requestId !== undefined) return request.requestId;
  if (idempotencyKey === undefined) return `run_${crypto.randomUUID().replaceAll("-", "")}`;
  return `run_${(await sha256(`${tenant}\n${idempotencyKey}`)).slice(0, 32)}`;
}

function routeOf({ route = DEFAULT_ROUTE }: StartRequest, routes: Config["routes"]): Route | undefined {
  return Object.hasOwn(routes, route) ? routes[route] : undefined;
}

/** A request that names its targets itself has no route, and so nothing that a route may ask for. */
function hedgeOf(request: StartRequest, routes: Config["routes"]): HedgeSettings | undefined {
  const route = request.targets === undefined ? routeOf(request, routes) : undefined;
  return route === undefined || Array.isArray(route) ? undefined : route.hedge;
}

function asksOf(request: StartRequest): Asks {
  const { output = "text" } = request.generation ?? {};
  const tools = (request.tools ?? []).length > 0 && request.toolChoice !== "none";
  return { promptBytes: promptBytes(request), tools, json: output !== "text" };
}

function namedTargets(request: StartRequest, targets: Target[], routes: Config["routes"]): Result<Target[]> {
  const route = routeOf(request, routes);
  const ids = request.targets ?? (route === undefined ? undefined : routeTargets(route));
  if (ids === undefined) return refused(fieldProblem("/route", "names no configured route", "enum"));
  const chosen: Target[] = [];
  for (const [index, id] of ids.entries()) {
    const target = targets.find((candidate) => candidate.id === id);
    if (target === undefined) return refused(fieldProblem(`/targets/${index}`, "names no configured target", "enum"));
    if (chosen.includes(target)) return refused(fieldProblem(`/targets/${index}`, "stands twice", "uniqueItems"));
    chosen.push(target);
  }
  return found(chosen);
}

async function sha256(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
