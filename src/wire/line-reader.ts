// Bytes to lines of text: UTF-8 split anywhere. A line is decoded by itself, so that none keeps its neighbours' text alive. Knows no format.
import { byteLines } from "./byte-lines.ts";
import type { Stage } from "./stage.ts";
import { utf8Text } from "./utf8-text.ts";

/** One line without its end; `tooLong` once the limit is passed, after which the reader is silent. */
export type Line = { text: string } | { tooLong: true };

export interface LineReader extends Stage<Uint8Array, Line> {
  /** What stands after the last line end, once the input is over. */
  rest(): string;
}

/** `maxLine` is in bytes. */
export function lineReader(maxLine: number): LineReader {
  let lines: Line[] = [];
  let dead = false;
  const source = byteLines(maxLine, (bytes, start, end) => {
    lines.push({ text: utf8Text(bytes, start, end) });
  });

  return {
    feed(bytes) {
      if (dead) return [];
      if (source.feed(bytes) === "tooLong") {
        dead = true;
        lines.push({ tooLong: true });
      }
      const gathered = lines;
      lines = [];
      return gathered;
    },
    end: () => [],
    rest() {
      let text = "";
      source.rest((bytes, start, end) => {
        text = utf8Text(bytes, start, end);
      });
      return text;
    },
  };
}
