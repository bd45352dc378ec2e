// What must hold after every input of every run, whatever the providers do. One function for the property tests and the model check.
import * as v from "valibot";
import { logEventSchema, streamEventSchema, type LogEvent } from "../../../schemas/event.ts";
import type { Input } from "../../../src/run/machine.ts";
import type { Effect, Step } from "../../../src/run/step.ts";
import { provenanceOf } from "../../../src/run/outcome.ts";
import { findSecretKeys } from "../../../src/run/secret-keys.ts";
import { evolve } from "../../../src/run/evolve.ts";
import { initialState, liveAttempt, liveAttempts, type RunState } from "../../../src/run/state.ts";
import { nothingVolatile } from "../../../src/run/volatile.ts";
import { knownEvents, shown, statedText } from "./drive.ts";

/** Everything that happened in a run so far. */
export interface History {
  state: RunState;
  events: readonly LogEvent[];
  effects: readonly Effect[];
}

export const historyOf = (state: RunState): History => ({ state, events: [], effects: [] });

export function extend(history: History, step: Step): History {
  return {
    state: step.state,
    events: [...history.events, ...knownEvents(step)],
    effects: [...history.effects, ...step.effects],
  };
}

/** What is wrong with a step; empty when all holds. */
export function faults(before: History, input: Input, step: Step): string[] {
  const after = extend(before, step);
  return [
    ...stepFaults(before, input, step),
    ...logFaults(after),
    ...researchFaults(after),
    ...fallbackFaults(after),
    ...outcomeFaults(after),
  ];
}

function* stepFaults(before: History, input: Input, step: Step): Generator<string> {
  const silent = step.events.length === 0 && step.effects.length === 0;
  if (before.state.phase === "sealed" && (step.state !== before.state || !silent)) yield "sealed is not absorbing";
  if (before.state.phase === "sealed") return;
  const live = liveAttempts(before.state);
  const heard = input.type === "provider" && live.some(({ attempt }) => attempt === input.attempt);
  if (input.type === "provider" && !heard && (step.state !== before.state || !silent)) {
    yield "late provider output was not dropped";
  }
  const ends = input.type === "cancel" || input.type === "deadline";
  if (ends && step.state.phase !== "sealed") yield `${input.type} did not end the run`;
  if (ends && step.effects.some(({ type }) => type === "open")) yield `${input.type} opened a target`;
  if (input.type === "cancel") {
    const { outcome } = step.state;
    if (outcome?.outcome !== "cancelled" || outcome.reason !== input.reason) yield "the cancel did not win";
  }
  for (const { attempt } of live) {
    const over = liveAttempt(step.state, attempt) === undefined;
    const closed = step.effects.some((effect) => effect.type === "abort" && effect.attempt === attempt);
    if (over && !heard && input.type !== "resume" && input.type !== "recover" && !closed)
      yield `${input.type} left a provider running`;
    if (over && heard && attempt !== input.attempt && !closed) yield "the other provider was left running";
  }
  const speaking = liveAttempts(step.state).filter(({ status }) => status === "committed");
  if (speaking.length > 1 || (speaking.length === 1 && liveAttempts(step.state).length > 1)) {
    yield "two attempts are live after the commit point";
  }
}

function* logFaults({ state, events }: History): Generator<string> {
  if (events.some(({ sequence }, index) => sequence !== index)) yield "sequences are not dense from 0";
  if (events.some(({ at }, index) => at < (events[index - 1]?.at ?? 0))) yield "times go back";
  if (state.nextSequence !== events.length) yield "the next sequence is not the number of events";
  const terminals = events.filter(({ type }) => type === "terminal").length;
  const last = events.at(-1);
  if (terminals !== (state.phase === "sealed" ? 1 : 0)) yield `${terminals} terminals while ${state.phase}`;
  if (state.phase === "sealed" && last?.type !== "terminal") yield "the terminal is not last";
  const [first] = events;
  if (first !== undefined && first.type !== "terminal") {
    const selected = first.type === "lifecycle" && first.payload.phase === "provider_selected";
    if (!selected || first.payload.providerId !== state.charter.chain[0]?.id) yield "sequence 0 is not the selection";
  }
  const outputs = events.flatMap(({ type }, index) => (outputTypes.has(type) ? [index] : []));
  const started = events.flatMap((event, index) =>
    event.type === "lifecycle" && event.payload.phase === "started" ? [index] : [],
  );
  const [firstOutput] = outputs.filter((index) => !isRetraction(events, index));
  if (started.length !== (firstOutput === undefined ? 0 : 1)) yield `${started.length} times 'lifecycle started'`;
  if (firstOutput !== undefined && started[0] !== firstOutput - 1) yield "'started' is not directly before the output";
  for (const event of events) {
    const keys = findSecretKeys(event);
    if (keys.length > 0) yield `secret-looking keys ${keys.join(" ")}`;
  }
}

const outputTypes = new Set(["content_delta", "content_snapshot", "reasoning_delta", "tool_call_delta", "tool_call"]);

/** A snapshot that the machine itself writes after an attempt that failed or was given up. */
function isRetraction(events: readonly LogEvent[], index: number): boolean {
  const before = events[index - 1];
  const over = before?.type === "attempt" && ["failed", "superseded"].includes(before.payload.phase);
  return over && events[index]?.type === "content_snapshot";
}

