// Bytes to server-sent events, by the WHATWG rules, with the residue of an unfinished last event kept. Never parses data.
import { lineReader } from "./line-reader.ts";
import type { Stage } from "./stage.ts";

export interface SseFrame {
  data: string;
  /** Absent when the event had no `event:` line. */
  event?: string;
  id?: string;
  /** The body ended before the blank line that would have dispatched this event. */
  residue?: true;
}

/** `tooLarge`: a line or an event passed the limit; nothing follows. */
export type SseItem = SseFrame | { tooLarge: true };

/** Content types lie; the first character does not. JSON and HTML are never a stream of events. */
export const startsLikeSse = (character: string): boolean => !"<{[".includes(character);

/** A comment or an ignored field is liveness only: it yields nothing. `maxEvent` is in UTF-16 units of data. */
export function sseReader(maxEvent: number): Stage<Uint8Array, SseItem> {
  const lines = lineReader(maxEvent);
  let data: string[] | undefined;
  let size = 0;
  let event: string | undefined;
  let id: string | undefined;
  let dead = false;

  const dispatch = (items: SseItem[], residue: boolean): void => {
    if (data !== undefined) {
      items.push({
        data: data.length === 1 ? (data[0] ?? "") : data.join("\n"),
        ...(event !== undefined && { event }),
        ...(id !== undefined && { id }),
        ...(residue && { residue: true as const }),
      });
    }
    data = undefined;
    size = 0;
    event = undefined;
    id = undefined;
  };

  const field = (line: string): void => {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? "" : line.slice(colon + 1);
    if (value.charCodeAt(0) === 32) value = value.slice(1);
    // Old builds of the llama.cpp server write an error into a field of its own.
    const failing = name === "error" && value.startsWith("{");
    if (name === "data" || failing) {
      // The joining line feed counts too: else a flood of empty lines would have no limit.
      size += value.length + (data === undefined ? 0 : 1);
      (data ??= []).push(value);
    }
    if (failing) event = "error";
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  };

  const read = (batch: ReturnType<typeof lines.feed>): SseItem[] => {
    const items: SseItem[] = [];
    for (const line of batch) {
      if (dead) break;
      if ("text" in line && line.text !== "") field(line.text);
      else if ("text" in line) dispatch(items, false);
      if ("tooLong" in line || size > maxEvent) {
        dead = true;
        items.push({ tooLarge: true });
      }
    }
    return items;
  };

  return {
    feed: (bytes) => read(lines.feed(bytes)),
    end: () => {
      const items = read(lines.end());
      if (dead) return items;
      if (lines.rest() !== "") field(lines.rest());
      dispatch(items, true);
      return items;
    },
  };
}
