// What a chat holds made to fit: its oldest items are cut before any goes, and what is read at once is within what an answer may hold. Pure.
import type { DisplayMessage, HistoryEntry } from "../schemas/chat.ts";
import { MAX_READ, unread } from "../src/chat/compaction.ts";
import { openCallParts } from "../src/chat/display.ts";
import { beginAfter, openCalls } from "../src/chat/history.ts";
import { shortEntry, shortestEntry, shortestMessage, shortMessage } from "../src/run/short-items.ts";

/** What is read at once. `leftOut`: how many of the oldest are not. */
export interface Readable<T> {
  items: T[];
  leftOut: number;
}

export function readableEntries(entries: readonly HistoryEntry[]): Readable<HistoryEntry> {
  const fitting = fitEntries(entries, MAX_READ, MAX_READ).map((entry) => readable(entry, shortestEntry));
  const leftOut = unread(fitting.map(sizeOf));
  return withoutOldest(fitting, leftOut === 0 ? 0 : beginAfter(fitting, leftOut));
}

export function readableMessages(messages: readonly DisplayMessage[]): Readable<DisplayMessage> {
  const fitting = fitShown(messages, MAX_READ, MAX_READ).map((message) => readable(message, shortestMessage));
  return withoutOldest(fitting, unread(fitting.map(sizeOf)));
}

const withoutOldest = <T>(items: readonly T[], leftOut: number): Readable<T> => ({
  items: items.slice(leftOut),
  leftOut,
});

/** An item that would be read alone, or not even so, is cut: what is stored of it stays whole. */
const readable = <T>(item: T, shortest: (item: T) => T): T => (sizeOf(item) <= MAX_READ ? item : shortest(item));

/** A call that is still to be made stays as it is. */
export function fitEntries(entries: readonly HistoryEntry[], max: number, left: number): readonly HistoryEntry[] {
  return fitItems(entries, max, left, () => {
    const open = new Set(openCalls(entries));
    return (entry) => shortEntry(entry, (call) => !open.has(call));
  });
}

export function fitShown(messages: readonly DisplayMessage[], max: number, left: number): readonly DisplayMessage[] {
  return fitItems(messages, max, left, () => {
    const open = openCallParts(messages);
    return (message) => shortMessage(message, (call) => !open.has(call));
  });
}

/** The items themselves within `max`; else the oldest are made short until they are within `left`, or all are. */
function fitItems<T>(items: readonly T[], max: number, left: number, shortener: () => (item: T) => T): readonly T[] {
  let units = items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (units <= max) return items;
  const shorten = shortener();
  return items.map((item) => {
    if (units <= left) return item;
    const short = shorten(item);
    if (short !== item) units -= sizeOf(item) - sizeOf(short);
    return short;
  });
}

/** UTF-16 units as JSON. */
export const sizeOf = (item: unknown): number => JSON.stringify(item).length;
