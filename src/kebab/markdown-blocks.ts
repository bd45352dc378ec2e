// Markdown as blocks: headings, code, tables, text. What a line is, is decided elsewhere; judges inline markup only in titles.
import { blockMaker, sourceLines, type Block, type BlockKind, type SourceLines } from "./blocks.ts";
import { markdownReader } from "./markdown-lines.ts";

/** From line `from` on: what stands before is no part of the text. */
export function* markdownBlocks(source: string, from: number): Generator<Block> {
  const lines = sourceLines(source);
  const make = blockMaker(source, lines);
  const read = markdownReader(lines);
  /** Of lines that are not yet told. */
  let open: { kind: BlockKind; first: number; last: number } | undefined;
  for (let line = from; line <= lines.count; line++) {
    const found = read(line);
    switch (found.kind) {
      case "blank":
        // Code has empty lines in it, but none at its end.
        if (open === undefined || open.kind === "code") break;
        yield make(open.kind, open.first, open.last);
        open = undefined;
        break;
      case "heading":
        // The lines of one that is underlined were text until now.
        if (open !== undefined && open.first < found.from) {
          yield make(open.kind, open.first, Math.min(open.last, found.from - 1));
        }
        open = undefined;
        yield make("heading", found.from, line, {
          level: found.level,
          title: found.from < line ? underlinedTitle(lines, found.from, line) : signedTitle(lines.textOf(line)),
        });
        break;
      case "text":
      case "table":
      case "code":
        if (open !== undefined && open.kind === found.kind && !(found.kind === "code" && found.begins)) {
          open.last = line;
          break;
        }
        if (open !== undefined) yield make(open.kind, open.first, open.last);
        open = { kind: found.kind, first: line, last: line };
        break;
    }
  }
  if (open !== undefined) yield make(open.kind, open.first, open.last);
}

function underlinedTitle(lines: SourceLines, first: number, last: number): string {
  const parts: string[] = [];
  for (let line = first; line < last; line++) parts.push(lines.textOf(line).trim());
  return titleOf(parts.join(" "));
}

/** What stands between the signs of a heading: those that close it are none of it. */
function signedTitle(text: string): string {
  const title = text.replace(/^ *#+/, "").trim();
  let end = title.length;
  while (title.charAt(end - 1) === "#") end--;
  return titleOf(end === 0 || /\s/.test(title.charAt(end - 1)) ? title.slice(0, end) : title);
}

/** UTF-16 units of a title: it is repeated with every chunk below it. */
const MAX_TITLE = 300;

/** A heading's text as a reader sees it. */
function titleOf(markup: string): string {
  return markup
    .slice(0, 4 * MAX_TITLE)
    .replace(/\s*\{#[^}]*\}\s*$/, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/`+|\*\*|__/g, "")
    .replaceAll(/\\([!-/:-@[-`{-~])/g, "$1")
    .trim()
    .slice(0, MAX_TITLE)
    .toWellFormed();
}
