// The terms of a text: the one definition that the index, queries and snippets share. Words without case and accents; scripts that put no space between words as pairs of characters.
import { stopWords } from "./stop-words.ts";

const UNSPACED = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
const word = /[\p{L}\p{N}\p{M}]+/gu;
const asciiWord = /[a-z0-9]+/g;
const ascii = /^[\0-\x7f]*$/;
const unspaced = new RegExp(`[${UNSPACED}]`, "u");
const stretch = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, "gu");
/** Units of a term: more of what is no word is not needed to find it. */
const MAX_TERM = 64;
/** Terms of a query: of a longer question the first ones count. */
const MAX_TERMS = 64;

/** All terms of a text, in order, as they are indexed. */
export function termsOf(text: string): string[] {
  if (ascii.test(text)) return (text.toLowerCase().match(asciiWord) ?? []).map(cutTerm);
  return (normalized(text).match(word) ?? []).flatMap((found) =>
    unspaced.test(found) ? (found.match(stretch) ?? []).flatMap(pairsOf) : [cutTerm(found)],
  );
}

/** The distinct terms that a question is looked for by. */
export function queryTerms(question: string): string[] {
  const all = [...new Set(termsOf(question))];
  const telling = all.filter((term) => term.length > 1 && !stopWords.has(term));
  return (telling.length > 0 ? telling : all).slice(0, MAX_TERMS);
}

/** Where in a text the first of these terms is, in UTF-16 units; `undefined` when none is. */
export function firstMatch(text: string, terms: ReadonlySet<string>): number | undefined {
  for (const { index, 0: found } of text.matchAll(word)) {
    if (!termsOf(found).some((term) => terms.has(term))) continue;
    if (!unspaced.test(found)) return index;
    const characters = Array.from(found);
    let at = index;
    for (const [place, character] of characters.entries()) {
      const here = characters.slice(place, place + 2).join("");
      if (termsOf(here).some((term) => terms.has(term))) return at;
      at += character.length;
    }
    return index;
  }
  return undefined;
}

/** Accents, and the points of scripts that are mostly written without them. The marks of other scripts are vowels, and stay. */
const accents = /[\u0300-\u036f\u0640]|(?=[\p{scx=Hebrew}\p{scx=Arabic}\p{scx=Syriac}])\p{Mn}/gu;

function normalized(text: string): string {
  const plain = text.normalize("NFKD").replaceAll(accents, "").normalize("NFKC").toLowerCase();
  return plain.replaceAll("ς", "σ").replaceAll("ß", "ss");
}

/** Never inside of a character: what is left of one is no letter. */
function cutTerm(term: string): string {
  if (term.length <= MAX_TERM) return term;
  const cut = term.slice(0, MAX_TERM);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

function pairsOf(run: string): string[] {
  if (!unspaced.test(run)) return [cutTerm(run)];
  const characters = Array.from(run);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}
