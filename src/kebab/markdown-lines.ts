// What each line of Markdown is, by the rules of CommonMark for lists, quotes, code, HTML and headings. Judges no inline markup.
import type { SourceLines } from "./blocks.ts";
import { htmlStart } from "./markdown-html.ts";

export type MarkdownLine =
  | { kind: "blank" | "text" | "table" }
  /** `begins`: it is no part of the code above. */
  | { kind: "code"; begins: boolean }
  /** `from`: the first line of one that is underlined, else its own. Inside of lists and quotes there are none. */
  | { kind: "heading"; level: number; from: number };

type Container = { kind: "quote" } | { kind: "item"; indent: number; filled: boolean };

type Leaf =
  | { kind: "none" | "indented" | "table" }
  /** `from`: its first line that is no link definition. */
  | { kind: "paragraph"; from: number }
  | { kind: "fence"; mark: string }
  /** Without `ends` an empty line ends it. */
  | { kind: "html"; ends: RegExp | undefined };

/** More lists and quotes inside of each other than this are text: an empty line asks all of them. */
const MAX_DEPTH = 32;
/** Lines that an underlined heading may have: rules are often drawn below whole paragraphs. */
const MAX_UNDERLINED = 3;
/** UTF-16 units of a line that is asked whether it is a rule, a definition or below the head of a table. */
const MAX_ASKED = 10_000;
/** UTF-16 units at the beginning of a line in which tabs are columns. */
const MAX_PREFIX = 512;

