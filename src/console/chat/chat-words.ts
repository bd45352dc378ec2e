// The words of the chat for where it stands. Pure.
import { isolated, lostWords, stoppingWords } from "../wording.ts";
import { type ChatView, isLive, openPageCalls, undecided } from "./chat-view.ts";
import type { Cut } from "./endings.ts";
import type { CallState } from "./tool-calls.ts";

export const phaseWords = (view: ChatView): string => {
  switch (view.phase) {
    case "asking":
      return "Sending…";
    case "open":
      return openWords(view);
    case "lost":
      return lostWords(view.retryInMs);
    case "stopping":
      return stoppingWords(view.retryInMs);
    case "idle":
      return undecided(view).length + openPageCalls(view).length > 0 ? "Waiting for you." : "";
  }
};

const openWords = ({ messages, answerId }: ChatView): string => {
  const part = messages.find(({ id }) => id === answerId)?.parts.at(-1);
  if (part === undefined) return "Waiting for the model…";
  switch (part.kind) {
    case "reasoning":
      return "Thinking…";
    case "text":
      return "Answering…";
    case "call":
      return part.call.result === null ? `Calling ${part.call.toolName}…` : "Waiting for the model…";
  }
};

export const stateWords = (state: CallState): string => {
  switch (state) {
    case "waiting":
      return "waiting for you";
    case "approved":
      return "approved";
    case "refused":
      return "denied";
    case "running":
      return "running";
    case "left open":
      return "no result";
    case "done":
      return "done";
    case "failed":
      return "failed";
    case "denied":
      return "denied";
  }
};

/** The page's title: what matters in a tab that is not looked at. */
export const pageTitle = (view: ChatView): string => {
  const name = view.title ?? "New chat";
  return `${isLive(view) ? "… " : ""}${isolated(name)} · Holdfast console`;
};

export const contextWords = ({ usage }: ChatView): string =>
  usage === null ? "" : `Context ${usage.percent} % of ${usage.maxTokens.toLocaleString("en")} tokens`;

export const cutWords = (cut: Cut): string => {
  switch (cut) {
    case "stopped":
      return "Stopped here.";
    case "cut_at_length":
      return "Cut off here at its length limit.";
    case "failed":
      return "Broken off here by a failure.";
  }
};

/** Why a message cannot be sent now; empty when it can. */
export const waitWords = (view: ChatView, opening: boolean): string => {
  if (opening) return "The chat is being opened.";
  if (isLive(view)) return "Not sent: stop the answer first, or let it end.";
  return undecided(view).length > 0 ? "Not sent: approve or deny the tool calls above first." : "";
};
