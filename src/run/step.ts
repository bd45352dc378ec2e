// What one input makes of a run: the new state, the numbered events, the effects. The only place where an event gets its number.
import type { Draft, LogEvent } from "../../schemas/event.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import { evolve, evolveTexts, liveAttempt, type RunState } from "./state.ts";
import type { Telemetry } from "./telemetry.ts";

/** What the shell must do. Events are to be logged before effects are carried out. */
export type Effect =
  | { type: "open"; attempt: number; target: PlannedTarget }
  | { type: "abort"; attempt: number }
  | { type: "telemetry"; telemetry: Telemetry };

export interface Step {
  state: RunState;
  /** Numbered, in order; a terminal is always the last. */
  events: LogEvent[];
  effects: Effect[];
}

export function emit(step: Step, at: number, draft: Draft): void {
  const event: LogEvent = { ...draft, sequence: step.state.nextSequence, at: Math.max(at, step.state.lastAt) };
  step.events.push(event);
  step.state = evolve(step.state, event);
}

/** Many texts at once: the same events as one by one, for the price of one. */
export function logTexts(step: Step, texts: readonly string[], at: number): void {
  const { nextSequence, lastAt } = step.state;
  const time = Math.max(at, lastAt);
  const events = texts.map((text, index) => ({
    type: "content_delta" as const,
    payload: { text },
    sequence: nextSequence + index,
    at: time,
  }));
  for (const event of events) step.events.push(event);
  step.state = evolveTexts(step.state, events);
}

export function telemetry(step: Step, entry: Telemetry): void {
  step.effects.push({ type: "telemetry", telemetry: entry });
}

export function abort(step: Step): void {
  const live = liveAttempt(step.state);
  if (live !== undefined) step.effects.push({ type: "abort", attempt: live.attempt });
}

/** Usage is cumulative within an attempt, so it is logged once, when the attempt ends. */
export function logUsage(step: Step, at: number): void {
  const { unloggedUsage } = step.state;
  const live = liveAttempt(step.state);
  if (unloggedUsage === undefined || live === undefined) return;
  emit(step, at, { type: "usage", payload: { ...unloggedUsage, attempt: live.attempt } });
}

export function retract(step: Step, at: number): void {
  emit(step, at, { type: "content_snapshot", payload: { text: step.state.stepText, reasoning: "" } });
}
