// A short piece of a chunk around the first term that a question asked for, on one line.
import { firstMatch } from "./terms.ts";

const CUT = "…";
/** Units that a cut on both sides and a character between them take. */
const MIN_CUT = 4;

/** At most `limit` UTF-16 units. */
export function snippetOf(text: string, terms: ReadonlySet<string>, limit: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  if (flat.length <= limit) return flat;
  if (limit < MIN_CUT) return CUT;
  const match = firstMatch(flat, terms) ?? 0;
  const wanted = Math.min(Math.max(0, match - Math.floor(limit / 4)), flat.length - limit);
  const start = wanted <= 0 ? 0 : wordStart(flat, wanted, match);
  const before = start === 0 ? "" : CUT;
  const room = limit - before.length;
  if (start + room >= flat.length) return (before + flat.slice(start)).toWellFormed();
  const end = start + room - CUT.length;
  const space = flat.lastIndexOf(" ", end);
  const cut = space > match && space > start + room / 2 ? space : end;
  return before + whole(flat.slice(start, cut)).trimEnd() + CUT;
}

/** The beginning of the next word, as long as that is not behind the match. */
function wordStart(text: string, from: number, match: number): number {
  const space = text.indexOf(" ", from - 1);
  if (space >= 0 && space + 1 <= match) return space + 1;
  // Not inside of a character.
  return isLow(text, from) ? from + 1 : from;
}

const isLow = (text: string, index: number): boolean => {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit < 0xe000;
};

const whole = (text: string): string => (text.isWellFormed() ? text : text.slice(0, -1));
