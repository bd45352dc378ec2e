// The object of one collection, named {tenant}/{collection}: its documents, their chunks and the index over them. A document is kept whole or not at all; asks no model.
import { DurableObject } from "cloudflare:workers";
import type {
  CollectionBreakdown,
  CollectionPage,
  CollectionStats,
  DocumentText,
  KeptDocument,
  NewDocument,
  PutAnswer,
  PutResult,
  SearchAnswer,
  SearchAsk,
} from "../schemas/collection.ts";
import { CHUNK_SETTINGS, chunksOf, type Chunk } from "../src/kebab/chunker.ts";
import { parseDocument } from "../src/kebab/document.ts";
import { termsOf } from "../src/kebab/terms.ts";
import { CHUNKER_VERSION, PARSER_VERSIONS } from "../src/kebab/versions.ts";
import { toHex } from "../src/wire/hex.ts";
import { searchCollection } from "./collection-search.ts";
import { collectionStore, PLACES, type DocumentRow, type KeptChunk } from "./collection-store.ts";
import { collectionTerms } from "./collection-terms.ts";

const MAX_DOCUMENTS = 10_000;
const MAX_BYTES = 100 * 1024 * 1024;
const MAX_CHUNKS = 250_000;
const MAX_DOCUMENT_CHUNKS = 20_000;
const ID_DIGITS = 32;
const encoder = new TextEncoder();

/** A document that changes the collection, ready to be written. */
interface Prepared {
  given: NewDocument;
  /** From the document alone; a heading of it, or its file's name, where it has none of its own. */
  title: string;
  ownTitle: string | undefined;
  tags: string[];
  lang: string | undefined;
  trust: KeptDocument["trust"];
  chunks: KeptChunk[];
}

export class CollectionObject extends DurableObject<Env> {
  #store = collectionStore(this.ctx.storage);
  #terms = collectionTerms(this.ctx.storage, PLACES);

  /** Keeps these documents, all of them or none. One that is kept already, equal in all, changes nothing. */
  async put(documents: NewDocument[]): Promise<PutAnswer> {
    const prepared = new Map<string, Prepared>();
    const isNews = (given: NewDocument): boolean => !prepared.has(given.path) && !this.#keeps(given);
    // Others may have changed the collection meanwhile: what was kept when it was looked for first may be gone.
    for (let news = documents.filter(isNews); news.length > 0; news = documents.filter(isNews)) {
      for (const given of news) {
        const one = await prepare(given);
        if (one === undefined) {
          return { put: false, refused: "too_many_chunks", path: given.path, limit: MAX_DOCUMENT_CHUNKS };
        }
        prepared.set(given.path, one);
      }
    }
    // From here on nothing else of this object runs in between.
    const full = this.#overfull([...prepared.values()]);
    if (full !== undefined) return { put: false, refused: "collection_full", ...full };
    return this.#write(documents, prepared);
  }

