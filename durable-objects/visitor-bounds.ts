// Writes what a chat holds, within the bounds of a chat: the oldest goes, and a summary only lasts as long as what it covers.
import type { DisplayMessage, HistoryEntry } from "../schemas/chat.ts";
import { surplus } from "../src/chat/compaction.ts";
import { cutBefore } from "../src/chat/history.ts";
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
  const gone = cutBefore(entries, surplus(entries.map(sizeOf)));
  const { from } = items.writeEntries(chat.id, entries.slice(gone));
  const covered = gone > 0 ? Math.min(chat.summaryThrough, gone) : chat.summaryThrough;
  if (gone === 0 && from < chat.summaryThrough) Object.assign(chat, { summary: undefined, summaryThrough: 0 });
  if (gone > 0) chat.summaryThrough -= covered;
  if (gone > 0 || from < (chat.askedThrough ?? 0)) chat.askedThrough = undefined;
  return { gone, from };
}

/** The first place whose message changed. */
export function writeMessages(items: VisitorItems, chat: ChatRow, messages: readonly DisplayMessage[]): number {
  return items.writeMessages(chat.id, messages.slice(surplus(messages.map(sizeOf)))).from;
}

/** UTF-16 units as JSON. */
export const sizeOf = (item: unknown): number => JSON.stringify(item).length;
