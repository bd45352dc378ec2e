// An HTML page as blocks. Their text is what a reader sees; their lines are those of the page.
import { htmlSections } from "../text/html-sections.ts";
import { sourceLines, type Block, type SourceLines } from "./blocks.ts";

export interface HtmlPage {
  title: string;
  blocks: Block[];
  /** False when the page has too many parts to be taken. */
  whole: boolean;
}

export function htmlPage(source: string): HtmlPage {
  const { title, sections, whole } = htmlSections(source);
  const lines = sourceLines(source);
  let line = 1;
  const blocks = sections.map(({ kind, level, text, from, to }, index): Block => {
    const first = lineAt(lines, line, skipSpace(source, from, to));
    const last = lineAt(lines, first, Math.max(from, to - 1 - spaceBefore(source, from, to)));
    line = first;
    const shown = withoutOuterLines(text);
    const heading = kind === "heading" ? shown.replaceAll(/\s+/g, " ").trim().slice(0, 300).toWellFormed() : "";
    return { kind, level, title: heading, text: shown, gap: index === 0 ? "" : "\n\n", first, last, exact: false };
  });
  return { title, blocks, whole };
}

function withoutOuterLines(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && text.charAt(from) === "\n") from++;
  while (to > from && text.charAt(to - 1) === "\n") to--;
  return text.slice(from, to);
}

/** The line of an offset, looked for from a line on that is not behind it. */
function lineAt(lines: SourceLines, from: number, offset: number): number {
  let line = from;
  while (line < lines.count && lines.startOf(line + 1) <= offset) line++;
  return line;
}

function skipSpace(source: string, from: number, to: number): number {
  let at = from;
  while (at < to - 1 && /\s/.test(source.charAt(at))) at++;
  return at;
}

function spaceBefore(source: string, from: number, to: number): number {
  let at = to;
  while (at - 1 > from && /\s/.test(source.charAt(at - 1))) at--;
  return to - at;
}