const blank = /^\s*$/;
const deep = /^ {4}/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3}(?:[-*+]|(\d{1,9})[.)]))( +|$)/;
const atx = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const fence = /^ {0,3}(?:(`{3,})[^`]*$|(~{3,}))/;
const fenceEnd = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
const underline = /^ {0,3}(=+|-+)[ \t]*$/;
const rule = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const definition =
  /^ *\[[^[\]]+\]:[ \t]*(?:<[^<>]*>|(?!<)(?:[^\s()]|\([^\s()]*\))+)(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/;
/** Of a row without white space. */
const delimiterRow = /^\|?:?-+:?(?:\|:?-+:?)*\|?$/;

/** Reads lines in their order. */
export function markdownReader(lines: SourceLines): (line: number) => MarkdownLine {
  const stack: Container[] = [];
  let leaf: Leaf = { kind: "none" };

  return (line) => {
    const source = columns(lines.textOf(line));
    let { depth, rest } = goesOn(stack, source);
    let inside = depth === stack.length;
    if (inside) {
      const more = leafGoesOn(rest, blank.test(source));
      if (more !== undefined) return more;
    } else if (leaf.kind !== "paragraph") leaf = { kind: "none" };

    for (;;) {
      const opened = depth < MAX_DEPTH ? container(rest, inside && leaf.kind === "paragraph") : undefined;
      if (opened === undefined) break;
      close(depth++, { kind: "none" });
      stack.push(opened.container);
      rest = opened.rest;
      inside = true;
    }
    if (blank.test(rest)) {
      close(depth, { kind: "none" });
      return { kind: blank.test(source) ? "blank" : "text" };
    }
    return leafStart(rest, line, depth, inside);
  };

  function close(depth: number, next: Leaf): void {
    stack.length = depth;
    leaf = next;
  }

  /** Code and HTML take lines as they are. `empty`: the whole line, not only what of it is inside. */
  function leafGoesOn(rest: string, empty: boolean): MarkdownLine | undefined {
    const isBlank = blank.test(rest);
    switch (leaf.kind) {
      case "fence": {
        const [, end = ""] = fenceEnd.exec(rest) ?? [];
        if (end.startsWith(leaf.mark)) leaf = { kind: "none" };
        return empty ? { kind: "blank" } : { kind: "code", begins: false };
      }
      case "html": {
        const { ends } = leaf;
        if (ends === undefined ? isBlank : ends.test(rest)) leaf = { kind: "none" };
        if (empty) return { kind: "blank" };
        return ends === undefined ? { kind: "text" } : { kind: "code", begins: false };
      }
      case "indented":
        if (isBlank) return { kind: "blank" };
        if (deep.test(rest)) return { kind: "code", begins: false };
        leaf = { kind: "none" };
        return undefined;
      case "paragraph":
      case "table":
      case "none":
        return undefined;
    }
  }

  /** `inside`: the line is in all lists and quotes of what is open. Where it is not, it may still go on with a paragraph. */
  function leafStart(rest: string, line: number, depth: number, inside: boolean): MarkdownLine {
    const paragraph = leaf.kind === "paragraph" ? leaf : undefined;
    if (deep.test(rest)) {
      if (paragraph === undefined && leaf.kind !== "table") {
        close(depth, { kind: "indented" });
        return { kind: "code", begins: true };
      }
    } else {
      const level = atx.exec(rest)?.[1]?.length;
      if (level !== undefined) {
        close(depth, { kind: "none" });
        return depth === 0 ? { kind: "heading", level, from: line } : { kind: "text" };
      }
      const [, ticks, tildes] = fence.exec(rest) ?? [];
      const mark = ticks ?? tildes;
      if (mark !== undefined) {
        close(depth, { kind: "fence", mark });
        return { kind: "code", begins: true };
      }
      const html = htmlStart(rest, paragraph !== undefined);
      if (html !== undefined) {
        close(depth, html.closed ? { kind: "none" } : { kind: "html", ends: html.ends });
        return html.ends === undefined ? { kind: "text" } : { kind: "code", begins: true };
      }
      const under = underline.exec(rest)?.[1];
      if (under !== undefined && paragraph !== undefined && inside && paragraph.from < line) {
        const { from } = paragraph;
        if (depth > 0 || line - from <= MAX_UNDERLINED) {
          leaf = { kind: "none" };
          return depth > 0 ? { kind: "text" } : { kind: "heading", level: under.startsWith("=") ? 1 : 2, from };
        }
      }
      if (isRule(rest)) {
        close(depth, { kind: "none" });
        return { kind: "text" };
      }
    }
    if (leaf.kind === "table") return { kind: "table" };
    if ((inside || paragraph === undefined) && isTable(lines, line)) {
      close(depth, { kind: "table" });
      return { kind: "table" };
    }
    const from = paragraph?.from ?? line;
    const next: Leaf = { kind: "paragraph", from: from === line && isDefinition(rest) ? line + 1 : from };
    if (paragraph === undefined) close(depth, next);
    else leaf = next;
    return { kind: "text" };
  }
}

/** Tabs as the spaces up to the next column of four. */
function columns(text: string): string {
  const prefix = text.slice(0, MAX_PREFIX);
  if (!prefix.includes("\t")) return text;
  let shift = 0;
  const spaced = prefix.replaceAll("\t", (_tab, at: number) => {
    const width = 4 - ((at + shift) % 4);
    shift += width - 1;
    return " ".repeat(width);
  });
  return spaced + text.slice(MAX_PREFIX);
}

/** How many of the lists and quotes a line is in, and what of it stands in the last. */
function goesOn(stack: readonly Container[], text: string): { depth: number; rest: string } {
  let rest = text;
  let depth = 0;
  let isBlank = blank.test(rest);
  for (const container of stack) {
    switch (container.kind) {
      case "quote": {
        const mark = quote.exec(rest)?.[0];
        if (mark === undefined) return { depth, rest };
        rest = rest.slice(mark.length);
        isBlank = blank.test(rest);
        break;
      }
      case "item":
        // An item that begins with two empty lines has ended.
        if (isBlank ? !container.filled : !rest.startsWith(" ".repeat(container.indent))) return { depth, rest };
        container.filled = true;
        rest = rest.slice(container.indent);
        break;
    }
    depth++;
  }
  return { depth, rest };
}

/** `interrupts`: a paragraph stands above, which few items may end. */
function container(rest: string, interrupts: boolean): { container: Container; rest: string } | undefined {
  const mark = quote.exec(rest)?.[0];
  if (mark !== undefined) return { container: { kind: "quote" }, rest: rest.slice(mark.length) };
  const [all = "", sign, number, space = ""] = item.exec(rest) ?? [];
  if (sign === undefined || isRule(rest)) return undefined;
  const filled = all.length < rest.length && !blank.test(rest.slice(all.length));
  if (interrupts && (!filled || (number !== undefined && Number(number) !== 1))) return undefined;
  // More space than four is the beginning of code.
  const indent = sign.length + (filled && space.length <= 4 ? space.length : 1);
  return { container: { kind: "item", indent, filled }, rest: rest.slice(indent) };
}

const isRule = (rest: string): boolean => rest.length <= MAX_ASKED && rule.test(rest);

const isDefinition = (rest: string): boolean => rest.length <= MAX_ASKED && definition.test(rest);

function isTable(lines: SourceLines, line: number): boolean {
  if (line >= lines.count || !lines.textOf(line).includes("|")) return false;
  const next = lines.textOf(line + 1);
  return next.length <= MAX_ASKED && next.includes("|") && delimiterRow.test(next.replaceAll(/\s/g, ""));
}
