// What a turn makes of a chat's conversation: at its beginning what a model is to read, at its end what it answered. Pure.
import type { HistoryEntry, TurnEnd, TurnRequest } from "../../schemas/chat.ts";
import type { CallRecord } from "../../schemas/tool.ts";
import { adopted, answered, answerOf, callEntryOf, resultEntry, UNKNOWN_EFFECT, withClientResults } from "./history.ts";

export interface Opening {
  entries: HistoryEntry[];
  /** Where the prompt of this turn stands; the end when it has none. */
  promptAt: number;
}

/**
 * The conversation with which a turn begins. `stored`: that of the chat. `settles`: the turn carries out decisions, and goes
 * on from what is stored. `from`: the turn tries again what another did, and does so from there.
 */
export function opening(
  request: Pick<TurnRequest, "history" | "prompt" | "images">,
  stored: readonly HistoryEntry[],
  how: { settles: boolean; from: number | undefined },
): Opening {
  const base = how.from === undefined ? stored : stored.slice(0, how.from);
  const { history } = request;
  if (how.settles) return asked(withClientResults(base, history), []);
  // Results alone belong to the calls of the stored conversation. An approval is not for them to answer.
  const alone = history.every(({ role }) => role === "tool");
  return asked(alone ? withClientResults(base, history) : adopted(history, stored), promptOf(request));
}

const asked = (before: HistoryEntry[], prompt: HistoryEntry[]): Opening => ({
  entries: [...before, ...prompt],
  promptAt: before.length,
});

function promptOf({ prompt, images = [] }: Pick<TurnRequest, "prompt" | "images">): HistoryEntry[] {
  if (prompt === "" && images.length === 0) return [];
  return [{ role: "user", content: prompt, ...(images.length > 0 && { images }) }];
}

/** The end of a turn with a result for each call that it was to carry out: `open` are the chat's, `decided` the ids of this turn's. */
export function wholeEnd(end: TurnEnd, open: readonly CallRecord[], decided: ReadonlySet<string>): TurnEnd {
  const told = end.carried.filter(({ toolCallId, result }) => result !== undefined || !decided.has(toolCallId));
  const left = open.filter(
    ({ toolCallId }) => decided.has(toolCallId) && !told.some((call) => call.toolCallId === toolCallId),
  );
  return { ...end, carried: [...told, ...left.map((call) => ({ ...call, result: UNKNOWN_EFFECT }))] };
}

/** The conversation after a turn, and where the turn's own answer begins: after the results of earlier calls. */
export function withAnswer(
  stored: readonly HistoryEntry[],
  end: TurnEnd,
): { entries: HistoryEntry[]; answerAt: number } {
  let entries = [...stored];
  for (const { toolCallId, result } of end.carried) {
    if (result !== undefined) entries = answered(entries, toolCallId, answerOf(result));
  }
  return { entries: [...entries, ...end.steps.flatMap(stepEntries)], answerAt: entries.length };
}

/** A step's answer with its calls, followed by their results; none of a step that shows nothing. */
export function stepEntries({ text, reasoning, calls }: TurnEnd["steps"][number]): HistoryEntry[] {
  if (text === "" && reasoning === "" && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: text,
      ...(reasoning !== "" && { reasoning }),
      ...(calls.length > 0 && { tool_calls: calls.map(callEntryOf) }),
    },
    ...calls.flatMap(callResult),
  ];
}

const callResult = ({ toolCallId, result }: CallRecord): HistoryEntry[] =>
  result === undefined ? [] : [resultEntry(toolCallId, answerOf(result))];
