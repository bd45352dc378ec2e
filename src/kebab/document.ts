// A document as it is indexed: what it says of itself, and its blocks.
import type { DocumentMedia, DocumentWords, TrustLevel } from "../../schemas/collection.ts";
import type { Block } from "./blocks.ts";
import { frontMatter } from "./front-matter.ts";
import { htmlPage } from "./html-blocks.ts";
import { markdownBlocks } from "./markdown-blocks.ts";
import { plainBlocks } from "./plain-blocks.ts";

export interface ParsedDocument {
  /** What it calls itself outside of its headings. */
  title: string | undefined;
  tags: string[];
  lang: string | undefined;
  trust: TrustLevel;
  blocks: Iterable<Block>;
  /** False when it has too many parts to be taken. */
  whole: boolean;
}

/** `words`: what whoever hands it in says of it, before what it says itself. */
export function parseDocument(media: DocumentMedia, source: string, words: DocumentWords): ParsedDocument {
  const said = (own: Partial<DocumentWords>) => ({
    title: words.title ?? own.title,
    tags: words.tags ?? own.tags ?? [],
    lang: words.lang ?? own.lang,
    trust: words.trust ?? own.trust ?? "primary",
  });
  switch (media) {
    case "text":
      return { ...said({}), blocks: plainBlocks(source), whole: true };
    case "html": {
      const { title, blocks, whole } = htmlPage(source);
      return { ...said(title === "" ? {} : { title }), blocks, whole };
    }
    case "markdown": {
      const { last, fields } = frontMatter(source);
      return { ...said(ownWords(fields)), blocks: markdownBlocks(source, last + 1), whole: true };
    }
  }
}

const MAX_WORD = 256;
const MAX_TAGS = 64;

function ownWords(fields: ReadonlyMap<string, readonly string[]>): Partial<DocumentWords> {
  const first = (...names: string[]): string | undefined => {
    const found = names.map((name) => fields.get(name)?.[0]).find((value) => value !== undefined);
    return found?.slice(0, MAX_WORD).toWellFormed();
  };
  const title = first("title");
  const lang = first("lang", "language");
  const trust = first("trust_level", "trust");
  const tags = fields.get("tags")?.map((tag) => tag.slice(0, MAX_WORD).toWellFormed());
  return {
    ...(title !== undefined && { title }),
    ...(lang !== undefined && { lang }),
    ...(tags !== undefined && { tags: tags.slice(0, MAX_TAGS) }),
    ...((trust === "primary" || trust === "secondary" || trust === "generated") && { trust }),
  };
}
