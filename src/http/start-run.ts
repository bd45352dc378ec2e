// From a POST body to a run's plan: validation, name, chain, clocks, policies. Starts nothing by itself.
import type { AskPlan } from "../../schemas/ask.ts";
import type { IngestPlan } from "../../schemas/collection.ts";
import type { Config, HedgeSettings, Route, Target } from "../../schemas/config.ts";
import type { ChatRef, RunPlan, RunPolicies } from "../../schemas/plan.ts";
import { PUSHED } from "../../schemas/push.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ThreadRef } from "../../schemas/thread.ts";
import type { AgentPlan } from "../../schemas/tool.ts";
import { adapters } from "../providers/index.ts";
import { asksOf } from "../run/asks.ts";
import { canonicalJson } from "../run/canonical.ts";
import { planRoute } from "../run/planner.ts";
import { checkStartRequest, promptBytes } from "../run/request.ts";
import { localityOf, planTarget, routeTargets, totalClock } from "../run/settings.ts";
import { choiceIssue } from "../run/tool-choice.ts";
import { utf8Length } from "../run/utf8.ts";
import { sha256Hex } from "./digest.ts";
import { keyedName } from "./idempotency-key.ts";
import { nativeAgent } from "./native-agent.ts";
import { fieldProblem, found, issuesProblem, refused, type Problem, type Result } from "./problem.ts";

/** Bytes of a request as its object is handed it: the platform carries 32 MiB, and up to twice the bytes of a text. */
const MAX_REQUEST = 15_000_000;

export const DEFAULT_ROUTE = "default";

/** A valid start, with the name and the hash that its repeats have too. */
export interface NamedStart {
  tenant: string;
  request: StartRequest;
  runId: string;
  requestHash: string;
  idempotencyKey: string | undefined;
}

export async function nameStart(
  body: unknown,
  idempotencyKey: string | undefined,
  tenant: string,
): Promise<Result<NamedStart>> {
  const checked = checkStartRequest(body);
  if (!checked.ok) return refused(issuesProblem(checked.issues));
  const { request } = checked;
  return found({
    tenant,
    request,
    runId: await nameOf(request, idempotencyKey, tenant),
    requestHash: await sha256Hex(canonicalJson(request)),
    idempotencyKey,
  });
}

/** The plan of a native start that goes on from no other run. */
export const planRun = ({ request, ...named }: NamedStart, config: Config): Result<RunPlan> =>
  request.source === "push"
    ? planPushed(request, { ...named, config })
    : planNative(request, { ...named, config, agent: nativeAgent(request, config) });

/** The plan of a run that no target of ours carries out: nothing is asked, and its producer is waited for. */
export function planPushed(request: StartRequest, planning: Planning): Result<RunPlan> {
  const { limits } = planning.config;
  const { clocks, constraints } = request;
  const shortest = (longest: number, ...asked: (number | undefined)[]): number =>
    Math.min(longest, ...asked.filter((ms) => ms !== undefined));
  const tooLarge = sizeProblem(request, planning.brings ?? request, limits.maxPromptBytes);
  if (tooLarge !== undefined) return refused(tooLarge);
  return found({
    ...basicPlan(request, planning),
    chain: [],
    totalMs: shortest(limits.producerTotalMs, clocks?.totalMs, constraints?.timeoutMs),
    asks: asksOf(request, []),
    hedge: undefined,
    decision: {
      selectedProviderId: PUSHED,
      fallbackProviderIds: [],
      rejectedProviders: [],
      fallbackAvailable: false,
      taskKind: "text_to_text",
      explanation: { summary: "Pushed by its producer.", selectedProviderId: PUSHED },
      constraints: null,
      preferences: null,
      plannerSource: "fallback",
      plannerUnavailableReason: null,
    },
    push: { leaseMs: shortest(limits.producerLeaseMs, clocks?.idleMs) },
  });
}

/** As `planRequest`; a choice of a tool that no server will be asked for must name one that is there. */
export function planNative(request: StartRequest, planning: Planning): Result<RunPlan> {
  const { tools = [], servers = [] } = planning.agent ?? {};
  const issue = servers.length > 0 ? undefined : choiceIssue(request, tools);
  return issue === undefined ? planRequest(request, planning) : refused(issuesProblem([issue]));
}

/** What of a request is judged by its size: what a server has made or stored before is no fault of the request. */
export type Brought = Pick<StartRequest, "prompt" | "messages" | "tools" | "toolResults">;

