// A run followed from its first event on: what each event means to a thread, in messages. Pure; the same events always tell the same.
import type { LogEntry, LogEvent, Payload } from "../../schemas/event.ts";
import type { Outcome } from "../../schemas/outcome.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { parseExact } from "../wire/exact-json.ts";
import { jsonText } from "../wire/json.ts";
import { eventOf, exactInputOf, exactOutputOf, inputOf } from "../wire/log-entry.ts";
import { answerId, resultId, type Answer, type Called, type Result } from "./messages.ts";

/** What a run's log does not say of it. */
export interface FollowedRun {
  runId: string;
  /** Names of models by target. */
  models?: Readonly<Record<string, string>>;
  /** Calls of the conversation so far that the run carries on. */
  carried?: readonly Called[];
}

/** What an event tells. `id`s are those of messages. */
export type Told =
  /** The run's first event. */
  | { type: "begun" }
  | { type: "step"; step: number }
  | { type: "text"; id: string; text: string }
  | { type: "reasoning"; id: string; text: string }
  /** Part of a call's input, as JSON text; `index` is the call's place in its message. A name is told once. */
  | {
      type: "call piece";
      id: string;
      index: number;
      isFirst: boolean;
      toolCallId: string;
      toolName?: string;
      text: string;
    }
  /** The whole call. `isPieced`: pieces that say the same were told before. */
  | { type: "call"; id: string; index: number; isPieced: boolean; call: Called }
  /** What was told of this message holds no longer. What of it still stands is told again, under a new id. */
  | { type: "withdrawn"; id: string }
  /** `isWhole`: false for an answer that was cut off. */
  | { type: "answered"; isWhole: boolean; answer: Answer }
  | { type: "result"; result: Result }
  | { type: "attempt failed"; failure: Payload<"attempt"> }
  /** Another attempt of the same step. `waitedMs`: since the last one failed; `number` counts from 1. */
  | { type: "tried again"; number: number; waitedMs: number; failure: Payload<"attempt"> }
  | { type: "title"; title: string }
  | { type: "diagnostic"; diagnostic: Payload<"diagnostic"> }
  /** `pending`: calls without a result that somebody may still give. */
  | { type: "ended"; outcome: Outcome; pending: Called[] };

interface OpenPiece {
  toolCallId: string;
  index: number;
  text: string;
  named: boolean;
}

export interface Followed {
  readonly run: FollowedRun;
  /** Last sequence taken in; -1 for none. */
  readonly to: number;
  readonly step: number;
  /** Text and reasoning of the steps before the present one: snapshots repeat them. */
  readonly before: { readonly text: string; readonly reasoning: string };
  /** The present step's answer, as far as it stands. */
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Called[];
  readonly pieces: readonly OpenPiece[];
  /** Places of calls given away in the present message. */
  readonly places: number;
  readonly withdrawnAt: number | undefined;
  /** Attempts of the present answer: when each began, by number, and how the last failed one did. */
  readonly attempts: Readonly<Record<number, number>>;
  readonly failure: { readonly at: number; readonly payload: Payload<"attempt"> } | undefined;
  readonly speaker: number | undefined;
  readonly model: string | undefined;
  /** By attempt: its last report. */
  readonly usages: Readonly<Record<number, AccountedUsage>>;
  readonly context: Payload<"context_usage"> | undefined;
  readonly answers: number;
  /** Calls without a result, of the answers so far and of the conversation before. */
  readonly open: readonly Called[];
  readonly titles: readonly string[];
}

export function followed(run: FollowedRun): Followed {
  return {
    run,
    to: -1,
    step: 0,
    before: { text: "", reasoning: "" },
    ...nothingSaid,
    answers: 0,
    open: run.carried ?? [],
    titles: [],
  };
}

const nothingSaid = {
  text: "",
  reasoning: "",
  calls: [],
  pieces: [],
  places: 0,
  withdrawnAt: undefined,
  attempts: {},
  failure: undefined,
  speaker: undefined,
  model: undefined,
  usages: {},
  context: undefined,
} as const;

/** The id of the message that the present step's answer is. */
const presentId = ({ run, step, withdrawnAt }: Followed): string => answerId(run.runId, step, withdrawnAt);

type Following = { -readonly [K in keyof Followed]: Followed[K] };

/** One event taken in. Events must come in sequence. */
export function follow(state: Followed, event: LogEvent): { state: Followed; told: Told[] } {
  const next: Following = { ...state, to: event.sequence };
  const told: Told[] = state.to < 0 ? [{ type: "begun" }] : [];
  take(next, event, told);
  return { state: next, told };
}

/** An entry of the log taken in. One of a type that this version does not know tells nothing. */
export function followEntry(state: Followed, entry: LogEntry): { state: Followed; told: Told[] } {
  const event = eventOf(entry);
  return event === undefined ? { state: { ...state, to: entry.sequence }, told: [] } : follow(state, event);
}

