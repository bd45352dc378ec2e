// Drives the pure run machine the way an object does, from a script, and notes everything that could be seen from outside. Judges nothing.
import type { LogEvent } from "../../../schemas/event.ts";
import type { Failure, FailureClass } from "../../../schemas/failure.ts";
import type { Outcome } from "../../../schemas/outcome.ts";
import type { PlannedTarget } from "../../../schemas/plan.ts";
import type { ProviderEvent } from "../../../schemas/provider.ts";
import type { PushedEvent } from "../../../schemas/push.ts";
import type { CallableTool, ToolResult } from "../../../schemas/tool.ts";
import { evolve } from "../../../src/run/evolve.ts";
import { transition, type Input } from "../../../src/run/machine.ts";
import type { Effect, Step } from "../../../src/run/step.ts";
import { planRoute } from "../../../src/run/planner.ts";
import { planTarget } from "../../../src/run/settings.ts";
import { initialState, type Agent, type Charter, type RunState } from "../../../src/run/state.ts";
import type { Telemetry } from "../../../src/run/telemetry.ts";

/** What a step logs, but for types that only a producer's events have. */
export const knownEvents = ({ events }: Step): LogEvent[] =>
  events.flatMap((event) => (event.type === "other" ? [] : [event]));

/** 2026-01-01T00:00:00Z */
export const EPOCH = 1_767_225_600_000;

export function target(id: string, fields: Partial<PlannedTarget> = {}): PlannedTarget {
  const planned = planTarget(
    { id, adapter: "openai-chat", baseUrl: "https://provider.test", model: `${id}-model`, retries: 0 },
    true,
  );
  return { ...planned, ...fields };
}

export function charter(ids: readonly string[], fields: Partial<Charter> = {}): Charter {
  const chain = ids.map((id) => target(id));
  const plan = planRoute({
    mode: "stream",
    offline: false,
    candidates: chain.map(({ id, locality }) => ({ id, locality, streaming: "supported" })),
    constraints: undefined,
    preferences: undefined,
  });
  if (!plan.ok) throw new Error("a chain needs a target");
  return {
    runId: "run-1",
    startedAt: EPOCH,
    chain,
    onMidStreamFailure: "fail",
    replaces: true,
    maxOutputBytes: 1_000_000,
    maxRecoveries: 3,
    retryBudgetMs: 20_000,
    totalMs: 600_000,
    hedgeAfterMs: undefined,
    asks: { promptBytes: 40, tools: false, json: false },
    decision: plan.decision,
    agent: undefined,
    ...fields,
  };
}

/**
 * What happens, in order. `says`: the target's provider speaks, if the run has ever called it. `crash`: the object died
 * with `lost` numbers that readers may have seen; `recoveries` counts the one that follows.
 */
export type Act =
  | { type: "start"; unavailable?: readonly string[] }
  | { type: "deadline" }
  | { type: "retry" | "hedge"; step?: number }
  | { type: "crash"; lost?: number; recoveries?: number; damaged?: boolean }
  | { type: "cancel"; reason?: string }
  | { type: "tool"; toolCallId: string; result: ToolResult }
  | { type: "tool_progress"; label: string }
  | { type: "title"; title?: string }
  | { type: "pushed"; events: readonly PushedEvent[] }
  | { type: "says"; target: string; events: readonly ProviderEvent[] };

export const begin: Act = { type: "start" };
export const cancel = (reason?: string): Act => ({ type: "cancel", ...(reason !== undefined && { reason }) });
export const says = (name: string, ...events: ProviderEvent[]): Act => ({ type: "says", target: name, events });

/** What a tool gives back. */
export const gives = (toolCallId: string, output: unknown, fields: Partial<ToolResult> = {}): Act => ({
  type: "tool",
  toolCallId,
  result: { output, ...fields },
});

/** A run that may call these tools itself, and carries calls on that come with what they call. */
export function agent(names: readonly string[], { carried = [], ...fields }: Partial<Agent> = {}): Agent {
  const calls = carried.map((call) => (names.includes(call.toolName) ? { ...call, tool: tool(call.toolName) } : call));
  return { maxSteps: 5, tools: names.map(tool), carried: calls, callIds: [], ...fields };
}

const tool = (name: string): CallableTool => ({
  name,
  domain: "other",
  mode: "read",
  confirmation: name.startsWith("ask"),
  idempotent: name.endsWith("again"),
  timeoutMs: 1000,
  source: { type: "mcp", serverId: "s", toolName: name },
});

