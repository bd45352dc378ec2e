// What indexed documents were made by. A change of any of these makes other ids, or other answers, and says so.
import type { DocumentMedia } from "../../schemas/collection.ts";

export const PARSER_VERSIONS: Record<DocumentMedia, string> = {
  markdown: "markdown-v2",
  text: "text-v1",
  html: "html-v1",
};
export const CHUNKER_VERSION = "heading-v1";
/** Of the rules and the form in which a model is given sources. */
export const PROMPT_VERSION = "rag-v4";
/** The same, of a question that is split into others. */
export const MULTI_HOP_VERSION = "rag-multi-hop-v2";
export const INDEX_VERSION = "fts5-bigram-v2";