function take(next: Following, event: LogEvent, told: Told[]): void {
  switch (event.type) {
    case "content_delta":
    case "reasoning_delta":
      return say(next, event.type === "content_delta" ? "text" : "reasoning", event.payload.text, told);
    case "content_snapshot":
      return restate(next, event, told);
    case "tool_call_delta":
      return takePiece(next, event.payload, told);
    case "tool_call":
      return takeCall(next, event, told);
    case "tool_result":
      return takeResult(next, event, told);
    case "attempt":
      return takeAttempt(next, event, told);
    case "usage": {
      const { attempt, ...usage } = event.payload;
      if (attempt !== undefined) next.usages = { ...next.usages, [attempt]: usage };
      return;
    }
    case "step":
      if (event.payload.phase === "started") beginStep(next, event, told);
      else if (isOpen(next)) answer(next, event.at, event.payload.finishReason, true, told);
      return;
    case "title":
      next.titles = [...next.titles, event.payload.title];
      told.push({ type: "title", title: event.payload.title });
      return;
    case "context_usage":
      next.context = event.payload;
      return;
    case "diagnostic":
      told.push({ type: "diagnostic", diagnostic: event.payload });
      return;
    case "terminal":
      return end(next, event, told);
    case "retrieval":
    case "lifecycle":
    case "tool_progress":
    case "preparation_progress":
    case "max_steps":
      return;
  }
}

function say(next: Following, kind: "text" | "reasoning", text: string, told: Told[]): void {
  if (text === "") return;
  next[kind] += text;
  told.push({ type: kind, id: presentId(next), text });
}

/** The step has shown something. */
const isShown = ({ text, reasoning, calls, pieces }: Followed): boolean =>
  text !== "" || reasoning !== "" || calls.length > 0 || pieces.length > 0;

/** A model is being asked for an answer, or has shown one, and it is not told as a message yet. */
const isOpen = (state: Followed): boolean => isShown(state) || Object.keys(state.attempts).length > 0;

/**
 * A snapshot that goes on from what is shown tells only what is new. Any other takes that back, and so does one after a
 * crash: a reader may have seen more than it restates. Between two answers it restates what nobody can have missed, or is an
 * answer that no model was asked for.
 */
function restate(next: Following, event: Extract<LogEvent, { type: "content_snapshot" }>, told: Told[]): void {
  const { releasedFrom } = event.payload;
  const text = event.payload.text.slice(next.before.text.length);
  if (!isOpen(next) && text === "") return;
  const reasoning = event.payload.reasoning?.slice(next.before.reasoning.length) ?? next.reasoning;
  const goesOn = text.startsWith(next.text) && reasoning.startsWith(next.reasoning) && next.pieces.length === 0;
  if (goesOn && releasedFrom === undefined) {
    say(next, "reasoning", reasoning.slice(next.reasoning.length), told);
    say(next, "text", text.slice(next.text.length), told);
    return;
  }
  withdraw(next, event.sequence, { text, reasoning }, told);
}

/** Pieces of calls are void; what else is shown stands under a new id. */
function withdraw(
  next: Following,
  sequence: number,
  { text, reasoning }: Pick<Followed, "text" | "reasoning">,
  told: Told[],
): void {
  told.push({ type: "withdrawn", id: presentId(next) });
  next.withdrawnAt = sequence;
  next.text = "";
  next.reasoning = "";
  next.pieces = [];
  say(next, "reasoning", reasoning, told);
  say(next, "text", text, told);
  const id = presentId(next);
  next.calls.forEach((call, index) => told.push({ type: "call", id, index, isPieced: false, call }));
  next.places = next.calls.length;
}

function takePiece(
  next: Following,
  { toolCallId, toolName, inputText }: Payload<"tool_call_delta">,
  told: Told[],
): void {
  const known = next.pieces.find((piece) => piece.toolCallId === toolCallId);
  const { index, text, named } = known ?? { index: next.places++, text: "", named: false };
  const isNew = toolName !== undefined && !named;
  const others = next.pieces.filter((piece) => piece !== known);
  next.pieces = [...others, { toolCallId, index, text: text + inputText, named: named || isNew }];
  told.push({
    type: "call piece",
    id: presentId(next),
    index,
    isFirst: known === undefined,
    toolCallId,
    ...(isNew && { toolName }),
    text: inputText,
  });
}

/** A call that is not what its pieces said takes them back. */
function takeCall(next: Following, event: Extract<LogEvent, { type: "tool_call" }>, told: Told[]): void {
  const { toolCallId, toolName, execution, confirmation } = event.payload;
  const input = inputOf(event.payload);
  const inputText = jsonText(exactInputOf(event.payload)) ?? "{}";
  const call = {
    toolCallId,
    toolName,
    input,
    ...(inputText !== jsonText(input) && { inputJson: inputText }),
    execution,
    ...(confirmation !== undefined && { confirmation }),
  };
  const piece = next.pieces.find((open) => open.toolCallId === toolCallId);
  const isPieced = piece?.named === true && isSame(piece.text, inputText);
  if (piece !== undefined && !isPieced) withdraw(next, event.sequence, next, told);
  const index = isPieced ? piece.index : next.places++;
  next.pieces = next.pieces.filter((open) => open.toolCallId !== toolCallId);
  next.calls = [...next.calls, call];
  told.push({ type: "call", id: presentId(next), index, isPieced, call });
}

