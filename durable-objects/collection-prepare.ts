// One document made ready to be written: parsed, cut into chunks, with their names and terms. Reads and writes nothing.
import type { KeptDocument, NewDocument } from "../schemas/collection.ts";
import { CHUNK_SETTINGS, chunksOf, type Chunk } from "../src/kebab/chunker.ts";
import { parseDocument } from "../src/kebab/document.ts";
import { MAX_DOCUMENT_CHUNKS } from "../src/kebab/limits.ts";
import { termsOf } from "../src/kebab/terms.ts";
import { CHUNKER_VERSION } from "../src/kebab/versions.ts";
import { toHex } from "../src/wire/hex.ts";
import type { KeptChunk } from "./collection-store.ts";
import type { IndexedTerms } from "./collection-terms.ts";
import type { Turns } from "./turns.ts";

const ID_DIGITS = 32;
const encoder = new TextEncoder();

export type PreparedChunk = KeptChunk & { terms: IndexedTerms };

/** A document that changes the collection, ready to be written. */
export interface Prepared {
  given: NewDocument;
  /** From the document alone; a heading of it, or its file's name, where it has none of its own. */
  title: string;
  ownTitle: string | undefined;
  tags: string[];
  lang: string | undefined;
  trust: KeptDocument["trust"];
  chunks: PreparedChunk[];
}

/** `undefined` when it makes too many chunks. */
export async function prepare(given: NewDocument, { after }: Turns): Promise<Prepared | undefined> {
  const parsed = parseDocument(given.media, given.source, given.words);
  if (!parsed.whole) return undefined;
  const { title, tags, lang, trust } = parsed;
  const headed = headingTerms(title);
  const chunks: PreparedChunk[] = [];
  for (const chunk of chunksOf(parsed.blocks)) {
    if (chunks.length === MAX_DOCUMENT_CHUNKS) return undefined;
    const { headings, text, first, last } = chunk;
    const terms = { headings: headed(headings), body: termsOf(text).join(" ") };
    chunks.push({ chunkId: await chunkIdOf(given.docId, chunk), headings, text, first, last, terms });
    await after(text.length);
  }
  const firstHeading = chunks.find(({ headings }) => headings.length > 0)?.headings[0];
  const named = title ?? firstHeading ?? given.path.split("/").at(-1) ?? given.path;
  return { given, title: named, ownTitle: title, tags, lang, trust, chunks };
}

/** Of each heading once, however many chunks are below it. A title that stands in no heading is looked for as one. */
function headingTerms(title: string | undefined): (headings: readonly string[]) => string[] {
  const known = new Map<string, string>();
  const of = (heading: string): string => {
    const terms = known.get(heading) ?? termsOf(heading).join(" ");
    known.set(heading, terms);
    return terms;
  };
  return (headings) => (title === undefined ? headings : [title, ...headings]).map(of);
}

async function chunkIdOf(docId: string, { blocks }: Chunk): Promise<string> {
  const { target, overlap, cap } = CHUNK_SETTINGS;
  const name = `${docId}\n${CHUNKER_VERSION}\n${target}/${overlap}/${cap}\n${blocks}`;
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(name));
  return toHex(new Uint8Array(hash)).slice(0, ID_DIGITS);
}
