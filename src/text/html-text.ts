// The text of an HTML page, as a reader sees it. Builds no tree: the work grows with the page's length alone, however its elements are
// nested or left open, and of open elements nothing is kept but counts.
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";
import { textLines, type Gap } from "./text-lines.ts";

/** Elements whose content is no text of the page. */
export const hiddenElements: ReadonlySet<string> = new Set([
  "script",
  "style",
  "title",
  "template",
  "iframe",
  "noframes",
  "noembed",
]);

const PARAGRAPHS = "p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr figure";
const LINES = `address article aside body caption dd details dialog div dt fieldset figcaption footer form header hgroup legend li main
  nav optgroup option search section select summary tbody textarea tfoot thead tr`;

const around = (gap: Gap, names: string): [string, Gap][] => names.split(/\s+/).map((name) => [name, gap]);
/** What stands around an element of this name. */
const blocks: ReadonlyMap<string, Gap> = new Map([
  ...around("paragraph", PARAGRAPHS),
  ...around("line", LINES),
  ...around("cell", "td th"),
]);

/** Lists within each other that are told apart. */
const MAX_LISTS = 64;
const MAX_INDENTED = 8;
/** UTF-16 units of a link's address; a longer one is not shown. */
const MAX_ADDRESS = 2048;

interface Link {
  address: string;
  /** What the link shows, as far as it may be the address itself. */
  shown: string;
}

/** At least the first `limit` characters of the text; the rest of the page is not looked at. */
export function htmlText(html: string, limit: number): string {
  const lines = textLines();
  /** Of each open list: the number of its last item, or nothing where items have none. */
  const lists: (number | undefined)[] = [];
  let pre = 0;
  /** A line end directly after `<pre>` is not part of its text. */
  let preBegins = false;
  let skipped: { name: string; depth: number } | undefined;
  let tag = "";
  let attribute = "";
  let address = "";
  let link: Link | undefined;

  function write(text: string): void {
    if (skipped !== undefined) return;
    if (pre > 0) {
      const lf = text.replaceAll("\r\n", "\n");
      lines.exact(preBegins && lf.startsWith("\n") ? lf.slice(1) : lf);
    } else lines.flow(text);
    preBegins = false;
    if (link !== undefined && link.shown.length <= MAX_ADDRESS) link.shown += text.slice(0, MAX_ADDRESS);
    // A character takes two units at most.
    if (lines.size() > 2 * limit) tokenizer.pause();
  }

  function closeLink(): void {
    const { address: to = "", shown = "" } = link ?? {};
    link = undefined;
    const said = shown.trim();
    if (said === "" || to === "" || to === said || /^(#|javascript:|data:)/i.test(to)) return;
    lines.exact(` [${to}]`);
  }

  function block(name: string): void {
    // A list within a list goes on from line to line.
    lines.gap((name === "ul" || name === "ol") && lists.length > 0 ? "line" : (blocks.get(name) ?? "none"));
  }

  function item(): void {
    const last = lists.at(-1);
    const indent = "  ".repeat(Math.min(Math.max(0, lists.length - 1), MAX_INDENTED));
    if (last !== undefined) lists[lists.length - 1] = last + 1;
    lines.mark(`${indent} ${last === undefined ? "*" : `${last + 1}.`} `);
  }

  function open(name: string): void {
    if (name === "br") {
      if (pre > 0) write("\n");
      else lines.lineBreak();
      return;
    }
    block(name);
    if (name === "pre") pre++;
    preBegins = name === "pre";
    if (name === "li") item();
    if ((name === "ul" || name === "ol") && lists.length < MAX_LISTS) lists.push(name === "ol" ? 0 : undefined);
    if (name === "a") {
      closeLink();
      const to = address.trim().replace(/^mailto:/i, "");
      if (to.length <= MAX_ADDRESS) link = { address: to, shown: "" };
    }
  }

  function close(name: string): void {
    if (name === "a") closeLink();
    if (name === "pre") pre = Math.max(0, pre - 1);
    if (name === "ul" || name === "ol") lists.pop();
    block(name);
  }

  function opened(closesItself: boolean): void {
    if (skipped !== undefined) {
      if (tag === skipped.name && !closesItself) skipped.depth++;
    } else if (hiddenElements.has(tag)) {
      if (!closesItself) skipped = { name: tag, depth: 1 };
    } else open(tag);
  }

  function closed(name: string): void {
    if (skipped === undefined) close(name);
    else if (name === skipped.name && --skipped.depth === 0) skipped = undefined;
  }

  const slice = (start: number, end: number): string => html.slice(start, end);
  const callbacks: TokenizerCallbacks = {
    ...silentCallbacks,
    ontext: (start, end) => write(slice(start, end)),
    ontextentity: (code) => write(String.fromCodePoint(code)),
    onopentagname(start, end) {
      tag = slice(start, end).toLowerCase();
      address = "";
    },
    onopentagend: () => opened(false),
    onselfclosingtag: () => opened(true),
    onclosetag: (start, end) => closed(slice(start, end).toLowerCase()),
    onattribname(start, end) {
      attribute = tag === "a" ? slice(start, end).toLowerCase() : "";
    },
    onattribdata(start, end) {
      if (attribute === "href" && address.length <= MAX_ADDRESS) address += slice(start, end);
    },
    onattribentity(code) {
      if (attribute === "href" && address.length <= MAX_ADDRESS) address += String.fromCodePoint(code);
    },
  };
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  if (skipped === undefined) closeLink();
  return lines.text();
}

const nothing = (): void => undefined;
/** What need not be read: attributes, comments, declarations, instructions. */
export const silentCallbacks = {
  onattribname: nothing,
  onattribdata: nothing,
  onattribentity: nothing,
  onattribend: nothing,
  oncdata: nothing,
  oncomment: nothing,
  ondeclaration: nothing,
  onend: nothing,
  onprocessinginstruction: nothing,
};
