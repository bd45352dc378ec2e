// Keeps what a turn that was given up has done all the same, once its run tells. Waits for nothing; the transaction is the caller's.
import type { TurnEnd } from "../schemas/chat.ts";
import { finishOfTurn } from "../src/chat/display.ts";
import { withLateAnswer, type Held } from "../src/chat/late-news.ts";
import { firstDifference, writeEntries, writeMessages } from "./visitor-bounds.ts";
import type { VisitorItems } from "./visitor-items.ts";
import type { ChatRow, TurnRow } from "./visitor-rows.ts";
import type { VisitorStore } from "./visitor-store.ts";
import type { Tail, Undo, VisitorUndo } from "./visitor-undo.ts";

/** Writes the items and the turns, and changes the row that it is given; storing the row is the caller's. */
export function keepLateNews(
  { store, items, undos }: { store: VisitorStore; items: VisitorItems; undos: VisitorUndo },
  chat: ChatRow,
  turn: TurnRow,
  end: TurnEnd,
): void {
  const heldNow = (): Held => ({ entries: items.entries(chat.id), messages: items.messages(chat.id) });
  const held = heldNow();
  const last = store.lastTurn(chat.id);
  const follower = last?.runId === turn.runId ? undefined : last;
  const next = follower?.promptAt ?? held.entries.length;
  const isTriedAgain = follower?.identity === turn.identity;
  const late = withLateAnswer(held, end, { promptAt: turn.promptAt, next: isTriedAgain ? undefined : next });
  const { gone } = writeEntries(items, chat, late.entries);
  writeMessages(items, chat, late.messages);
  const undo = undos.kept(chat.id);
  if (undo !== undefined) undos.keep(chat.id, amended(undo, held, heldNow(), turn, end));
  if (items.lastTurn(chat.id)?.runId === end.runId) {
    items.writeLastTurn(chat.id, { runId: end.runId, ...finishOfTurn(end) });
  }
  store.saveTurn({ ...turn, incomplete: false, promptAt: Math.max(0, turn.promptAt - gone) });
  if (follower !== undefined) {
    const moved = (follower.promptAt >= late.at ? late.more : 0) - gone;
    store.saveTurn({ ...follower, promptAt: Math.max(0, follower.promptAt + moved) });
  }
  credit(chat, end);
}

/** What a turn has told of its chat as a whole: a title, and tokens. */
export function credit(chat: ChatRow, { runId, titles, usage }: TurnEnd): void {
  const title = titles.at(-1) ?? "";
  if (chat.titleRun === runId && title !== "") chat.title = title;
  chat.tokens += usage?.totalTokens ?? (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}

/** Should the turn that has begun since be refused, what is told now stays. `held`: what the chat held until now; `now`: what it holds. */
function amended(undo: Undo, held: Held, now: Held, { promptAt }: TurnRow, end: TurnEnd): Undo {
  if (undo.chat === undefined) return undo;
  const before = { entries: whole(undo.entries, held.entries), messages: whole(undo.messages, held.messages) };
  const late = withLateAnswer(before, end, { promptAt, next: before.entries.length });
  const chat = { ...undo.chat };
  credit(chat, end);
  const changed = firstDifference(before.entries, late.entries);
  if (changed < chat.summaryThrough) Object.assign(chat, { summary: undefined, summaryThrough: 0 });
  if (changed < (chat.askedThrough ?? 0)) chat.askedThrough = undefined;
  return {
    ...undo,
    chat,
    entries: tailOf(late.entries, now.entries),
    messages: tailOf(late.messages, now.messages),
  };
}

const whole = <T>({ from, items }: Tail<T>, held: readonly T[]): T[] => [...held.slice(0, from), ...items];

function tailOf<T>(items: readonly T[], held: readonly T[]): Tail<T> {
  const from = firstDifference(items, held);
  return { from, items: items.slice(from) };
}
