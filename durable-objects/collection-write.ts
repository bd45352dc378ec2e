// The transactions of a collection: documents that are ready are kept, all of them or none, and one that is there is forgotten. Computes nothing that could be computed before.
import type { CollectionStats, KeptDocument, NewDocument, PutAnswer, PutResult } from "../schemas/collection.ts";
import type { KeptDocuments } from "../src/kebab/ingest-report.ts";
import { CHUNKER_VERSION, PARSER_VERSIONS } from "../src/kebab/versions.ts";
import type { Vectors } from "../src/providers/embed-answer.ts";
import type { Prepared } from "./collection-prepare.ts";
import { keptOf, type CollectionStore, type DocumentRow } from "./collection-store.ts";
import type { CollectionTerms } from "./collection-terms.ts";
import type { CollectionVectors } from "./collection-vectors.ts";

/** Documents and their vectors, by path. */
export interface Ready {
  prepared: ReadonlyMap<string, Prepared>;
  made: ReadonlyMap<string, Vectors>;
  /** Of the vectors that were made. */
  version: string;
}

export interface CollectionWrite {
  /** Whether a document is embedded in this version. One without chunks is. */
  isEmbedded(path: string, version: string): boolean;
  /** `keeping`: what it writes is kept with the documents, or not at all. */
  keep(documents: readonly NewDocument[], ready: Ready, keeping: (documents: KeptDocuments) => void): PutAnswer;
  /** `undefined` when there is no collection; false when it has no such document. */
  remove(path: string): boolean | undefined;
}

export interface WriteParts {
  storage: DurableObjectStorage;
  store: CollectionStore;
  terms: CollectionTerms;
  vectors: CollectionVectors;
}

export function collectionWrite({ storage, store, terms, vectors }: WriteParts): CollectionWrite {
  /** What was read of the storage before it may have been written in a transaction that failed. */
  const transaction = (write: () => void): void => {
    try {
      storage.transactionSync(write);
    } finally {
      store.reread();
      vectors.reread();
    }
  };

  function drop(row: DocumentRow): void {
    terms.remove(store.chunkRange(row.id));
    vectors.remove(row.id);
    store.remove(row.id);
  }

  function replace(
    before: DocumentRow | undefined,
    { given, ...own }: Prepared,
    made: (Vectors & { version: string }) | undefined,
    now: number,
  ): KeptDocument {
    if (before !== undefined) drop(before);
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
    const id = store.save(row, before?.id);
    store.saveSource(id, given.source);
    const ids = store.saveChunks(id, chunks);
    for (const [index, chunk] of chunks.entries()) terms.add(ids[index] ?? 0, chunk.chunkId, chunk.terms);
    if (made !== undefined) {
      vectors.use(made.version, made.dimensions);
      vectors.save(id, made.numbers);
    }
    return keptOf({ ...row, id });
  }

  function isEmbedded(path: string, version: string): boolean {
    const row = store.byPath(path);
    return row !== undefined && (row.chunks === 0 || (vectors.state()?.version === version && vectors.has(row.id)));
  }

  return {
    isEmbedded,
    keep(documents, { prepared, made, version }, keeping) {
      const now = Date.now();
      // Others may have embedded it meanwhile. Their vectors count as long as they can be compared with these.
      const isKeptWith = (path: string, { dimensions }: Vectors): boolean =>
        isEmbedded(path, version) && vectors.state()?.dimensions === dimensions;
      const answers: { result: PutResult; document: KeptDocument }[] = [];
      transaction(() => {
        const stats: CollectionStats = store.stats();
        for (const given of documents) {
          const before = store.byPath(given.path);
          const one = prepared.get(given.path);
          const own = made.get(given.path);
          const isKept =
            before?.fingerprint === given.fingerprint && (own === undefined || isKeptWith(given.path, own));
          if (isKept || one === undefined) {
            if (before !== undefined) answers.push({ result: "unchanged", document: keptOf(before) });
            continue;
          }
          const kept = replace(before, one, own && { ...own, version }, now);
          stats.documents += before === undefined ? 1 : 0;
          stats.chunks += kept.chunks - (before?.chunks ?? 0);
          stats.bytes += kept.bytes - (before?.bytes ?? 0);
          answers.push({ result: before === undefined ? "new" : "updated", document: kept });
        }
        const changed = answers.some(({ result }) => result !== "unchanged");
        if (changed) store.saveStats({ ...stats, revision: stats.revision + 1, lastIngestAt: now });
        keeping(answers);
      });
      return { put: true, documents: answers };
    },
    remove(path) {
      if (!store.exists()) return undefined;
      const row = store.byPath(path);
      if (row === undefined) return false;
      transaction(() => {
        drop(row);
        const stats = store.stats();
        store.saveStats({
          ...stats,
          revision: stats.revision + 1,
          documents: stats.documents - 1,
          chunks: stats.chunks - row.chunks,
          bytes: stats.bytes - row.bytes,
        });
      });
      return true;
    },
  };
}