  /** `undefined` when there is no collection; false when it has no such document. */
  remove(path: string): boolean | undefined {
    if (!this.#store.exists()) return undefined;
    const row = this.#store.byPath(path);
    if (row === undefined) return false;
    this.#transaction(() => {
      this.#drop(row);
      const stats = this.#store.stats();
      this.#store.saveStats({
        ...stats,
        revision: stats.revision + 1,
        documents: stats.documents - 1,
        chunks: stats.chunks - row.chunks,
        bytes: stats.bytes - row.bytes,
      });
    });
    return true;
  }

  /** `undefined` when there is no collection. */
  page(after: string, limit: number): CollectionPage | undefined {
    if (!this.#store.exists()) return undefined;
    const rows = this.#store.page(after, limit + 1);
    return {
      stats: this.#store.stats(),
      documents: rows.slice(0, limit).map(keptOf),
      more: rows.length > limit,
    };
  }

  /** `undefined` when there is no collection, `null` when it has no such document. */
  read(path: string): DocumentText | null | undefined {
    if (!this.#store.exists()) return undefined;
    const row = this.#store.byPath(path);
    return row === undefined ? null : { document: keptOf(row), source: this.#store.source(row.id) };
  }

  search(ask: SearchAsk): SearchAnswer {
    return searchCollection(this.#store, this.#terms, ask);
  }

  /** What is in it; nothing is, when there is no collection. `staleMs`: 0: nothing ever is stale. */
  breakdown(staleMs: number): CollectionBreakdown {
    const staleBefore = staleMs === 0 ? 0 : Date.now() - staleMs;
    const indexBytes = this.#store.exists() ? this.ctx.storage.sql.databaseSize : 0;
    return { ...this.#store.stats(), ...this.#store.breakdown(staleBefore), indexBytes };
  }

  /** Forgets everything. False when there is nothing. */
  async forget(): Promise<boolean> {
    if (!this.#store.exists()) return false;
    await this.ctx.storage.deleteAll();
    this.#store.reread();
    return true;
  }

  #keeps({ path, fingerprint }: NewDocument): boolean {
    return this.#store.byPath(path)?.fingerprint === fingerprint;
  }

  #overfull(prepared: readonly Prepared[]) {
    const stats = this.#store.stats();
    const sum = { documents: stats.documents, bytes: stats.bytes, chunks: stats.chunks };
    for (const { given, chunks } of prepared) {
      const before = this.#store.byPath(given.path);
      sum.documents += before === undefined ? 1 : 0;
      sum.bytes += given.bytes - (before?.bytes ?? 0);
      sum.chunks += chunks.length - (before?.chunks ?? 0);
    }
    if (sum.documents > MAX_DOCUMENTS) return { what: "documents", limit: MAX_DOCUMENTS } as const;
    if (sum.bytes > MAX_BYTES) return { what: "bytes", limit: MAX_BYTES } as const;
    return sum.chunks > MAX_CHUNKS ? ({ what: "chunks", limit: MAX_CHUNKS } as const) : undefined;
  }

  #write(documents: readonly NewDocument[], prepared: ReadonlyMap<string, Prepared>): PutAnswer {
    const now = Date.now();
    const answers: { result: PutResult; document: KeptDocument }[] = [];
    this.#transaction(() => {
      const stats: CollectionStats = this.#store.stats();
      for (const given of documents) {
        const before = this.#store.byPath(given.path);
        const one = prepared.get(given.path);
        if (before?.fingerprint === given.fingerprint || one === undefined) {
          if (before !== undefined) answers.push({ result: "unchanged", document: keptOf(before) });
          continue;
        }
        const kept = this.#replace(before, one, now);
        stats.documents += before === undefined ? 1 : 0;
        stats.chunks += kept.chunks - (before?.chunks ?? 0);
        stats.bytes += kept.bytes - (before?.bytes ?? 0);
        answers.push({ result: before === undefined ? "new" : "updated", document: kept });
      }
      const changed = answers.some(({ result }) => result !== "unchanged");
      if (changed) this.#store.saveStats({ ...stats, revision: stats.revision + 1, lastIngestAt: now });
    });
    return { put: true, documents: answers };
  }

  #replace(before: DocumentRow | undefined, { given, ...own }: Prepared, now: number): KeptDocument {
    if (before !== undefined) this.#drop(before);
    const { title, tags, lang, trust, chunks } = own;
    const row = {
      path: given.path,
      docId: given.docId,
      fingerprint: given.fingerprint,
      media: given.media,
      title,
      tags,
      lang,
      trust,
      bytes: given.bytes,
      chunks: chunks.length,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      parserVersion: PARSER_VERSIONS[given.media],
      chunkerVersion: CHUNKER_VERSION,
    };
    const id = this.#store.save(row, before?.id);
    this.#store.saveSource(id, given.source);
    const ids = this.#store.saveChunks(id, chunks);
    // A title that stands in no heading is looked for as one.
    const heading = own.ownTitle === undefined ? [] : termsOf(own.ownTitle);
    for (const [index, { chunkId, headings, text }] of chunks.entries()) {
      const headed = [...heading, ...headings.flatMap(termsOf)];
      this.#terms.add(ids[index] ?? 0, { headings: headed, body: termsOf(text), chunkId });
    }
    return keptOf({ ...row, id });
  }

  #drop(row: DocumentRow): void {
    this.#terms.remove(this.#store.chunkRange(row.id));
    this.#store.remove(row.id);
  }

  /** What was read of the storage before it may have been written in a transaction that failed. */
  #transaction(write: () => void): void {
    try {
      this.ctx.storage.transactionSync(write);
    } finally {
      this.#store.reread();
    }
  }
}

/** `undefined` when it makes too many chunks. */
async function prepare(given: NewDocument): Promise<Prepared | undefined> {
  const parsed = parseDocument(given.media, given.source, given.words);
  if (!parsed.whole) return undefined;
  const chunks: Chunk[] = [];
  for (const chunk of chunksOf(parsed.blocks)) {
    if (chunks.length === MAX_DOCUMENT_CHUNKS) return undefined;
    chunks.push(chunk);
  }
  const { title, tags, lang, trust } = parsed;
  const named = title ?? chunks[0]?.headings[0] ?? given.path.split("/").at(-1) ?? given.path;
  const kept = await Promise.all(chunks.map((chunk) => keep(given.docId, chunk)));
  return { given, title: named, ownTitle: title, tags, lang, trust, chunks: kept };
}

async function keep(docId: string, { headings, text, first, last, blocks }: Chunk): Promise<KeptChunk> {
  const { target, overlap, cap } = CHUNK_SETTINGS;
  const name = `${docId}\n${CHUNKER_VERSION}\n${target}/${overlap}/${cap}\n${blocks}`;
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(name));
  return { chunkId: toHex(new Uint8Array(hash)).slice(0, ID_DIGITS), headings, text, first, last };
}

function keptOf({ id: _id, fingerprint: _fingerprint, ...document }: DocumentRow): KeptDocument {
  return document;
}
