// What must hold after every input of every run of the agent loop, whatever models, tools, users and crashes do.
import type { LogEvent } from "../../../schemas/event.ts";
import type { Message } from "../../../schemas/run.ts";
import type { CallRecord } from "../../../schemas/tool.ts";
import { findSecretKeys } from "../../../src/run/secret-keys.ts";
import { liveAttempts, type Charter, type RunState } from "../../../src/run/state.ts";
import { turnEnd } from "../../../src/run/turn-end.ts";
import { turns } from "../../../src/run/turns.ts";
import { shown, statedText } from "./drive.ts";
import { logOf, type Turn, type World } from "./step-world.ts";

/** What is wrong; empty when all holds. */
export function stepFaults(world: World, turn: Turn): string[] {
  const log = logOf(world);
  const { state } = world;
  return [
    ...turnFaults(turn, log),
    ...logFaults(state, log),
    ...orderFaults(state.charter, log),
    ...callFaults(world, log),
    ...textFaults(state, log),
    ...conversationFaults(state),
    ...endFaults(state, log),
  ];
}

function* turnFaults({ before, input, step }: Turn, log: readonly LogEvent[]): Generator<string> {
  const silent = step.events.length === 0 && step.effects.length === 0;
  if (before.phase === "sealed" && (step.state !== before || !silent)) yield "sealed is not absorbing";
  if (before.phase === "sealed") return;
  const ends = input.type === "cancel" || input.type === "deadline";
  if (ends && step.state.phase !== "sealed") yield `${input.type} did not end the run`;
  if (ends && step.effects.some(({ type }) => type === "open" || type === "call" || type === "title")) {
    yield `${input.type} began something`;
  }
  if (input.type === "cancel" && step.state.outcome?.outcome !== "cancelled") yield "the cancel did not win";
  const results = resultsIn(log);
  for (const effect of step.effects) {
    if (effect.type === "call" && results.includes(effect.toolCallId)) yield "a call that has its result is made";
    if (effect.type === "open" && step.state.phase === "running") {
      if ([...step.state.finished, step.state].some(({ calls }) => calls.some(({ result }) => result === undefined)))
        yield "a model is asked while a call is open";
      if (step.state.carried.some(({ result }) => result === undefined)) yield "a model is asked before a decision";
    }
  }
  const calls = step.effects.filter(({ type }) => type === "call").length;
  const opens = step.effects.filter(({ type }) => type === "open").length;
  const waits = step.effects.filter(({ type }) => type === "wake").length;
  const titles = step.effects.filter(({ type }) => type === "title").length;
  if (step.state.phase === "sealed" && calls + opens + waits + titles > 0) yield "a sealed run has begun something";
}

function* logFaults(state: RunState, log: readonly LogEvent[]): Generator<string> {
  if (log.some(({ sequence }, index) => sequence !== index)) yield "sequences are not dense from 0";
  if (log.some(({ at }, index) => at < (log[index - 1]?.at ?? 0))) yield "times go back";
  const terminals = log.filter(({ type }) => type === "terminal").length;
  if (terminals !== (state.phase === "sealed" ? 1 : 0)) yield `${terminals} terminals while ${state.phase}`;
  if (terminals === 1 && log.at(-1)?.type !== "terminal") yield "the terminal is not last";
  if (log.some((event) => findSecretKeys(event).length > 0)) yield "a secret-looking key";
  if (state.attempts.some(({ attempt }, index) => attempt !== index)) yield "attempts are not dense";
}

