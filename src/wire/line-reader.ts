// Bytes to lines: LF, CRLF or CR, UTF-8 split anywhere, one leading BOM. Linear in the input, bounded per line. Knows no format.
import type { Stage } from "./stage.ts";

/** One line without its end; `tooLong` once the limit is passed, after which the reader is silent. */
export type Line = { text: string } | { tooLong: true };

export interface LineReader extends Stage<Uint8Array, Line> {
  /** What stands after the last line end, once the input is over. */
  rest(): string;
}

/** `maxLine` is in UTF-16 units. A CR ends its line at once; a LF right after it, even in a later packet, is swallowed. */
export function lineReader(maxLine: number): LineReader {
  const decoder = new TextDecoder("utf-8");
  let pending = "";
  let afterCr = false;
  let dead = false;

  const read = (text: string): Line[] => {
    const lines: Line[] = [];
    if (dead || text === "") return lines;
    let start = afterCr && text.charCodeAt(0) === 10 ? 1 : 0;
    afterCr = false;
    let lf = text.indexOf("\n", start);
    let cr = text.indexOf("\r", start);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      if (pending.length + end - start > maxLine) break;
      // `pending` is only joined here, so a line in thousands of packets stays linear.
      lines.push({ text: pending + text.slice(start, end) });
      pending = "";
      start = end + 1;
      if (end === cr) {
        if (start === text.length) afterCr = true;
        else if (text.charCodeAt(start) === 10) start++;
        cr = text.indexOf("\r", start);
      }
      if (lf !== -1 && lf < start) lf = text.indexOf("\n", start);
    }
    pending += text.slice(start);
    if (pending.length > maxLine) {
      dead = true;
      pending = "";
      lines.push({ tooLong: true });
    }
    return lines;
  };

  return {
    feed: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end: () => read(decoder.decode()),
    rest: () => pending,
  };
}
