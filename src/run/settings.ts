// From an unknown configuration to a valid one, or the list of what is wrong with it. Reads no environment.
import * as v from "valibot";
import type { Locality } from "../../schemas/attempt.ts";
import {
  configSchema,
  embedderIdSchema,
  hostedPresetIdSchema,
  type Config,
  type Route,
  type Target,
} from "../../schemas/config.ts";
import { objectSchema } from "../../schemas/json-schema.ts";
import type { AttemptClocks, PlannedTarget } from "../../schemas/plan.ts";
import type { ValidationIssue } from "../../schemas/problem.ts";
import type { ClockLimits } from "../../schemas/run.ts";
import { pointer, wireIssues } from "./issues.ts";

export type ConfigCheck = { ok: true; config: Config } | { ok: false; issues: ValidationIssue[] };

const reservedVars = new Set(["API_KEYS", "TICKET_SECRET", "CONFIG"]);

export function checkConfig(input: unknown): ConfigCheck {
  const parsed = v.safeParse(configSchema, input);
  const found = parsed.success ? [...semanticIssues(parsed.output)] : wireIssues(parsed.issues);
  const named = new Set(found.map(({ path }) => path));
  const issues = [...unusableKeys(input, "")].filter(({ path }) => !named.has(path)).concat(found);
  return parsed.success && issues.length === 0 ? { ok: true, config: parsed.output } : { ok: false, issues };
}

/** valibot's records drop these without a word. */
const unusable = new Set(["__proto__", "prototype", "constructor"]);

function* unusableKeys(value: unknown, at: string): Generator<ValidationIssue> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const path = `${at}${pointer([key])}`;
    if (unusable.has(key)) yield issue(path, "is a name that cannot be used", "propertyNames");
    else yield* unusableKeys(inner, path);
  }
}

function* semanticIssues(config: Config): Generator<ValidationIssue> {
  const { targets, routes, limits } = config;
  const ids = new Set<string>();
  for (const [index, target] of targets.entries()) {
    const at = `/targets/${index}`;
    if (ids.has(target.id)) yield issue(`${at}/id`, "is used twice", "uniqueItems");
    ids.add(target.id);
    yield* reservedKey(target, at);
    if (target.preset !== undefined && target.adapter !== "openai-chat") {
      yield issue(`${at}/preset`, "is only for the adapter openai-chat", "not");
    }
    if (target.adapter === "demo") continue;
    const ownAddress = target.adapter === "workers-ai" || v.is(hostedPresetIdSchema, target.preset);
    if (target.baseUrl === undefined && !ownAddress) yield issue(`${at}/baseUrl`, "is missing", "required");
    if (target.model === undefined) yield issue(`${at}/model`, "is missing", "required");
  }
  if (!Object.hasOwn(routes, "default")) yield issue("/routes/default", "is missing", "required");
  for (const [name, route] of Object.entries(routes)) {
    const at = Array.isArray(route) ? `/routes/${name}` : `/routes/${name}/targets`;
    const chain = routeTargets(route);
    for (const [index, id] of chain.entries()) {
      if (!ids.has(id)) yield issue(`${at}/${index}`, "names no configured target", "enum");
      if (chain.indexOf(id) !== index) yield issue(`${at}/${index}`, "stands twice", "uniqueItems");
    }
    if (!Array.isArray(route) && route.hedge !== undefined && chain.length < 2) {
      yield issue(`/routes/${name}/hedge`, "needs a second target", "minItems");
    }
  }
  if (limits.retentionOutcomeMs < limits.retentionEventsMs) {
    yield issue("/limits/retentionOutcomeMs", "must not be shorter than retentionEventsMs", "minimum");
  }
  yield* embeddingIssues(config);
  yield* toolIssues(config);
}

