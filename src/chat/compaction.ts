// When a conversation has grown long: what of it a model is to sum up, and how much of a chat is kept. Pure.
import type { HistoryEntry, TurnEndAnswer } from "../../schemas/chat.ts";
import { callsOf, cutBefore } from "./history.ts";
import type { Summary } from "./model-messages.ts";

/** Entries without a summary from which on one is asked for, and how many of them it leaves alone. */
const LONG = 40;
const KEPT = 20;
/** UTF-16 units, likewise: few entries may be long ones. Of an output so many count as a model still reads when space is short. */
const LARGE = 200_000;
const OUTPUT = 2_048;
const KEPT_UNITS = 100_000;
/** UTF-16 units of one entry and of all that a model is to sum up. */
const MAX_ENTRY = 4_000;
const MAX_TEXT = 120_000;
/** UTF-16 units of a chat's messages, and of its conversation, that are kept; and what is left once the oldest have been cut or gone. */
export const MAX_KEPT = 8_000_000;
export const LEFT = 6_000_000;
/** An item that is larger counts as much: it drives no other out. */
const MAX_COUNTED = LEFT / 2;
/** UTF-16 units of a chat's messages, and of its conversation, that are read at once: the platform carries 32 MiB, two bytes a unit. */
export const MAX_READ = 7_500_000;

/** The part of a long conversation that a model is to sum up, with the summary so far; `undefined` while it is short enough. */
export function summaryWanted(
  entries: readonly HistoryEntry[],
  summary: Summary | undefined,
): TurnEndAnswer["summarize"] {
  const from = summary?.through ?? 0;
  const kept = keptOf(entries.slice(from));
  if (kept === undefined) return undefined;
  const lines = summary === undefined ? [] : [`Summary so far: ${summary.text}`];
  let units = lines.join("").length;
  let end = from;
  for (const entry of entries.slice(from, cutBefore(entries, entries.length - kept))) {
    const line = lineOf(entry);
    units += line.length;
    if (units > MAX_TEXT) break;
    lines.push(line);
    end++;
  }
  const through = cutBefore(entries, end);
  if (through <= from) return undefined;
  return { text: lines.slice(0, lines.length - (end - through)).join("\n"), through };
}

/** How many of the newest entries are left alone; `undefined` while there are few and small ones. */
function keptOf(entries: readonly HistoryEntry[]): number | undefined {
  const sizes = entries.map((entry) => {
    const { length } = JSON.stringify(entry);
    return entry.role === "tool" ? Math.min(length, OUTPUT) : length;
  });
  const isLarge = sizes.reduce((sum, size) => sum + size, 0) >= LARGE;
  if (!isLarge) return entries.length < LONG ? undefined : KEPT;
  let units = 0;
  const fitting = sizes.toReversed().findIndex((size) => (units += size) > KEPT_UNITS);
  return Math.min(KEPT, Math.max(1, fitting));
}

function lineOf(entry: HistoryEntry): string {
  const calls = callsOf(entry).map(({ function: { name, arguments: text } }) => `[calls ${name} with ${text}]`);
  const line = `${entry.role}: ${[entry.content, ...calls].filter((text) => text !== "").join(" ")}`;
  return line.length <= MAX_ENTRY ? line : `${line.slice(0, MAX_ENTRY)}...`;
}

/** How many of the oldest items are left out when a chat is read. The newest never is. */
export function unread(sizes: readonly number[], max = MAX_READ): number {
  let units = 0;
  const left = sizes.findLastIndex((size) => (units += size) > max) + 1;
  return Math.min(left, Math.max(0, sizes.length - 1));
}

/** How many of the oldest items go so that a chat stays within its bounds. The newest always stays. */
export function surplus(sizes: readonly number[]): number {
  const counted = sizes.map((size) => Math.min(size, MAX_COUNTED));
  let units = counted.reduce((sum, size) => sum + size, 0);
  if (units <= MAX_KEPT) return 0;
  let gone = 0;
  for (const size of counted.slice(0, -1)) {
    if (units <= LEFT) break;
    units -= size;
    gone++;
  }
  return gone;
}
