// Puts pieces of text together as lines and paragraphs. Knows no markup; keeps what was written and one gap that is due.

/** What stands between two pieces, the weaker first: of several gaps in a row the strongest counts. */
const gaps = ["", " ", "\t", "\n", "\n\n"] as const;
export type Gap = "none" | "space" | "cell" | "line" | "paragraph";
const strengths: Record<Gap, number> = { none: 0, space: 1, cell: 2, line: 3, paragraph: 4 };

export interface TextLines {
  /** A gap before whatever comes next. There is none at the beginning, and none at the end. */
  gap(gap: Gap): void;
  /** The next line, or, when one is due already, the next paragraph. */
  lineBreak(): void;
  /** Stands directly before the text that comes next; a mark without text is lost. */
  mark(mark: string): void;
  /** Text whose white space means no more than a space. */
  flow(text: string): void;
  /** Text as it is; line ends at its end may become the gap. */
  exact(text: string): void;
  /** UTF-16 units so far. */
  size(): number;
  text(): string;
}

export function textLines(): TextLines {
  const pieces: string[] = [];
  let size = 0;
  let due = 0;
  /** Line ends that were written and may be the gap's. */
  let held = "";
  let mark = "";

  const put = (piece: string): void => {
    if (piece === "") return;
    pieces.push(piece);
    size += piece.length;
  };
  const gap = (wanted: Gap): void => {
    due = Math.max(due, strengths[wanted]);
  };
  const exact = (text: string): void => {
    let end = text.length;
    while (end > 0 && text[end - 1] === "\n") end--;
    if (end > 0) {
      const between = gaps[due] ?? "";
      if (size > 0) put(held.length > between.length ? held : between);
      put(mark);
      put(text.slice(0, end));
      due = 0;
      held = "";
      mark = "";
    }
    held += text.slice(end);
  };

  return {
    gap,
    exact,
    lineBreak: () => gap(due === strengths.line ? "paragraph" : "line"),
    mark(next) {
      mark = next;
    },
    flow(text) {
      if (!/[ \t\n\f\r]/.test(text)) return exact(text);
      const words = text.replaceAll(/[ \t\n\f\r]+/g, " ");
      if (words.startsWith(" ")) gap("space");
      exact(words.trim());
      if (words.endsWith(" ")) gap("space");
    },
    size: () => size,
    text: () => pieces.join(""),
  };
}
