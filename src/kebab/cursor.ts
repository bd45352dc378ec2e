// Where a search goes on: an offset in the hits of one state of a collection.
import { fromBase64Url, toBase64Url } from "../wire/base64-url.ts";
import { asCount, asRecord, parseJson } from "../wire/json.ts";

export interface SearchCursor {
  offset: number;
  /** `corpus_revision` of the collection that was searched. */
  revision: number;
  /** Which of the collections that ever had this name. */
  epoch: number;
}

export function cursorText({ offset, revision, epoch }: SearchCursor): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify({ offset, corpus_revision: revision, epoch })));
}

/** `undefined` when it is none of ours. */
export function readCursor(text: string): SearchCursor | undefined {
  const bytes = fromBase64Url(text);
  const fields = bytes === undefined ? undefined : asRecord(parseJson(new TextDecoder().decode(bytes))?.value);
  const offset = asCount(fields?.["offset"]);
  const revision = asCount(fields?.["corpus_revision"]);
  if (offset === undefined || revision === undefined) return undefined;
  return { offset, revision, epoch: asCount(fields?.["epoch"]) ?? 0 };
}
