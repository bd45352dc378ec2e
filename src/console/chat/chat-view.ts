// What the page knows about one chat, as a pure function of what it received: (view, input) -> view. No DOM, no clock, no
// I/O. It never shows an answer as finished before the stream has said so.
import { type Fields, listIn, numberIn, textIn } from "../fields.ts";
import { cutBy, type Ending, endingFrom, failedWith } from "./endings.ts";
import type { StoredChat } from "./history.ts";
import { callsOf, changeCall, type ChatMessage, settleCall, withCall, withDelta } from "./messages.ts";
import type { ChatProblem } from "./problem.ts";
import { callFrom, type CallResult, type Decision, resultFrom, type ToolCall } from "./tool-calls.ts";

/** Where the turn stands. `asking`: the server has not answered yet. */
export type Phase = "idle" | "asking" | "open" | "lost" | "stopping";

export type Task = { readonly id: string; readonly label: string; readonly status: string; readonly detail: string };

export type ContextUsage = { readonly usedTokens: number; readonly maxTokens: number; readonly percent: number };

export type ChatView = {
  readonly chatId: string;
  readonly title: string | null;
  readonly messages: readonly ChatMessage[];
  readonly phase: Phase;
  /** The run of the turn, once it is known. */
  readonly runId: string | null;
  /** The message that the turn writes, once it has begun. */
  readonly answerId: string | null;
  readonly tasks: readonly Task[];
  readonly usage: ContextUsage | null;
  readonly ending: Ending | null;
  /** Milliseconds until a lost connection is tried again. */
  readonly retryInMs: number | null;
};

export type Input =
  | { readonly kind: "opened"; readonly chat: StoredChat }
  | { readonly kind: "asked"; readonly message: ChatMessage }
  /** A turn begins that no message of a user stands for. */
  | { readonly kind: "going_on" }
  | { readonly kind: "decided"; readonly toolCallId: string; readonly decision: Decision }
  /** This page has carried out, or refused, a call of its own. */
  | { readonly kind: "settled"; readonly toolCallId: string; readonly result: CallResult }
  | { readonly kind: "accepted"; readonly runId: string | null }
  | { readonly kind: "event"; readonly type: string; readonly event: Fields }
  | { readonly kind: "lost"; readonly retryInMs: number }
  | { readonly kind: "stop_asked" }
  | { readonly kind: "stop_failed" }
  /** The stream has said that nothing follows. */
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly problem: ChatProblem }
  /** The page gave up on a turn that the server had not taken. */
  | { readonly kind: "given_up" }
  | { readonly kind: "renamed"; readonly title: string };

export const newChatView = (chatId: string): ChatView => ({
  chatId,
  title: null,
  messages: [],
  phase: "idle",
  runId: null,
  answerId: null,
  tasks: [],
  usage: null,
  ending: null,
  retryInMs: null,
});

export const isLive = (view: ChatView): boolean => view.phase !== "idle";

/** Calls that a person must approve or deny. */
export const undecided = (view: ChatView): readonly ToolCall[] =>
  callsOf(view.messages).filter(({ target, confirmation, result, decision }) => {
    return target === "backend" && confirmation && result === null && decision === null;
  });

/** A message may be sent. */
export const canAsk = (view: ChatView): boolean => !isLive(view) && undecided(view).length === 0;

/** Calls whose decision is made and has had no effect yet. */
export const decided = (view: Pick<ChatView, "messages">): readonly ToolCall[] =>
  callsOf(view.messages).filter(({ decision, result }) => decision !== null && result === null);

/** Calls of the newest answer that this page is to carry out. */
export const openPageCalls = (view: ChatView): readonly ToolCall[] =>
  callsOf(view.messages.slice(-1)).filter(({ target, result }) => target === "frontend" && result === null);

/** The chat up to the user's message that the newest turn answers; null when it answers something else. */
export const questionOf = (view: ChatView): Pick<ChatView, "chatId" | "messages"> | null => {
  const at = view.messages.findIndex(({ id }) => id === view.answerId);
  const messages = at < 0 ? view.messages : view.messages.slice(0, at);
  return messages.at(-1)?.role === "user" ? { chatId: view.chatId, messages } : null;
};

