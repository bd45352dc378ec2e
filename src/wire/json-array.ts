// Cuts a JSON array that comes in pieces into the texts of its elements. Never parses or judges an element; commas are passed over, not counted.
import type { Stage } from "./stage.ts";

/**
 * `closed`: the array's closing bracket. `tooLarge`: an element passed the limit. `stray`: a character that can begin no
 * element; after these two nothing follows.
 */
export type JsonArrayItem = { text: string } | { closed: true } | { tooLarge: true } | { stray: true };

/** `maxElement` is in UTF-16 units. */
export function jsonArrayReader(maxElement: number): Stage<Uint8Array, JsonArrayItem> {
  // One byte order mark is passed over here: Node 24's decoder drops a second one when the first comes in pieces.
  const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  const elements = jsonArrayScan(maxElement);
  let begun = false;
  const withoutMark = (text: string): string => {
    if (begun || text === "") return text;
    begun = true;
    return text.startsWith("\uFEFF") ? text.slice(1) : text;
  };
  return {
    feed: (bytes) => elements.feed(withoutMark(decoder.decode(bytes, { stream: true }))),
    end: () => [...elements.feed(withoutMark(decoder.decode())), ...elements.end()],
  };
}

/** JSON values that stand one after another without anything between them; `undefined` when the text is anything else. */
export function gluedValues(text: string): string[] | undefined {
  const items = jsonArrayScan(text.length).feed(`[${text}]`);
  const texts = items.flatMap((item) => ("text" in item ? [item.text] : []));
  const last = items.at(-1);
  return texts.length === items.length - 1 && last !== undefined && "closed" in last ? texts : undefined;
}

type Place = "before" | "between" | "nested" | "string" | "scalar" | "after" | "dead";

function jsonArrayScan(maxElement: number): Stage<string, JsonArrayItem> {
  let place: Place = "before";
  let closed = false;
  let depth = 0;
  let escaped = false;
  let pending = "";

  const outside = (character: string): Place => {
    if (" \t\r\n".includes(character)) return place;
    if (place === "before") return character === "[" ? "between" : "dead";
    if (place === "between" && character === ",") return place;
    if (place === "between" && character === "]") return "after";
    if ("{[".includes(character)) {
      depth = 1;
      return "nested";
    }
    if (place === "after") return "dead";
    if (character === '"') return "string";
    return /[-0-9tfn]/.test(character) ? "scalar" : "dead";
  };

  /** Where the character leaves an element: `between` once it is the element's last. */
  const inside = (character: string): Place => {
    if (place === "string") {
      if (escaped) escaped = false;
      else if (character === "\\") escaped = true;
      else if (character === '"') return depth === 0 ? "between" : "nested";
      return "string";
    }
    if (character === '"') return "string";
    if ("{[".includes(character)) depth++;
    else if ("}]".includes(character)) depth--;
    return depth === 0 ? "between" : "nested";
  };

  const feed = (text: string): JsonArrayItem[] => {
    const items: JsonArrayItem[] = [];
    let start = 0;
    const element = (end: number): void => {
      // `pending` is only joined here, so an element in thousands of packets stays linear.
      const whole = pending + text.slice(start, end);
      pending = "";
      place = whole.length > maxElement ? "dead" : closed ? "after" : "between";
      items.push(place === "dead" ? { tooLarge: true } : { text: whole });
    };
    for (let index = 0; index < text.length && place !== "dead"; index++) {
      const character = text.charAt(index);
      if (place === "nested" || place === "string") {
        const next = inside(character);
        if (next === "between") element(index + 1);
        else place = next;
        continue;
      }
      if (place === "scalar") {
        if (/[-+.\w]/.test(character)) continue;
        element(index);
        if (isDead(place)) break;
      }
      const next = outside(character);
      if (next === "dead") items.push({ stray: true });
      if (next === "after" && !closed) {
        closed = true;
        items.push({ closed: true });
      }
      if (next === "nested" || next === "string" || next === "scalar") start = index;
      place = next;
    }
    if (place !== "nested" && place !== "string" && place !== "scalar") return items;
    pending += text.slice(start);
    if (pending.length > maxElement) {
      pending = "";
      place = "dead";
      items.push({ tooLarge: true });
    }
    return items;
  };

  return { feed, end: () => [] };
}

const isDead = (place: Place): boolean => place === "dead";
