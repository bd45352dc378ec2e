// Where HTML begins in Markdown, and what ends it, by the kinds of CommonMark. Reads no HTML.

export interface HtmlStart {
  /** What ends it; without, the next empty line. */
  ends: RegExp | undefined;
  /** It ends on the line on which it begins. */
  closed: boolean;
}

/** What no empty line ends. */
const raw: readonly (readonly [RegExp, RegExp])[] = [
  [/^ {0,3}<(?:pre|script|style|textarea)(?:\s|>|$)/i, /<\/(?:pre|script|style|textarea)>/i],
  [/^ {0,3}<!--/, /-->/],
  [/^ {0,3}<\?/, /\?>/],
  [/^ {0,3}<![a-z]/i, />/],
  [/^ {0,3}<!\[CDATA\[/, /\]\]>/],
];

const names =
  "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead title tr track ul";
const block = new RegExp(String.raw`^ {0,3}</?(?:${names.replaceAll(" ", "|")})(?:\s|/?>|$)`, "i");

/** Any other tag, alone on its line. */
const alone =
  /^ {0,3}<(?:[a-z][a-z0-9-]*(?:\s+[a-z_:][\w:.-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?|\/[a-z][a-z0-9-]*\s*)>\s*$/i;
/** UTF-16 units of a line with such a tag. */
const MAX_ALONE = 1000;

/** `interrupts`: a paragraph stands above, which a tag alone on its line does not end. */
export function htmlStart(text: string, interrupts: boolean): HtmlStart | undefined {
  const ends = raw.find(([begins]) => begins.test(text))?.[1];
  if (ends !== undefined) return { ends, closed: ends.test(text) };
  const found = block.test(text) || (!interrupts && text.length <= MAX_ALONE && alone.test(text));
  return found ? { ends: undefined, closed: false } : undefined;
}