/** The view after one input. */
export const reduce = (view: ChatView, input: Input): ChatView => {
  switch (input.kind) {
    case "opened": {
      const { chatId, title, messages, activeRunId, lastTurn } = input.chat;
      const view = { ...newChatView(chatId), title, messages };
      if (activeRunId !== undefined) return view;
      const unanswered = messages.at(-1)?.role === "user";
      const ending = lastTurn?.ending ?? (unanswered ? { kind: "unanswered" } : null);
      return { ...view, answerId: lastTurn?.answerId ?? null, ending };
    }
    case "asked":
      return begin({ ...view, messages: [...view.messages, input.message] });
    case "going_on":
      return begin(view);
    case "decided": {
      const { toolCallId, decision } = input;
      return { ...view, messages: changeCall(view.messages, toolCallId, (call) => ({ ...call, decision })) };
    }
    case "settled":
      return { ...view, messages: settleCall(view.messages, input.toolCallId, input.result) };
    case "accepted":
      return {
        ...view,
        phase: view.phase === "stopping" ? "stopping" : "open",
        runId: input.runId ?? view.runId,
        retryInMs: null,
      };
    case "event":
      return { ...view, ...changeBy(view, input.type, input.event) };
    case "lost":
      return { ...view, phase: view.phase === "stopping" ? "stopping" : "lost", retryInMs: input.retryInMs };
    case "stop_asked":
      return view.phase === "idle" ? view : { ...view, phase: "stopping" };
    case "stop_failed":
      return view.phase === "stopping" ? { ...view, phase: "open" } : view;
    case "done":
      return end(view, view.ending);
    case "refused":
      return end(view, { kind: "failed", problem: input.problem });
    case "given_up":
      return end(view, { kind: "stopped" });
    case "renamed":
      return { ...view, title: input.title };
  }
};

const begin = (view: ChatView): ChatView => ({
  ...view,
  phase: "asking",
  runId: null,
  answerId: null,
  tasks: [],
  ending: null,
  retryInMs: null,
});

/** A decision that had no effect can be made again. */
const end = (view: ChatView, ending: Ending | null): ChatView => ({
  ...view,
  phase: "idle",
  tasks: [],
  ending,
  retryInMs: null,
  messages: decided(view).reduce(
    (messages, { toolCallId }) => changeCall(messages, toolCallId, (call) => ({ ...call, decision: null })),
    marked(view, ending),
  ),
});

/** What an answer that is not whole says of itself, it also says once another follows. */
const marked = ({ messages, answerId }: ChatView, ending: Ending | null): readonly ChatMessage[] => {
  const cut = cutBy(ending);
  if (cut === undefined) return messages;
  return messages.map((message) => (message.id === answerId ? { ...message, cut } : message));
};

const changeBy = (view: ChatView, type: string, event: Fields): Partial<ChatView> => {
  switch (type) {
    case "message.start":
      return startAnswer(view, event);
    case "text.delta":
      return changeAnswer(view, event, (message) => withDelta(message, "text", textIn(event, "delta") ?? ""));
    case "reasoning.delta":
      return changeAnswer(view, event, (message) => withDelta(message, "reasoning", textIn(event, "delta") ?? ""));
    case "tool.call": {
      const call = callFrom(event);
      return call === undefined ? {} : changeAnswer(view, event, (message) => withCall(message, call));
    }
    case "tool.result": {
      const messages = settleCall(view.messages, textIn(event, "toolCallId") ?? "", resultFrom(event));
      return { messages };
    }
    case "tool.progress":
      return { tasks: listIn(event, "tasks").map(taskFrom) };
    case "context.usage": {
      const [usedTokens, maxTokens] = [numberIn(event, "usedTokens") ?? 0, numberIn(event, "maxTokens") ?? 0];
      return { usage: { usedTokens, maxTokens, percent: numberIn(event, "percent") ?? 0 } };
    }
    case "chat.title":
      return { title: textIn(event, "title") ?? view.title };
    case "max_steps": {
      const canContinue = event["canContinue"] === true;
      return { ending: { kind: "max_steps", maxSteps: numberIn(event, "maxSteps") ?? 0, canContinue } };
    }
    case "message.end":
      return { ending: view.ending ?? endingFrom(event) };
    case "error":
      return { ending: failedWith(event) };
    default:
      return {};
  }
};

/** A turn that is read again from its beginning writes its message anew. */
const startAnswer = (view: ChatView, event: Fields): Partial<ChatView> => {
  const id = textIn(event, "messageId") ?? `answer_${view.messages.length}`;
  const fresh: ChatMessage = { id, role: "assistant", parts: [] };
  const at = view.messages.findIndex((message) => message.id === id);
  return {
    chatId: textIn(event, "chatId") ?? view.chatId,
    answerId: id,
    messages: at < 0 ? [...view.messages, fresh] : view.messages.with(at, fresh),
  };
};

const changeAnswer = (
  view: ChatView,
  event: Fields,
  change: (message: ChatMessage) => ChatMessage,
): Partial<ChatView> => {
  const started = view.answerId === null ? { ...view, ...startAnswer(view, event) } : view;
  const { answerId, messages } = started;
  return { answerId, messages: messages.map((message) => (message.id === answerId ? change(message) : message)) };
};

const taskFrom = (from: Fields): Task => ({
  id: textIn(from, "id") ?? "",
  label: textIn(from, "label") ?? "",
  status: textIn(from, "status") ?? "",
  detail: textIn(from, "detail") ?? "",
});
