// The documents of a collection as the page lists them. Pure.
import { type Fields, listIn, numberIn, textIn } from "../fields.ts";

export type DocumentRow = {
  readonly docPath: string;
  readonly title: string;
  readonly bytes: number;
  readonly passages: number;
  readonly updatedAt: string;
};

export type DocumentPage = {
  readonly rows: readonly DocumentRow[];
  /** Documents of the whole collection. */
  readonly count: number;
  /** Where the next page begins; null: there is none. */
  readonly next: string | null;
};

export const noDocuments: DocumentPage = { rows: [], count: 0, next: null };

/** Of a collection.v1. */
export const documentsIn = (collection: Fields): DocumentPage => ({
  rows: listIn(collection, "documents").flatMap((found) => {
    const docPath = textIn(found, "doc_path");
    if (docPath === undefined) return [];
    return {
      docPath,
      title: textIn(found, "title") ?? "",
      bytes: numberIn(found, "byte_len") ?? 0,
      passages: numberIn(found, "chunk_count") ?? 0,
      updatedAt: textIn(found, "updated_at") ?? "",
    };
  }),
  count: numberIn(collection, "doc_count") ?? 0,
  next: textIn(collection, "next_after") ?? null,
});

/** The page that was there, and the one behind it. */
export const withMore = (before: DocumentPage, more: DocumentPage): DocumentPage => ({
  ...more,
  rows: [...before.rows, ...more.rows],
});
