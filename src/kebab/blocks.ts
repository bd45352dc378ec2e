// What a document consists of, whatever it is written in: headings, text, code, tables, each with its lines of the source. Shapes only.

export type BlockKind = "heading" | "text" | "code" | "table";

export interface Block {
  kind: BlockKind;
  /** 1 to 6; 0 for what is no heading. */
  level: number;
  /** Of a heading, without its markup. */
  title: string;
  text: string;
  /** What stands between the block before and this one. */
  gap: string;
  /** Lines of the source, from 1, both included. */
  first: number;
  last: number;
  /** The text is that of the source, so its lines are those of the source. */
  exact: boolean;
}

export interface SourceLines {
  count: number;
  /** Offset of a line's first unit; lines count from 1. */
  startOf(line: number): number;
  /** Offset behind a line's last unit, its end not included. */
  endOf(line: number): number;
  textOf(line: number): string;
}

/** Lines end with LF, CRLF or CR. */
export function sourceLines(source: string): SourceLines {
  // A line takes four bytes here: a document may be nothing but line ends.
  const starts = new Uint32Array(countLines(source));
  let count = 1;
  for (let at = nextEnd(source, 0); at >= 0; at = nextEnd(source, starts[count - 1] ?? 0)) {
    starts[count++] = at + endLength(source, at);
  }
  const startOf = (line: number): number => (line > count ? source.length : (starts[line - 1] ?? 0));
  const endOf = (line: number): number => {
    const end = line < count ? startOf(line + 1) : source.length;
    if (line >= count) return end;
    return end - (source.endsWith("\r\n", end) && end - 2 >= startOf(line) ? 2 : 1);
  };
  return { count, startOf, endOf, textOf: (line) => source.slice(startOf(line), endOf(line)) };
}

function countLines(source: string): number {
  let count = 1;
  for (let at = nextEnd(source, 0); at >= 0; at = nextEnd(source, at + endLength(source, at))) count++;
  return count;
}

const lineEnd = /[\r\n]/g;

/** Where the next line end is, or -1. */
function nextEnd(source: string, from: number): number {
  lineEnd.lastIndex = from;
  return lineEnd.exec(source)?.index ?? -1;
}

const endLength = (source: string, at: number): number =>
  source.charAt(at) === "\r" && source.charAt(at + 1) === "\n" ? 2 : 1;

/** Makes blocks of stretches of lines: each begins after the one before. */
export function blockMaker(source: string, lines: SourceLines) {
  let behind: number | undefined;
  return (kind: BlockKind, first: number, last: number, heading?: { level: number; title: string }): Block => {
    const start = lines.startOf(first);
    const end = lines.endOf(last);
    const gap = behind === undefined ? "" : source.slice(behind, start);
    behind = end;
    const { level = 0, title = "" } = heading ?? {};
    return { kind, level, title, text: source.slice(start, end), gap, first, last, exact: true };
  };
}
