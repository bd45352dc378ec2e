// Markdown as blocks, line by line: headings, fenced and indented code, tables, text. Judges inline markup only in titles.
import { blockMaker, sourceLines, type Block, type SourceLines } from "./blocks.ts";

const blank = /^\s*$/;
const atx = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const setext = /^ {0,3}(=+|-+)[ \t]*$/;
const fence = /^\s*(?:(`{3,})[^`]*|(~{3,}).*)$/;
const item = /^\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const quote = /^ {0,3}>/;
const indented = /^(?: {4}|\t)/;
/** Of a row without white space. */
const delimiterRow = /^\|?:?-+:?(?:\|:?-+:?)*\|?$/;
/** HTML whose content is no Markdown, and what ends it. */
const raw: readonly (readonly [RegExp, RegExp])[] = [
  [/^ {0,3}<!--/, /-->/],
  [/^ {0,3}<(?:pre|script|style|textarea)(?:\s|>|$)/i, /<\/(?:pre|script|style|textarea)>/i],
];
/** Lines that a setext heading may have. */
const MAX_SETEXT_LINES = 3;

/** From line `from` on: what stands before is no part of the text. */
export function* markdownBlocks(source: string, from: number): Generator<Block> {
  const lines = sourceLines(source);
  const make = blockMaker(source, lines);
  let inList = false;
  for (let line = from; line <= lines.count;) {
    const text = lines.textOf(line);
    if (blank.test(text)) {
      line++;
      continue;
    }
    const heading = atx.exec(text);
    if (heading !== null) {
      inList = false;
      yield make("heading", line, line, {
        level: heading[1]?.length ?? 1,
        title: titleOf(openTitle(text.slice(heading[0].length))),
      });
      line++;
      continue;
    }
    const last = codeEnd(lines, line, inList);
    if (last !== undefined) {
      yield make("code", line, last);
      line = last + 1;
      continue;
    }
    if (isTable(lines, line)) {
      const end = runEnd(lines, line + 1, (next) => blank.test(next) || atx.test(next) || fence.test(next));
      yield make("table", line, end);
      line = end + 1;
      continue;
    }
    inList = item.test(text) || (inList && /^\s/.test(text));
    const paragraph = paragraphEnd(lines, line);
    yield paragraph.level === 0
      ? make("text", line, paragraph.last)
      : make("heading", line, paragraph.last, {
          level: paragraph.level,
          title: setextTitle(lines, line, paragraph.last),
        });
    line = paragraph.last + 1;
  }
}

/** The last line of the code, or of the raw HTML, that begins here. */
function codeEnd(lines: SourceLines, line: number, inList: boolean): number | undefined {
  const text = lines.textOf(line);
  const [, ticks, tildes] = fence.exec(text) ?? [];
  const opening = ticks ?? tildes;
  if (opening !== undefined) {
    const closes = (next: string): boolean => {
      const mark = next.trim();
      return mark.length >= opening.length && mark === opening.charAt(0).repeat(mark.length);
    };
    return closedBy(lines, line + 1, closes);
  }
  const ended = raw.find(([begins]) => begins.test(text))?.[1];
  if (ended !== undefined) return ended.test(text) ? line : closedBy(lines, line + 1, (next) => ended.test(next));
  if (inList || !indented.test(text)) return undefined;
  let last = line;
  for (let next = line + 1; next <= lines.count; next++) {
    const following = lines.textOf(next);
    if (indented.test(following) && !blank.test(following)) last = next;
    else if (!blank.test(following)) break;
  }
  return last;
}

/** The first line that closes; what nothing closes goes on to the end. */
function closedBy(lines: SourceLines, from: number, closes: (text: string) => boolean): number {
  for (let line = from; line <= lines.count; line++) if (closes(lines.textOf(line))) return line;
  return lines.count;
}

function isTable(lines: SourceLines, line: number): boolean {
  if (line >= lines.count || !lines.textOf(line).includes("|")) return false;
  const next = lines.textOf(line + 1);
  return next.includes("|") && delimiterRow.test(next.replaceAll(/\s/g, ""));
}

/** The last line before one that stops. */
function runEnd(lines: SourceLines, from: number, stops: (text: string) => boolean): number {
  let line = from;
  while (line < lines.count && !stops(lines.textOf(line + 1))) line++;
  return line;
}

/** `level`: of the heading that a line of signs below makes of the paragraph; else 0. */
function paragraphEnd(lines: SourceLines, first: number): { last: number; level: number } {
  const opening = lines.textOf(first);
  const mayHead = !item.test(opening) && !quote.test(opening);
  for (let line = first + 1; line <= lines.count; line++) {
    const text = lines.textOf(line);
    const under = setext.exec(text)?.[1];
    if (under !== undefined && mayHead && line - first <= MAX_SETEXT_LINES) {
      return { last: line, level: under.startsWith("=") ? 1 : 2 };
    }
    const stops = blank.test(text) || atx.test(text) || fence.test(text) || raw.some(([begins]) => begins.test(text));
    if (stops || isTable(lines, line)) return { last: line - 1, level: 0 };
  }
  return { last: lines.count, level: 0 };
}

function setextTitle(lines: SourceLines, first: number, last: number): string {
  const parts: string[] = [];
  for (let line = first; line < last; line++) parts.push(lines.textOf(line).trim());
  return titleOf(parts.join(" "));
}

/** What stands behind the signs of a heading, without those that close it. */
function openTitle(text: string): string {
  const title = text.trim();
  let end = title.length;
  while (title.charAt(end - 1) === "#") end--;
  return end === 0 || /\s/.test(title.charAt(end - 1)) ? title.slice(0, end) : title;
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