/** What is found comes once, and before a model is asked for the answer. */
function* researchFaults({ state, events, effects }: History): Generator<string> {
  const found = events.flatMap(({ type }, index) => (type === "retrieval" ? [index] : []));
  const opened = events.findIndex(({ type }) => type === "attempt");
  if (found.length > 1) yield "what was found was logged twice";
  if (opened >= 0 && (found[0] ?? -1) > opened) yield "what was found was logged after an attempt";
  if (state.retrieved !== found.length > 0) yield "the state does not know whether what was found was logged";
  const { researches, found: stated } = state.charter;
  if (researches === true && opened >= 0) yield "a target was opened while the run researched";
  if (opened >= 0 && stated?.refusal !== undefined) yield "a target was opened for a refusal";
  const asked = effects.filter(({ type }) => type === "research").length;
  if (asked > 0 && state.charter.chain.length === 0) yield "a research without anybody to ask";
}

function* fallbackFaults({ state, events, effects }: History): Generator<string> {
  const { chain, onMidStreamFailure, hedgeAfterMs } = state.charter;
  const opened = effects.flatMap((effect) => (effect.type === "open" ? [effect] : []));
  // An attempt that a crash of ours ended, or a hedge that lost, does not use its target up; a continuation that a target
  // refuses is answered by the same target again.
  const failures = state.attempts.filter(({ status }) => status === "failed");
  for (const { id, retries } of chain) {
    const refused = failures.filter(
      ({ targetId, failureClass }) => targetId === id && failureClass === "invalid_request",
    );
    const failed = failures.filter(({ targetId }) => targetId === id);
    const spare = onMidStreamFailure === "continue" ? refused.length : 0;
    if (failed.length > 1 + retries + spare) yield `target ${id} failed more often than it may be tried`;
  }
  if (opened.some(({ attempt }, index) => attempt !== index)) yield "attempts are not numbered in order";
  const firsts = opened.flatMap(({ target: { id } }, index) =>
    opened.findIndex(({ target }) => target.id === id) === index ? [id] : [],
  );
  if (firsts.some((id, index) => id !== chain[index]?.id)) yield "targets were not first tried in order";
  if (hedgeAfterMs === undefined && liveAttempts(state).length > 1) yield "two attempts without a hedge";
  if (state.attempts.length !== opened.length) yield "an attempt without its record";
  let committed = false;
  let called = false;
  for (const [index, event] of events.entries()) {
    if (event.type === "attempt" && event.payload.phase === "started") {
      if (committed && onMidStreamFailure === "fail") yield "a target was opened after the commit point";
      if (called) yield "a target was opened past a delivered tool call";
      const shownNow = shown(events.slice(0, index));
      const continues = event.payload.continues === true;
      if (continues && onMidStreamFailure !== "continue") yield "a continuation that was not asked for";
      if (continues && shownNow.text.trim() === "") yield "a continuation of nothing";
      if (!continues && (shownNow.text !== "" || shownNow.reasoning !== ""))
        yield "a target was opened over shown text";
    }
    // The words of a refusal are the server's own: they are said at once, and no attempt has shown anything.
    if (outputTypes.has(event.type) && state.charter.found?.refusal === undefined) committed = true;
    if (event.type === "tool_call") called = true;
  }
  if (state.committed !== committed) yield "the state does not know whether output was shown";
}

function* outcomeFaults({ state, events }: History): Generator<string> {
  const visible = shown(events);
  if (state.text !== visible.text) yield "the state's text is not the shown text";
  if (state.reasoning !== visible.reasoning) yield "the state's reasoning is not the shown reasoning";
  const { outcome, charter } = state;
  if (new TextEncoder().encode(visible.text + visible.reasoning).length > charter.maxOutputBytes) {
    yield "more output than the limit";
  }
  if (state.attempts.some(({ firstOutputMs = 0 }) => firstOutputMs < 0)) yield "a negative duration";
  if (outcome === undefined) return;
  if (statedText(outcome) !== visible.text) yield "the outcome's text is not the shown text";
  const live = outcome.provenance?.attempts.some(({ status }) => status === "started" || status === "committed");
  if (live !== false) yield "an attempt is still live in the outcome";
  if (JSON.stringify(outcome.provenance?.attempts) !== JSON.stringify(state.attempts)) {
    yield "the outcome's attempts are not the state's";
  }
  if (JSON.stringify(provenanceOf(state)) !== JSON.stringify(outcome.provenance)) {
    yield "the state's provenance is not the outcome's";
  }
  const { details } = outcome.outcome === "error" ? outcome.error : {};
  if (outcome.outcome === "error" && typeof (details?.["failureClass"] ?? details?.["code"]) !== "string") {
    yield "an error without its failure class";
  }
  const calls = events.filter(({ type }) => type === "tool_call").length;
  if (outcome.outcome === "completed" && outcome.stopReason === "tool_calls" && outcome.pending?.length !== calls) {
    yield "pending does not list the calls";
  }
}

/** A StreamEvent as a reader gets it. */
export const onTheWire = ({ at, ...event }: LogEvent, runId: string) => ({
  schemaVersion: "1.0",
  runId,
  timestamp: at,
  ...event,
});

/** Checks that cost too much for the model check: the schema of every event, and the state a restart would rebuild. */
export function storedFaults({ state, events }: History): string[] {
  const wire = events.map((event): unknown => JSON.parse(JSON.stringify(onTheWire(event, state.charter.runId))));
  const invalid = wire.filter((event) => !v.is(streamEventSchema, event)).map((event) => JSON.stringify(event));
  const stored = events.map((event): unknown => JSON.parse(JSON.stringify(event)));
  const rebuilt = stored.filter((event) => v.is(logEventSchema, event)).reduce(evolve, initialState(state.charter));
  // What a provider has reported and the log does not hold yet is all that a restart may forget.
  const known = { ...state, volatile: nothingVolatile };
  const same = JSON.stringify(sorted(rebuilt)) === JSON.stringify(sorted(known));
  return same ? invalid : [...invalid, `the log gives back another state: ${JSON.stringify({ rebuilt, known })}`];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, child]) => child !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, child]) => [key, sorted(child)]),
  );
}