const isSame = (pieces: string, inputText: string): boolean =>
  jsonText(parseExact(pieces === "" ? "{}" : pieces)?.value) === inputText;

/** An answer stands before the results of its calls, also when it was cut off. */
function takeResult(next: Following, { payload, at }: Extract<LogEvent, { type: "tool_result" }>, told: Told[]): void {
  const { toolCallId, toolName, isError = false, decision } = payload;
  if (next.calls.some((call) => call.toolCallId === toolCallId)) answer(next, at, undefined, false, told);
  next.open = next.open.filter((call) => call.toolCallId !== toolCallId);
  const id = resultId(next.run.runId, toolCallId);
  const result = { id, toolCallId, toolName, output: exactOutputOf(payload), isError };
  told.push({ type: "result", result: { ...result, ...(decision !== undefined && { decision }) } });
}

function takeAttempt(
  next: Following,
  { payload, at, sequence }: Extract<LogEvent, { type: "attempt" }>,
  told: Told[],
): void {
  const { attempt, targetId, phase, reportedModel } = payload;
  switch (phase) {
    case "started":
      if (next.failure !== undefined) {
        const { payload: failure, at: failedAt } = next.failure;
        const number = Object.keys(next.attempts).length + 1;
        told.push({ type: "tried again", number, waitedMs: Math.max(0, at - failedAt), failure });
      }
      next.failure = undefined;
      next.attempts = { ...next.attempts, [attempt]: at };
      next.speaker = attempt;
      next.model = modelOf(next.run, targetId);
      // What an earlier attempt left unfinished is void.
      if (next.pieces.length > 0) withdraw(next, sequence, next, told);
      break;
    case "committed":
      next.speaker = attempt;
      next.model = reportedModel ?? modelOf(next.run, targetId);
      break;
    case "failed":
      next.failure = { at, payload };
      told.push({ type: "attempt failed", failure: payload });
      break;
    case "superseded":
      break;
  }
}

const modelOf = ({ models }: FollowedRun, targetId: string): string => models?.[targetId] ?? targetId;

function beginStep(next: Following, { payload, at }: Extract<LogEvent, { type: "step" }>, told: Told[]): void {
  if (isShown(next)) answer(next, at, undefined, false, told);
  Object.assign(next, nothingSaid);
  next.step = payload.step;
  told.push({ type: "step", step: payload.step });
}

/** The model's part of the present step is over: its answer is a message now, and nothing is added to it. */
function answer(next: Following, at: number, finishReason: string | undefined, isWhole: boolean, told: Told[]): void {
  const { step, text, reasoning, calls, usages, model, speaker, attempts, before, context } = next;
  const startedAt = speaker === undefined ? undefined : attempts[speaker];
  told.push({
    type: "answered",
    isWhole,
    answer: {
      id: presentId(next),
      step,
      text,
      reasoning,
      calls,
      usage: Object.values(usages).reduce<AccountedUsage | undefined>(
        (total, usage) => (total === undefined ? usage : sum(total, usage)),
        undefined,
      ),
      model,
      finishReason,
      latencyMs: startedAt === undefined ? null : Math.max(0, at - startedAt),
      callIndex: ++next.answers,
      ...(context !== undefined && { context }),
    },
  });
  next.before = { text: before.text + text, reasoning: before.reasoning + reasoning };
  next.open = [...next.open, ...calls];
  Object.assign(next, nothingSaid);
}

function end(next: Following, { payload, at }: Extract<LogEvent, { type: "terminal" }>, told: Told[]): void {
  const isWhole = payload.outcome === "completed";
  const reason = isWhole ? (payload.stopReason ?? payload.finishReason) : payload.outcome;
  if (isShown(next) || (isWhole && isOpen(next))) answer(next, at, reason, isWhole, told);
  const waiting = payload.outcome === "completed" ? (payload.pending ?? []) : [];
  const pending = waiting.map(({ toolCallId, toolName, execution, confirmation }) => ({
    toolCallId,
    toolName,
    input: next.open.find((call) => call.toolCallId === toolCallId)?.input ?? {},
    execution,
    ...(confirmation !== undefined && { confirmation }),
  }));
  told.push({ type: "ended", outcome: payload, pending });
}

/** A total holds only when every part has one. */
function sum(one: AccountedUsage, other: AccountedUsage): AccountedUsage {
  const added: Record<string, number> = {};
  for (const part of [one, other]) {
    for (const [key, value] of Object.entries(part)) {
      if (typeof value === "number") added[key] = (added[key] ?? 0) + value;
    }
  }
  if (one.totalTokens === undefined || other.totalTokens === undefined) delete added["totalTokens"];
  return { ...added, ...((one.estimated === true || other.estimated === true) && { estimated: true }) };
}
