// Finds a JSON object or array that stands bare on lines of its own in a format where no line begins with a bracket. Never parses it.
import { jsonScan, type JsonScan } from "./json-scan.ts";

export interface StrayJson {
  /** The text of the value that this line completes. A line that belongs to none is passed over. */
  add(line: string): string | undefined;
  /** A line of the format came: what was begun is no JSON. */
  reset(): void;
  /** UTF-16 units that are held. */
  readonly size: number;
}

export function strayJson(): StrayJson {
  let text = "";
  let scan: JsonScan | undefined;

  const reset = (): void => {
    text = "";
    scan = undefined;
  };

  return {
    add(line) {
      if (scan === undefined && !/^\s*[{[]/.test(line)) return undefined;
      scan ??= jsonScan();
      scan.feed(line);
      text += `${line}\n`;
      if (scan.progress !== "closed") return undefined;
      const whole = text;
      reset();
      return whole;
    },
    reset,
    get size() {
      return text.length;
    },
  };
}
