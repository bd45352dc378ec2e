// Which documents a search is about. Every filter must hold.
import type { DocumentMedia, SearchFilters, TrustLevel } from "../../schemas/collection.ts";

export interface FilteredDocument {
  docId: string;
  path: string;
  media: DocumentMedia;
  tags: readonly string[];
  lang: string | undefined;
  trust: TrustLevel;
  /** Unix epoch, milliseconds. */
  updatedAt: number;
}

const trusted: Record<TrustLevel, number> = { primary: 2, secondary: 1, generated: 0 };
const mediaWords: Record<DocumentMedia, readonly string[]> = {
  markdown: ["markdown", "md"],
  text: ["text", "txt", "other"],
  html: ["html", "other"],
};

export const hasFilters = (filters: SearchFilters): boolean =>
  Object.values(filters).some((value) => value !== undefined);

export function passes(document: FilteredDocument, filters: SearchFilters): boolean {
  const { tags, lang, pathGlob, trustMin, media, ingestedAfter, docId } = filters;
  return (
    (docId === undefined || document.docId === docId) &&
    (lang === undefined || document.lang?.toLowerCase() === lang.toLowerCase()) &&
    (trustMin === undefined || trusted[document.trust] >= trusted[trustMin]) &&
    (ingestedAfter === undefined || document.updatedAt > ingestedAfter) &&
    (tags === undefined || tags.some((tag) => document.tags.includes(tag))) &&
    (media === undefined || media.some((name) => mediaWords[document.media].includes(name.toLowerCase()))) &&
    (pathGlob === undefined || matchesGlob(document.path, pathGlob))
  );
}

/** `*` is any text, slashes too; `?` one character. The work is at most the product of both lengths. */
export function matchesGlob(text: string, glob: string): boolean {
  let at = 0;
  let place = 0;
  /** Where to go on when what follows the last star does not fit. */
  let retry: { at: number; place: number } | undefined;
  while (at < text.length) {
    const sign = glob[place];
    if (sign === "*") {
      retry = { at, place: ++place };
    } else if (sign === text[at] || (sign === "?" && place < glob.length)) {
      at++;
      place++;
    } else if (retry !== undefined) {
      retry.at++;
      ({ at, place } = retry);
    } else return false;
  }
  while (glob[place] === "*") place++;
  return place === glob.length;
}