/** The grammar of a log with steps. */
function* orderFaults(charter: Charter, log: readonly LogEvent[]): Generator<string> {
  const maxSteps = charter.agent?.maxSteps ?? 1;
  let step = -1;
  let open = false;
  let usages = 0;
  for (const [index, event] of log.entries()) {
    if (event.type === "title" && index === 1 && event.payload.title !== charter.agent?.title?.provisional) {
      yield "the first title is not the provisional one";
    }
    if (event.type === "step" && event.payload.phase === "started") {
      if (open || event.payload.step !== step + 1) yield "a step begins out of turn";
      if (log[index + 1]?.type !== "attempt") yield "a step does not begin with its attempt";
      step++;
      open = true;
      usages = 0;
    } else if (event.type === "step") {
      if (!open || event.payload.step !== step) yield "a step ends out of turn";
      if (log[index - 1]?.type !== "context_usage") yield "a step ends without its context usage";
      open = false;
    }
    if (event.type === "context_usage") usages++;
    if (usages > 1) yield "two context usages in a step";
    const isOutput =
      event.type === "content_delta" ||
      event.type === "reasoning_delta" ||
      event.type === "tool_call" ||
      event.type === "tool_call_delta" ||
      event.type === "attempt";
    if (event.type === "tool_result" && open && log.slice(index).some(({ type }) => type === "step")) {
      yield "a result before its step's end";
    }
    if (isOutput && !open) yield `${event.type} outside of a step`;
    if (event.type === "attempt" && event.payload.step !== step) yield "an attempt of another step";
    const isLast = log.slice(index + 1).every(({ type }) => type === "terminal" || isBetween(type));
    if (event.type === "max_steps" && (step + 1 !== maxSteps || !isLast)) yield "max_steps out of place";
    if (event.type === "tool_result" && event.payload.decision !== undefined && step >= 0) yield "a late decision";
  }
  if (step >= maxSteps) yield "more steps than allowed";
  const started = log.filter((event) => event.type === "lifecycle" && event.payload.phase === "started").length;
  if (started > 1) yield "two beginnings";
  if (log.some(({ type }) => type === "content_delta" || type === "tool_call") && started === 0) yield "no beginning";
}

/** What may come between the limit and the end: titles, and what a crash leaves. */
const isBetween = (type: LogEvent["type"]): boolean =>
  type === "title" || type === "diagnostic" || type === "content_snapshot";

const answersIn = (log: readonly LogEvent[]) =>
  log.flatMap((event) => (event.type === "tool_result" ? [event.payload] : []));
const resultsIn = (log: readonly LogEvent[]): string[] => answersIn(log).map(({ toolCallId }) => toolCallId);

function* callFaults({ state, runs }: World, log: readonly LogEvent[]): Generator<string> {
  const { charter, carried } = state;
  const made = log.flatMap((event) => (event.type === "tool_call" ? [event.payload] : []));
  const results = resultsIn(log);
  const ids = [...(charter.agent?.callIds ?? []), ...carried.map(({ toolCallId }) => toolCallId)];
  if (new Set([...ids, ...made.map(({ toolCallId }) => toolCallId)]).size !== new Set(ids).size + made.length) {
    yield "two calls have one id";
  }
  if (new Set(results).size !== results.length) yield "a call has two results";
  const all = [...carried, ...made];
  if (results.some((id) => !all.some(({ toolCallId }) => toolCallId === id))) yield "a result of no call";
  for (const { toolCallId, toolName, execution, confirmation } of made) {
    const tool = charter.agent?.tools.find(({ name }) => name === toolName);
    const isClients = tool === undefined && charter.asks.clientTools?.includes(toolName) === true;
    if (execution !== (isClients ? "client" : "server")) yield `${toolName} is not the ${execution}'s`;
    if ((confirmation === "required") !== (tool?.confirmation === true)) yield `${toolName} asks wrongly`;
    if (execution === "client" && results.includes(toolCallId)) yield "a client's call has a result";
    const cut = state.stepEnd?.stopReason === "length" || state.stepEnd?.stopReason === "content_filter";
    const answer = answersIn(log).find((result) => result.toolCallId === toolCallId);
    if (confirmation === "required" && answer !== undefined && !cut) {
      if (answer.isError !== true) yield "an unapproved call was made";
      if (state.outcome?.outcome === "completed") yield "an unapproved call has a result";
    }
    const waits = confirmation === "required" && state.outcome?.outcome === "completed";
    const isOver = state.phase === "sealed" && execution === "server" && !waits;
    if (isOver && !results.includes(toolCallId)) yield "a server's call was left without a result";
  }
  for (const { toolCallId, decision } of carried) {
    if (decision === "undecided" && results.includes(toolCallId)) yield "an undecided call has a result";
    const isOver = state.phase === "sealed" && decision !== "undecided";
    if (isOver && log[0]?.type !== "terminal" && !results.includes(toolCallId)) yield "a decision without a result";
  }
  for (const [id, times] of runs) {
    const call = all.find(({ toolCallId }) => toolCallId === id);
    const tool = charter.agent?.tools.find(({ name }) => name === call?.toolName);
    if (tool === undefined) yield "a tool was run that is none";
    if (tool?.idempotent === false && times > 1) yield "a tool was run twice";
    const approved = carried.some(({ toolCallId, decision }) => toolCallId === id && decision === "approve");
    if (tool?.confirmation === true && !approved) yield "a tool was run that nobody approved";
  }
}