/** What a run is planned with, beside its request. */
export interface Planning {
  tenant: string;
  config: Config;
  runId: string;
  /** Hex SHA-256: the same for a repeat of the same request, and no other. */
  requestHash: string;
  idempotencyKey?: string | undefined;
  agent?: AgentPlan | undefined;
  chat?: ChatRef | undefined;
  /** With an agent. */
  thread?: ThreadRef | undefined;
  ask?: AskPlan | undefined;
  ingest?: IngestPlan | undefined;
  /** What the request itself brings a model to read, where the server adds to it; else all of it. */
  brings?: Brought;
  continues?: string | undefined;
  /** False when the first reader cannot replace text that it has shown; true when left out. */
  replaces?: boolean;
  /** Where the request does not say. */
  onDisconnect?: RunPolicies["onDisconnect"];
}

/** The plan of a valid request: its chain, clocks and policies. Errors name fields of the native body. */
export function planRequest(request: StartRequest, planning: Planning): Result<RunPlan> {
  const { config, runId, agent } = planning;
  const { targets, routes, limits } = config;
  const tooLarge = sizeProblem(request, planning.brings ?? request, limits.maxPromptBytes);
  if (tooLarge !== undefined) return refused(tooLarge);
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
    ...basicPlan(request, planning),
    chain: chain.map((target) => planTarget(target, adapters[target.adapter].continues(target), request.clocks)),
    totalMs: totalClock(chain, request.clocks, request.constraints?.timeoutMs),
    asks: asksOf(request, agent?.tools ?? [], { mayGetMore: (agent?.servers ?? []).length > 0 }),
    hedge: hedgeOf(request, routes),
    decision: plan.decision,
  });
}

/** What of a plan has nothing to do with targets. */
function basicPlan(
  request: StartRequest,
  planning: Planning,
): Omit<RunPlan, "chain" | "totalMs" | "asks" | "hedge" | "decision"> {
  const { tenant, config, runId, requestHash, idempotencyKey, agent, chat, thread, ask, ingest, continues } = planning;
  // Metadata is kept beside the request and outlives it: stored in both, it could outgrow a row.
  const { metadata, ...asked } = request;
  return {
    runId,
    tenant,
    request: asked,
    requestHash,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    breaker: config.breaker,
    limits: config.limits,
    policies: {
      replaces: planning.replaces ?? true,
      onDisconnect: request.onDisconnect ?? planning.onDisconnect ?? "continue",
      onMidStreamFailure: request.onMidStreamFailure ?? "fail",
      durability: request.durability ?? "standard",
      telemetry: request.telemetry?.consent !== false && request.telemetry?.level !== "off",
    },
    agent,
    chat,
    ...(thread !== undefined && { thread }),
    ...(ask !== undefined && { ask }),
    ...(ingest !== undefined && { ingest }),
    continues,
    ...(metadata !== undefined && { metadata }),
  };
}

function sizeProblem(request: StartRequest, brings: Brought, maxPromptBytes: number): Problem | undefined {
  const refuse = (path: string, limit: number): Problem => ({
    ...fieldProblem(path, `is larger than ${limit} bytes`, "maxBytes"),
    code: "too_large",
  });
  if (promptBytes(brings) > maxPromptBytes) return refuse(largestField(brings), maxPromptBytes);
  // What was brought before is bounded where it is added.
  const isWhole = brings === request;
  return isWhole && utf8Length(JSON.stringify(request)) > MAX_REQUEST ? refuse("", MAX_REQUEST) : undefined;
}

/** Where most of what a model would read stands. */
function largestField(brings: Brought): string {
  const fields = (["prompt", "messages", "tools", "toolResults"] as const).map((field) => ({
    path: `/${field}`,
    bytes: utf8Length(JSON.stringify(brings[field]) ?? ""),
  }));
  return fields.toSorted((left, right) => right.bytes - left.bytes)[0]?.path ?? "";
}

/** `requestId`, else a name made from the key, else a random one. */
export async function nameOf(
  { requestId }: Pick<StartRequest, "requestId">,
  idempotencyKey: string | undefined,
  tenant: string,
): Promise<string> {
  if (requestId !== undefined) return requestId;
  if (idempotencyKey === undefined) return `run_${crypto.randomUUID().replaceAll("-", "")}`;
  return keyedName(tenant, idempotencyKey);
}

function routeOf({ route = DEFAULT_ROUTE }: StartRequest, routes: Config["routes"]): Route | undefined {
  return Object.hasOwn(routes, route) ? routes[route] : undefined;
}

/** A request that names its targets itself has no route, and so nothing that a route may ask for. */
function hedgeOf(request: StartRequest, routes: Config["routes"]): HedgeSettings | undefined {
  const route = request.targets === undefined ? routeOf(request, routes) : undefined;
  return route === undefined || Array.isArray(route) ? undefined : route.hedge;
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
