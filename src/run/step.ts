// What one input makes of a run: the new state, the numbered events, the effects. The only place where an event gets its number.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Draft, LogEvent } from "../../schemas/event.ts";
import type { TargetReport } from "../../schemas/plan.ts";
import { evolve, evolveTexts, liveAttempts, type RunState } from "./state.ts";
import type { Telemetry } from "./telemetry.ts";
import { utf8Length } from "./utf8.ts";
import type { Opening, Volatile } from "./volatile.ts";

/** What the shell must do. Events are to be logged before effects are carried out. */
export type Effect =
  | ({ type: "open"; attempt: number } & Opening)
  | { type: "abort"; attempt: number }
  /** Gives the input of this type after `ms` milliseconds, and up to `spreadMs` more at random. */
  | { type: "wake"; input: "retry" | "hedge"; ms: number; spreadMs: number }
  /** How a target did, for the tenant's other runs. */
  | { type: "report"; report: TargetReport }
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

export function remember(step: Step, change: Partial<Volatile>): void {
  step.state = { ...step.state, volatile: { ...step.state.volatile, ...change } };
}

/** Tells every provider that may still speak to stop. */
export function abort(step: Step): void {
  for (const { attempt } of liveAttempts(step.state)) step.effects.push({ type: "abort", attempt });
}

/** Four bytes of text are about a token, in most languages and for most models. */
const BYTES_PER_TOKEN = 4;

/**
 * What an attempt has used, logged once, when it ends: usage is cumulative within an attempt. `unreported` says what to make
 * of one whose provider has reported none: an attempt that was cut off is charged by an estimate of what was sent and
 * shown, one that never came to show anything is not.
 */
export function logUsage(
  step: Step,
  at: number,
  { attempt, status }: AttemptRecord,
  unreported: "estimate" | "estimate what was sent" | "omit",
): void {
  const { charter, shownBytes, volatile } = step.state;
  const usage = volatile.notes[attempt]?.usage;
  if (usage !== undefined) return emit(step, at, { type: "usage", payload: { ...usage, attempt } });
  const shown = status === "committed";
  if (unreported === "omit" || (unreported === "estimate" && !shown)) return;
  const sentBytes = charter.asks.promptBytes + utf8Length(volatile.continued ?? "");
  const inputTokens = Math.ceil(sentBytes / BYTES_PER_TOKEN);
  const outputTokens = shown ? Math.ceil(shownBytes / BYTES_PER_TOKEN) : 0;
  const totalTokens = inputTokens + outputTokens;
  emit(step, at, { type: "usage", payload: { inputTokens, outputTokens, totalTokens, attempt, estimated: true } });
}

/** The shown text goes back to what this step began with, plus `kept`. */
export function retract(step: Step, at: number, kept = ""): void {
  emit(step, at, { type: "content_snapshot", payload: { text: step.state.stepText + kept, reasoning: "" } });
}