function* textFaults(state: RunState, log: readonly LogEvent[]): Generator<string> {
  const visible = shown(log);
  if (state.text !== visible.text) yield "the state's text is not the shown text";
  if (state.reasoning !== visible.reasoning) yield "the state's reasoning is not the shown reasoning";
  if (state.stepText !== state.finished.map(({ text }) => text).join("")) yield "the steps' texts do not add up";
  if (!state.text.startsWith(state.stepText)) yield "a finished step's text is gone";
  if (state.stepReasoning !== state.finished.map(({ reasoning }) => reasoning).join("")) yield "reasoning is lost";
  if (!state.reasoning.startsWith(state.stepReasoning)) yield "a finished step's reasoning is gone";
  const replaced = log.some((event) => event.type === "content_snapshot" && event.payload.releasedFrom === undefined);
  if (replaced && !state.charter.replaces) yield "text was replaced for a reader that cannot";
}

/** Every call of an assistant is followed by exactly its result; only the last turn may wait for some. */
function* conversationFaults(state: RunState): Generator<string> {
  const messages = turns(state);
  const carried = state.carried.filter(({ result }) => result !== undefined).length;
  let open: string[] = state.carried.flatMap(({ toolCallId, result }) => (result === undefined ? [] : [toolCallId]));
  const waits = state.phase === "sealed" || state.stepEnd !== undefined;
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.includes(message.toolCallId)) yield "a result that answers nothing";
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    if (open.length > 0) yield "a turn over open calls";
    if (index < carried) yield "a decision's result comes late";
    if (message.role !== "assistant") yield `a ${message.role} speaks`;
    else {
      if (message.content === undefined && message.toolCalls === undefined) yield "a turn of nothing";
      open = (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId);
    }
  }
  if (open.length > 0 && !waits) yield "the conversation ends in open calls";
  const known = state.finished.flatMap(({ calls }) => calls);
  const told = messages.flatMap((message: Message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  if (known.some((call: CallRecord) => !told.some(({ toolCallId }) => toolCallId === call.toolCallId))) {
    yield "a finished step's call is not told";
  }
}

function* endFaults(state: RunState, log: readonly LogEvent[]): Generator<string> {
  const { outcome, charter } = state;
  if (outcome === undefined) {
    if (state.phase === "running" && liveAttempts(state).some(({ step }) => step !== state.step)) {
      yield "an attempt of a finished step is live";
    }
    return;
  }
  if (statedText(outcome) !== shown(log).text) yield "the outcome's text is not the shown text";
  const titles = log.flatMap((event) => (event.type === "title" ? [event.payload.title] : []));
  if (JSON.stringify(outcome.titles ?? []) !== JSON.stringify(titles)) yield "the outcome's titles are not the log's";
  const open = [...state.carried, ...state.calls].filter(({ result }) => result === undefined);
  if (outcome.outcome === "completed" && outcome.stopReason === "tool_calls") {
    if (open.length === 0 || outcome.pending?.length !== open.length) yield "pending is not what is open";
  } else if (outcome.outcome === "completed" && open.some(({ execution }) => execution === "server")) {
    yield "a completed run leaves a call of the server open";
  }
  const capped = log.some(({ type }) => type === "max_steps");
  const isCapped = outcome.outcome === "completed" && outcome.stopReason === "max_steps";
  if (isCapped && !capped) yield "max_steps without its event";
  const end = turnEnd(state, { chatId: "chat" });
  if (end === undefined || end.text !== shown(log).text) yield "the turn's end says another text";
  if (end?.steps.map(({ text }) => text).join("") !== end?.text) yield "the turn's steps are not its text";
  if (end?.steps.map(({ reasoning }) => reasoning).join("") !== end?.reasoning) yield "its reasoning neither";
  if (turnEnd({ ...state, outcome: undefined }, { chatId: "chat" }) !== undefined) yield "a live turn has ended";
  if (end?.runId !== charter.runId) yield "another run's end";
}
