// What one input makes of a run: the new state, the numbered events, the effects. The only place where an event gets its number.
import type { AttemptRecord } from "../../schemas/attempt.ts";
import type { Draft, LogEvent, OtherEvent } from "../../schemas/event.ts";
import type { TargetReport } from "../../schemas/plan.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { evolve, evolveTexts, passOver } from "./evolve.ts";
import { liveAttempts, type RunState } from "./state.ts";
import type { Telemetry } from "./telemetry.ts";
import { turns } from "./turns.ts";
import { utf8Length } from "./utf8.ts";
import type { Opening, Volatile } from "./volatile.ts";

/** What the shell must do. Events are to be logged before effects are carried out. */
export type Effect =
  | ({ type: "open"; attempt: number } & Opening)
  | { type: "abort"; attempt: number }
  /** Gives the input of this type, with this step, after `ms` milliseconds, and up to `spreadMs` more at random. */
  | { type: "wake"; input: "retry" | "hedge" | "title"; ms: number; spreadMs: number; step?: number }
  /** Runs a tool, once all that was logged so far is on disk. What comes of it is the input `tool`. */
  | { type: "call"; toolCallId: string; toolName: string; input: JsonRecord; inputJson?: string }
  /** Asks a model for a title of the conversation. What comes of it is the input `title`. */
  | { type: "title" }
  /** Finds what the answer is to be made from. What comes of it is the input `researched` or `research_failed`. */
  | { type: "research" }
  /** How a target did, for the tenant's other runs. */
  | { type: "report"; report: TargetReport }
  | { type: "telemetry"; telemetry: Telemetry };

export interface Step {
  state: RunState;
  /** Numbered, in order; a terminal is always the last. */
  events: (LogEvent | OtherEvent)[];
  effects: Effect[];
}

export function emit(step: Step, at: number, draft: Draft): void {
  const event: LogEvent = { ...draft, sequence: step.state.nextSequence, at: Math.max(at, step.state.lastAt) };
  step.events.push(event);
  step.state = evolve(step.state, event);
}

/** An event that means nothing to the run but its number. */
export function emitOther(step: Step, at: number, name: string, payload: JsonRecord): void {
  const { nextSequence, lastAt } = step.state;
  const event = { type: "other" as const, name, payload, sequence: nextSequence, at: Math.max(at, lastAt) };
  step.events.push(event);
  step.state = passOver(step.state, { ...event, payload: JSON.stringify(payload) });
}

/** Many texts at once: the same events as one by one, for the price of one. */
export function logTexts(step: Step, texts: readonly string[], at: number): void {
  const { nextSequence, lastAt } = step.state;
  const time = Math.max(at, lastAt);
  let sequence = nextSequence;
  for (const text of texts) {
    step.events.push({ type: "content_delta", payload: { text }, sequence, at: time });
    sequence++;
  }
  step.state = evolveTexts(step.state, texts, time);
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
  const { volatile } = step.state;
  const usage = volatile.notes[attempt]?.usage;
  if (usage !== undefined) return emit(step, at, { type: "usage", payload: { ...usage, attempt } });
  // Where the run is carried out elsewhere nothing was sent.
  if (step.state.charter.isPushed === true) return;
  const shown = status === "committed";
  if (unreported === "omit" || (unreported === "estimate" && !shown)) return;
  const { inputTokens, outputTokens } = estimate(step.state, shown);
  const totalTokens = inputTokens + outputTokens;
  emit(step, at, { type: "usage", payload: { inputTokens, outputTokens, totalTokens, attempt, estimated: true } });
}

/** Tokens that the attempt which speaks now was sent, and has shown if it has shown something. */
export function estimate(state: RunState, shown: boolean): { inputTokens: number; outputTokens: number } {
  const before = turns(state);
  const turnBytes = before.length === 0 ? 0 : utf8Length(JSON.stringify(before));
  const sentBytes = state.charter.asks.promptBytes + turnBytes + utf8Length(state.volatile.continued ?? "");
  return {
    inputTokens: Math.ceil(sentBytes / BYTES_PER_TOKEN),
    outputTokens: shown ? Math.ceil(state.shownBytes / BYTES_PER_TOKEN) : 0,
  };
}

/** What is shown goes back to what this step began with. */
export function retract(step: Step, at: number): void {
  const { stepText, stepReasoning } = step.state;
  emit(step, at, { type: "content_snapshot", payload: { text: stepText, reasoning: stepReasoning } });
}
