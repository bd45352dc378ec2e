// A run followed from its first event on: what each event means to a thread, in messages. Pure; the same events always tell the same.
import type { LogEntry, LogEvent } from "../../schemas/event.ts";
import type { AccountedUsage } from "../../schemas/usage.ts";
import { eventOf, exactOutputOf } from "../wire/log-entry.ts";
import {
  isOpen,
  isShown,
  nothingSaid,
  presentId,
  type Followed,
  type FollowedRun,
  type Following,
  type Told,
} from "./followed.ts";
import { resultId } from "./messages.ts";
import { restate, say, takeCall, takePiece, withdraw } from "./shown-answer.ts";

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
