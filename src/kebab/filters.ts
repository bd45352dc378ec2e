// Which documents a search is about. Every filter must hold.
import type { DocumentMedia, SearchFilters, TrustLevel } from "../../schemas/collection.ts";
import { globMatcher } from "./glob.ts";

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

/** Made once for all documents of a search. */
export function documentFilter(filters: SearchFilters): (document: FilteredDocument) => boolean {
  const { tags, lang, pathGlob, trustMin, media, ingestedAfter, docId } = filters;
  const isNamed = pathGlob === undefined ? () => true : globMatcher(pathGlob);
  return (document) =>
    (docId === undefined || document.docId === docId) &&
    (lang === undefined || document.lang?.toLowerCase() === lang.toLowerCase()) &&
    (trustMin === undefined || trusted[document.trust] >= trusted[trustMin]) &&
    (ingestedAfter === undefined || document.updatedAt > ingestedAfter) &&
    (tags === undefined || tags.some((tag) => document.tags.includes(tag))) &&
    (media === undefined || media.some((name) => mediaWords[document.media].includes(name.toLowerCase()))) &&
    isNamed(document.path);
}
