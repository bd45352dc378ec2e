// What a turn that was given up has done all the same, once its run tells: it takes the place of what was kept without it. Pure.
import type { DisplayMessage, HistoryEntry, TurnEnd } from "../../schemas/chat.ts";
import { stepEntries } from "./conversation.ts";
import { messageIdOf, withTurn } from "./display.ts";
import { answerOf, resultEntry, UNKNOWN_EFFECT } from "./history.ts";

const UNKNOWN = answerOf(UNKNOWN_EFFECT).content;

/** What a chat held. */
export interface Held {
  entries: readonly HistoryEntry[];
  messages: readonly DisplayMessage[];
}

export interface LateAnswer {
  entries: HistoryEntry[];
  messages: DisplayMessage[];
  /** Where the conversation has so many entries more. */
  at: number;
  more: number;
}

/**
 * `promptAt`: where the turn begins. `next`: where the latest turn after it does, or the conversation ends; `undefined` when
 * another run has tried the turn again, whose answer stands in the conversation. An answer whose place is not there any more
 * stays out of the conversation, and its results do not.
 */
export function withLateAnswer(
  { entries: stored, messages: shown }: Held,
  end: TurnEnd,
  { promptAt, next }: { promptAt: number; next: number | undefined },
): LateAnswer {
  const own = messageIdOf(end.runId);
  const kept = shown.find(({ id }) => id === own);
  const messages = withTurn(withoutMadeUp(shown, end), end);
  const entries = withResults(stored, end);
  const text = kept?.content ?? "";
  const at = next === undefined ? -1 : placeOf(stored, text, promptAt, next);
  if (at < 0) return { entries, messages, at: entries.length, more: 0 };
  const answer = end.steps.flatMap(stepEntries);
  const instead = text === "" ? 0 : 1;
  const follows = kept === undefined && stored[at]?.role === "user";
  return {
    entries: entries.toSpliced(at, instead, ...answer),
    messages: follows ? beforeLastPrompt(messages, own) : messages,
    at,
    more: answer.length - instead,
  };
}

/** The real results in the place of those that were made up. */
function withResults(stored: readonly HistoryEntry[], end: TurnEnd): HistoryEntry[] {
  const told = new Map(end.carried.flatMap(({ toolCallId, result }) => (result ? [[toolCallId, result]] : [])));
  return stored.map((entry) => {
    const { role, content, tool_call_id: id = "" } = entry;
    const result = role === "tool" && content === UNKNOWN ? told.get(id) : undefined;
    return result === undefined ? entry : resultEntry(id, answerOf(result));
  });
}

/** Where the text is that was kept, or where the answer belongs of which nothing was: before the next turn. -1: not there. */
function placeOf(entries: readonly HistoryEntry[], text: string, promptAt: number, next: number): number {
  if (text === "") {
    const answers = next === promptAt + 1 && entries[promptAt]?.role === "user";
    return next === promptAt || answers ? next : -1;
  }
  return entries.findIndex(
    ({ role, content, tool_calls: calls }, index) =>
      index >= promptAt && index < next && role === "assistant" && calls === undefined && content === text,
  );
}

/** The messages without the results that were made up for this turn's calls, where its run tells the real ones. */
function withoutMadeUp(messages: readonly DisplayMessage[], end: TurnEnd): DisplayMessage[] {
  const told = new Set(end.carried.flatMap(({ toolCallId, result }) => (result ? [toolCallId] : [])));
  const isMadeUp = ({ type, toolCallId, output }: DisplayMessage["parts"][number]): boolean =>
    type === "tool-result" &&
    typeof toolCallId === "string" &&
    told.has(toolCallId) &&
    JSON.stringify(output) === UNKNOWN;
  return messages.map((message) =>
    message.parts.some(isMadeUp) ? { ...message, parts: message.parts.filter((part) => !isMadeUp(part)) } : message,
  );
}

/** The turn's own message stands before the prompt of the turn that follows. */
function beforeLastPrompt(messages: readonly DisplayMessage[], own: string): DisplayMessage[] {
  const mine = messages.filter(({ id }) => id === own);
  const others = messages.filter(({ id }) => id !== own);
  const at = others.findLastIndex(({ role }) => role === "user");
  return at < 0 ? [...messages] : others.toSpliced(at, 0, ...mine);
}
