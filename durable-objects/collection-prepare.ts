// One document made ready to be written: parsed, cut into chunks, with their names. Reads and writes nothing.
import type { KeptDocument, NewDocument } from "../schemas/collection.ts";
import { CHUNK_SETTINGS, chunksOf, type Chunk } from "../src/kebab/chunker.ts";
import { parseDocument } from "../src/kebab/document.ts";
import { MAX_DOCUMENT_CHUNKS } from "../src/kebab/limits.ts";
import { CHUNKER_VERSION } from "../src/kebab/versions.ts";
import { toHex } from "../src/wire/hex.ts";
import type { KeptChunk } from "./collection-store.ts";

const ID_DIGITS = 32;
const encoder = new TextEncoder();

/** A document that changes the collection, ready to be written. */
export interface Prepared {
  given: NewDocument;
  /** From the document alone; a heading of it, or its file's name, where it has none of its own. */
  title: string;
  ownTitle: string | undefined;
  tags: string[];
  lang: string | undefined;
  trust: KeptDocument["trust"];
  chunks: KeptChunk[];
}

/** `undefined` when it makes too many chunks. */
export async function prepare(given: NewDocument): Promise<Prepared | undefined> {
  const parsed = parseDocument(given.media, given.source, given.words);
  if (!parsed.whole) return undefined;
  const chunks: Chunk[] = [];
  for (const chunk of chunksOf(parsed.blocks)) {
    if (chunks.length === MAX_DOCUMENT_CHUNKS) return undefined;
    chunks.push(chunk);
  }
  const { title, tags, lang, trust } = parsed;
  const firstHeading = chunks.find(({ headings }) => headings.length > 0)?.headings[0];
  const named = title ?? firstHeading ?? given.path.split("/").at(-1) ?? given.path;
  const kept = await Promise.all(chunks.map((chunk) => keep(given.docId, chunk)));
  return { given, title: named, ownTitle: title, tags, lang, trust, chunks: kept };
}

async function keep(docId: string, { headings, text, first, last, blocks }: Chunk): Promise<KeptChunk> {
  const { target, overlap, cap } = CHUNK_SETTINGS;
  const name = `${docId}\n${CHUNKER_VERSION}\n${target}/${overlap}/${cap}\n${blocks}`;
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(name));
  return { chunkId: toHex(new Uint8Array(hash)).slice(0, ID_DIGITS), headings, text, first, last };
}