export const text = (value: string): ProviderEvent => ({ type: "text", text: value });
export const snapshot = (value: string): ProviderEvent => ({ type: "snapshot", text: value });
export const done = (finalText?: string): ProviderEvent => ({
  type: "verdict",
  verdict: "complete",
  ...(finalText !== undefined && { finalText }),
});
export const stopped = (stopReason: "stop" | "length" | "tool_calls" | "content_filter"): ProviderEvent => ({
  type: "verdict",
  verdict: "complete",
  stopReason,
});
export const cut: ProviderEvent = { type: "verdict", verdict: "truncated" };
export const fails = (failureClass: FailureClass, fields: Partial<Failure> = {}): ProviderEvent => ({
  type: "verdict",
  verdict: "failed",
  failure: { failureClass, message: `Failed as ${failureClass}.`, ...fields },
});

export interface Drive {
  state: RunState;
  events: LogEvent[];
  effects: Effect[];
  telemetry: Telemetry[];
  outcome: Outcome | undefined;
  /** How often each target of the chain was called. */
  calls: Record<string, number>;
  /** Targets whose provider was told to stop. */
  aborted: string[];
}

/** Applies the acts one after the other, a second apart. */
export function drive(of: Charter, acts: readonly Act[]): Drive {
  let state = initialState(of);
  const events: LogEvent[] = [];
  const effects: Effect[] = [];
  const attemptOf = new Map<string, number>();
  let at = of.startedAt;
  for (const act of acts) {
    if (act.type === "crash") state = restarted(of, events);
    for (const input of inputsOf(act, attemptOf, state, at)) {
      const step = transition(state, input);
      state = step.state;
      events.push(...knownEvents(step));
      effects.push(...step.effects);
      for (const effect of step.effects) {
        if (effect.type === "open") attemptOf.set(effect.target.id, effect.attempt);
      }
    }
    at += 1000;
  }
  const opened = effects.flatMap((effect) => (effect.type === "open" ? [effect] : []));
  return {
    state,
    events,
    effects,
    telemetry: effects.flatMap((effect) => (effect.type === "telemetry" ? [effect.telemetry] : [])),
    outcome: state.outcome,
    calls: Object.fromEntries(of.chain.map(({ id }) => [id, opened.filter((open) => open.target.id === id).length])),
    aborted: effects.flatMap((effect) =>
      effect.type === "abort"
        ? opened.filter((open) => open.attempt === effect.attempt).map((open) => open.target.id)
        : [],
    ),
  };
}

/** What an object knows that finds these events stored. */
function restarted(of: Charter, events: readonly LogEvent[]): RunState {
  const stored: LogEvent[] = JSON.parse(JSON.stringify(events));
  return stored.reduce(evolve, initialState(of));
}

function inputsOf(act: Act, attemptOf: ReadonlyMap<string, number>, state: RunState, at: number): Input[] {
  switch (act.type) {
    case "start":
      return [{ type: "start", at, ...(act.unavailable !== undefined && { unavailable: act.unavailable }) }];
    case "deadline":
      return [{ type: "deadline", at }];
    case "retry":
    case "hedge":
      return [{ type: act.type, at, ...(act.step !== undefined && { step: act.step }) }];
    case "crash": {
      const reservedTo = state.nextSequence - 1 + (act.lost ?? 0);
      return [
        { type: "recover", at, reservedTo, damaged: act.damaged ?? false },
        { type: "resume", at, recoveries: act.recoveries ?? 1 },
      ];
    }
    case "cancel":
      return [{ type: "cancel", at, ...(act.reason !== undefined && { reason: act.reason }) }];
    case "tool":
      return [{ type: "tool", at, toolCallId: act.toolCallId, result: act.result }];
    case "tool_progress":
      return [{ type: "tool_progress", at, tasks: [{ id: "task-1", label: act.label, status: "running" }] }];
    case "title":
      return [{ type: "title", at, ...(act.title !== undefined && { title: act.title }) }];
    case "pushed":
      return [{ type: "pushed", at, events: act.events }];
    case "says": {
      const attempt = attemptOf.get(act.target);
      return attempt === undefined ? [] : [{ type: "provider", at, attempt, events: act.events }];
    }
  }
}

/** The text and reasoning that a reader of these events shows: an own fold, apart from the product's. */
export function shown(events: readonly LogEvent[]): { text: string; reasoning: string } {
  let value = "";
  let reasoning = "";
  for (const event of events) {
    if (event.type === "content_delta") value += event.payload.text;
    if (event.type === "reasoning_delta") reasoning += event.payload.text;
    if (event.type === "content_snapshot") {
      value = event.payload.text;
      reasoning = event.payload.reasoning ?? reasoning;
    }
  }
  return { text: value, reasoning };
}

/** The text the outcome states, whichever branch it is. */
export function statedText(outcome: Outcome): string {
  return outcome.outcome === "completed" ? outcome.finalText : outcome.partialText;
}
