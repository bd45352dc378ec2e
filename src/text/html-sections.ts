// An HTML page cut where its headings, code, tables and paragraphs begin, each with the stretch of the page that it came from. Builds no tree; the work grows with the page's length alone.
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";
import { hiddenElements, htmlText, silentCallbacks } from "./html-text.ts";

export interface HtmlSection {
  kind: "heading" | "text" | "code" | "table";
  /** 1 to 6; 0 for what is no heading. */
  level: number;
  text: string;
  /** Offsets in the page; `to` is not included. */
  from: number;
  to: number;
}

export interface HtmlSections {
  title: string;
  sections: HtmlSection[];
  /** False when the page has more sections than may be made of it. */
  whole: boolean;
}

interface Cut {
  at: number;
  kind: HtmlSection["kind"];
  level: number;
  /** Whether there is any text up to the next cut. */
  says: boolean;
}

const MAX_CUTS = 100_000;
/** UTF-16 units of the page: shorter stretches of text are not cut further. */
const MIN_TEXT = 400;
const paragraphs = new Set(
  "p ul ol dl blockquote div section article aside main header footer nav figure hr form details".split(" "),
);

export function htmlSections(html: string): HtmlSections {
  const cuts: Cut[] = [{ at: 0, kind: "text", level: 0, says: false }];
  let whole = true;
  let tag = "";
  let tagAt = 0;
  let skipped: { name: string; depth: number } | undefined;
  let held: { name: string; depth: number } | undefined;
  let title = "";
  let inTitle = false;

  function cut(at: number, kind: HtmlSection["kind"], level: number): void {
    const last = cuts.at(-1);
    // Nothing was said up to here: the last cut is not needed.
    if (last !== undefined && !last.says) {
      Object.assign(last, { at, kind, level });
      return;
    }
    if (cuts.length === MAX_CUTS) {
      whole = false;
      tokenizer.pause();
      return;
    }
    cuts.push({ at, kind, level, says: false });
  }

  function open(): void {
    if (tag === held?.name) held.depth++;
    if (held !== undefined) return;
    const level = /^h([1-6])$/.exec(tag)?.[1];
    if (level !== undefined) cut(tagAt, "heading", Number(level));
    else if (tag === "pre") cut(tagAt, "code", 0);
    else if (tag === "table") cut(tagAt, "table", 0);
    else if (paragraphs.has(tag) && tagAt - (cuts.at(-1)?.at ?? 0) >= MIN_TEXT) cut(tagAt, "text", 0);
    if (level !== undefined || tag === "pre" || tag === "table") held = { name: tag, depth: 1 };
  }

  function opened(closesItself: boolean): void {
    if (skipped !== undefined) {
      if (tag === skipped.name && !closesItself) skipped.depth++;
    } else if (hiddenElements.has(tag)) {
      inTitle = tag === "title" && title === "" && !closesItself;
      if (!closesItself) skipped = { name: tag, depth: 1 };
    } else open();
  }

  function closed(name: string, behind: number): void {
    if (skipped !== undefined) {
      if (name === skipped.name && --skipped.depth === 0) skipped = undefined;
      inTitle = false;
    } else if (name === held?.name && --held.depth === 0) {
      held = undefined;
      cut(behind, "text", 0);
    }
  }

  function said(text: string): void {
    if (inTitle) title += text;
    const last = cuts.at(-1);
    if (skipped === undefined && last !== undefined) last.says ||= /\S/.test(text);
  }

  const callbacks: TokenizerCallbacks = {
    ...silentCallbacks,
    ontext: (start, end) => said(html.slice(start, end)),
    ontextentity: (code) => said(String.fromCodePoint(code)),
    onopentagname(start, end) {
      tag = html.slice(start, end).toLowerCase();
      tagAt = start - 1;
    },
    onopentagend: () => opened(false),
    onselfclosingtag: () => opened(true),
    onclosetag(start, end) {
      const behind = html.indexOf(">", end) + 1;
      closed(html.slice(start, end).toLowerCase(), behind === 0 ? html.length : behind);
    },
  };
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  const sections = cuts.flatMap(({ at, kind, level, says }, index): HtmlSection[] => {
    const to = cuts[index + 1]?.at ?? html.length;
    const text = says ? htmlText(html.slice(at, to), Number.POSITIVE_INFINITY) : "";
    return text.trim() === "" ? [] : [{ kind, level, text, from: at, to }];
  });
  return { title: title.replaceAll(/\s+/g, " ").trim(), sections, whole };
}