function* embeddingIssues({ targets, kebab: { embedding } }: Config): Generator<ValidationIssue> {
  if (embedding === undefined) return;
  const target = targets.find(({ id }) => id === embedding.target);
  if (target === undefined) yield issue("/kebab/embedding/target", "names no configured target", "enum");
  else if (!v.is(embedderIdSchema, target.adapter)) {
    yield issue("/kebab/embedding/target", "names a target whose adapter makes no embeddings", "enum");
  }
}

function* toolIssues({ tools, mcpServers, sveda }: Config): Generator<ValidationIssue> {
  for (const [index, tool] of tools.entries()) {
    const at = `/tools/${index}`;
    if (tools.findIndex(({ name }) => name === tool.name) !== index) {
      yield issue(`${at}/name`, "is used twice", "uniqueItems");
    }
    const judged = objectSchema(tool.parameters);
    if ("fault" in judged) yield issue(`${at}/parameters${judged.fault}`, "is not as JSON Schema has it", "schema");
    yield* reservedKey(tool, at);
  }
  for (const [index, server] of mcpServers.entries()) {
    const at = `/mcpServers/${index}`;
    if (mcpServers.findIndex(({ id }) => id === server.id) !== index) {
      yield issue(`${at}/id`, "is used twice", "uniqueItems");
    }
    // Reports of servers that failed call the host page's by this name.
    if (server.id === "host") yield issue(`${at}/id`, "is the name of the host page's server", "not");
    yield* reservedKey(server, at);
  }
  if (sveda.mcpOrigins?.length === 0) {
    yield issue("/sveda/mcpOrigins", "is empty; left out, it allows any public origin", "minItems");
  }
}

function* reservedKey({ keyVar }: { keyVar?: string | undefined }, at: string): Generator<ValidationIssue> {
  if (keyVar === undefined || !reservedVars.has(keyVar)) return;
  yield issue(`${at}/keyVar`, "names a secret of Holdfast itself", "not");
}

const issue = (path: string, message: string, keyword: string): ValidationIssue => ({ path, message, keyword });

/** The target ids of a route, however it is written. */
export const routeTargets = (route: Route): readonly string[] => (Array.isArray(route) ? route : route.targets);

const defaultClocks: AttemptClocks & { totalMs: number } = {
  headersMs: 15_000,
  firstOutputMs: 30_000,
  idleMs: 30_000,
  progressMs: 60_000,
  totalMs: 600_000,
  minBytesPerSecond: 0,
};

export const localityOf = ({ locality, adapter }: Target): Locality =>
  locality ?? (adapter === "demo" ? "edge" : "cloud");

const DEFAULT_RETRIES = 1;

/** A target as a run will use it: its own clocks, shortened by what the request asks for. `continues`: what its adapter says. */
export function planTarget(target: Target, continues: boolean, request: ClockLimits = {}): PlannedTarget {
  const shorter = (name: "headersMs" | "firstOutputMs" | "idleMs" | "progressMs") =>
    Math.min(target.clocks?.[name] ?? defaultClocks[name], request[name] ?? Number.POSITIVE_INFINITY);
  return {
    id: target.id,
    adapter: target.adapter,
    locality: localityOf(target),
    clocks: {
      headersMs: shorter("headersMs"),
      firstOutputMs: shorter("firstOutputMs"),
      idleMs: shorter("idleMs"),
      progressMs: shorter("progressMs"),
      minBytesPerSecond: target.clocks?.minBytesPerSecond ?? defaultClocks.minBytesPerSecond,
    },
    retries: target.retries ?? DEFAULT_RETRIES,
    continues,
    scope: `${target.adapter} ${target.baseUrl ?? target.preset ?? target.id} ${target.keyVar ?? ""}`,
    target,
  };
}

/** The run's total clock: the longest any target of the chain allows, shortened by the request. Milliseconds. */
export function totalClock(chain: readonly Target[], request: ClockLimits = {}, timeoutMs?: number): number {
  const configured = Math.max(...chain.map(({ clocks }) => clocks?.totalMs ?? defaultClocks.totalMs));
  return Math.min(configured, request.totalMs ?? configured, timeoutMs ?? configured);
}
