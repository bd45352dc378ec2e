// What indexed documents were made by. A change of any of these makes other ids, or other answers, and says so.
import type { DocumentMedia } from "../../schemas/collection.ts";

export const PARSER_VERSIONS: Record<DocumentMedia, string> = {
  markdown: "markdown-v1",
  text: "text-v1",
  html: "html-v1",
};
export const CHUNKER_VERSION = "heading-v1";
export const INDEX_VERSION = "fts5-bigram-v1";
