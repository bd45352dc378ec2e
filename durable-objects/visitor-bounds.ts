// Writes what a chat holds, within the bounds of a chat: the oldest is cut, then it goes, and a summary only lasts as long as what it covers.
import type { DisplayMessage, HistoryEntry } from "../schemas/chat.ts";
import { LEFT, MAX_KEPT, surplus } from "../src/chat/compaction.ts";
import { cutBefore } from "../src/chat/history.ts";
import { fitEntries, fitShown, sizeOf } from "./visitor-fit.ts";
import type { VisitorItems } from "./visitor-items.ts";
import type { ChatRow } from "./visitor-rows.ts";

export interface WrittenEntries {
  /** Entries that went. */
  gone: number;
  /** The first place whose entry changed. */
  from: number;
}

/** Writes the items, and changes the row that it is given; storing the row is the caller's. */
export function writeEntries(items: VisitorItems, chat: ChatRow, entries: readonly HistoryEntry[]): WrittenEntries {
  const fitting = fitEntries(entries, MAX_KEPT, LEFT);
  const gone = cutBefore(fitting, surplus(fitting.map(sizeOf)));
  const said = fitting === entries ? undefined : firstDifference(entries, items.entries(chat.id));
  const { from } = items.writeEntries(chat.id, fitting.slice(gone));
  // What is only cut says what it said.
  const changed = said ?? from;
  const covered = gone > 0 ? Math.min(chat.summaryThrough, gone) : chat.summaryThrough;
  if (gone === 0 && changed < chat.summaryThrough) Object.assign(chat, { summary: undefined, summaryThrough: 0 });
  if (gone > 0) chat.summaryThrough -= covered;
  if (gone > 0 || changed < (chat.askedThrough ?? 0)) chat.askedThrough = undefined;
  return { gone, from };
}

/** The first place whose message changed. */
export function writeMessages(items: VisitorItems, chat: ChatRow, messages: readonly DisplayMessage[]): number {
  const fitting = fitShown(messages, MAX_KEPT, LEFT);
  return items.writeMessages(chat.id, fitting.slice(surplus(fitting.map(sizeOf)))).from;
}

/** The first place where the items are others; their number where they are the same. */
export function firstDifference(items: readonly unknown[], others: readonly unknown[]): number {
  const at = items.findIndex((item, index) => JSON.stringify(item) !== JSON.stringify(others[index]));
  return at < 0 ? items.length : at;
}
