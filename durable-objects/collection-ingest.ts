// Documents on their way into a collection, and out of it: all of them are made ready first, then written in one transaction, or none is. Embeds where it is told who does.
import type { CollectionStats, KeptDocument, NewDocument, PutAnswer, PutResult } from "../schemas/collection.ts";
import type { EmbedPlan } from "../schemas/embedding.ts";
import type { Failure } from "../schemas/failure.ts";
import { termsOf } from "../src/kebab/terms.ts";
import { CHUNKER_VERSION, PARSER_VERSIONS } from "../src/kebab/versions.ts";
import { MAX_VECTORS, otherDimensions, type CollectionEmbedding } from "./collection-embedding.ts";
import type { KeptDocuments } from "../src/kebab/ingest-report.ts";
import { MAX_BYTES, MAX_CHUNKS, MAX_DOCUMENT_CHUNKS, MAX_DOCUMENTS } from "../src/kebab/limits.ts";
import { prepare, type Prepared } from "./collection-prepare.ts";
import { keptOf, type CollectionStore, type DocumentRow } from "./collection-store.ts";
import type { CollectionTerms } from "./collection-terms.ts";
import type { CollectionVectors } from "./collection-vectors.ts";
import type { Vectors } from "../src/providers/embed-answer.ts";

/** UTF-16 units of documents after which others have their turn; each document counts for some more. */
const TURN_UNITS = 65_536;
const DOCUMENT_UNITS = 512;

/** Who wants to know how far an ingest is. Before `keeping`, nothing of what it is told is kept. */
export interface IngestWatch {
  started(document: NewDocument): void;
  chunked(document: NewDocument, chunks: number): void;
  /** So many chunks are on their way to the model that embeds them. */
  embedding(chunks: number): void;
  embedded(chunks: number): void;
  /** Asked between documents, and in the turn that writes them. */
  isCancelled(): boolean;
  /** All documents can be written, as the collection is now. They are when this resolves, unless the collection has changed meanwhile. */
  ready(): Promise<void>;
  /** Inside the transaction: what is written here is kept with the documents, or not at all. */
  keeping(documents: KeptDocuments): void;
}

const nobody: IngestWatch = {
  started() {},
  chunked() {},
  embedding() {},
  embedded() {},
  isCancelled: () => false,
  ready: () => Promise.resolve(),
  keeping() {},
};

export type IngestAnswer = PutAnswer | { put: false; refused: "cancelled" };
type IngestRefusal = Extract<IngestAnswer, { put: false }>;

interface Ready {
  prepared: ReadonlyMap<string, Prepared>;
  /** By path. */
  made: ReadonlyMap<string, Vectors>;
  /** Of the vectors that were made. */
  version: string;
}

export interface CollectionIngest {
  /**
   * Keeps these documents, all of them or none. One that is kept already, equal in all, changes nothing; but for one that is not embedded
   * by this plan's model, which is kept anew.
   */
  put(documents: readonly NewDocument[], watch?: IngestWatch, embed?: EmbedPlan): Promise<IngestAnswer>;
  /** `undefined` when there is no collection; false when it has no such document. */
  remove(path: string): boolean | undefined;
}

/** Searches and other calls that wait are answered before this resolves. Time stands still while an object computes: it cannot be asked for the right moment. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

export interface CollectionParts {
  storage: DurableObjectStorage;
  store: CollectionStore;
  terms: CollectionTerms;
  vectors: CollectionVectors;
  embedding: CollectionEmbedding;
}

export function collectionIngest({ storage, store, terms, vectors, embedding }: CollectionParts): CollectionIngest {
  /** What was read of the storage before it may have been written in a transaction that failed. */
  const transaction = (write: () => void): void => {
    try {
      storage.transactionSync(write);
    } finally {
      store.reread();
      vectors.reread();
    }
  };

  const keeps = ({ path, fingerprint }: NewDocument): boolean => store.byPath(path)?.fingerprint === fingerprint;

  /** Whether a document is embedded as this plan would have it. One without chunks is. */
  function isEmbedded(path: string, { version }: Pick<EmbedPlan, "version">): boolean {
    const row = store.byPath(path);
    return row !== undefined && (row.chunks === 0 || (vectors.state()?.version === version && vectors.has(row.id)));
  }

  /** What the collection would hold with these documents. */
  function sumWith(prepared: Iterable<Prepared>) {
    const { documents, bytes, chunks: chunkCount } = store.stats();
    const sum = { documents, bytes, chunks: chunkCount };
    for (const { given, chunks } of prepared) {
      const before = store.byPath(given.path);
      sum.documents += before === undefined ? 1 : 0;
      sum.bytes += given.bytes - (before?.bytes ?? 0);
      sum.chunks += chunks.length - (before?.chunks ?? 0);
    }
    return sum;
  }

  function overfull(sum: ReturnType<typeof sumWith>) {
    if (sum.documents > MAX_DOCUMENTS) return { what: "documents", limit: MAX_DOCUMENTS } as const;
    if (sum.bytes > MAX_BYTES) return { what: "bytes", limit: MAX_BYTES } as const;
    return sum.chunks > MAX_CHUNKS ? ({ what: "chunks", limit: MAX_CHUNKS } as const) : undefined;
  }

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
    // A title that stands in no heading is looked for as one.
    const heading = own.ownTitle === undefined ? [] : termsOf(own.ownTitle);
    for (const [index, { chunkId, headings, text }] of chunks.entries()) {
      const headed = [...heading, ...headings.flatMap(termsOf)];
      terms.add(ids[index] ?? 0, { headings: headed, body: termsOf(text), chunkId });
    }
    if (made !== undefined) {
      vectors.use(made.version, made.dimensions);
      vectors.save(id, made.numbers);
    }
    return keptOf({ ...row, id });
  }

  function write(documents: readonly NewDocument[], { prepared, made, version }: Ready, watch: IngestWatch): PutAnswer {
    const now = Date.now();
    // Others may have embedded it meanwhile. Their vectors count as long as they can be compared with these.
    const isKeptWith = (path: string, { dimensions }: Vectors): boolean =>
      isEmbedded(path, { version }) && vectors.state()?.dimensions === dimensions;
    const answers: { result: PutResult; document: KeptDocument }[] = [];
    transaction(() => {
      const stats: CollectionStats = store.stats();
      for (const given of documents) {
        const before = store.byPath(given.path);
        const one = prepared.get(given.path);
        const own = made.get(given.path);
        const isKept = before?.fingerprint === given.fingerprint && (own === undefined || isKeptWith(given.path, own));
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
      watch.keeping(answers);
    });
    return { put: true, documents: answers };
  }

  /** Adds the vectors of these documents to those that were made. */
  async function embedAll(
    plan: EmbedPlan,
    bare: readonly Prepared[],
    made: Map<string, Vectors>,
    watch: IngestWatch,
  ): Promise<Failure | "cancelled" | undefined> {
    const answer = await embedding.documents(plan, bare, watch);
    if (!answer.embedded) return answer.failure;
    for (const [path, vectorsOf] of answer.vectors) made.set(path, vectorsOf);
    return new Set([...made.values()].map(({ dimensions }) => dimensions)).size > 1 ? otherDimensions : undefined;
  }

  /** Makes ready what is not kept as it is to be. Answers with why it cannot be kept at all. */
  async function prepareNews(
    documents: readonly NewDocument[],
    prepared: Map<string, Prepared>,
    watch: IngestWatch,
    embed: EmbedPlan | undefined,
  ): Promise<IngestRefusal | undefined> {
    const isNews = (given: NewDocument): boolean => {
      if (prepared.has(given.path)) return false;
      const mayEmbed = embed !== undefined && store.stats().chunks <= MAX_VECTORS;
      return !keeps(given) || (mayEmbed && !isEmbedded(given.path, embed));
    };
    let units = 0;
    // Others may have changed the collection meanwhile: what was kept when it was looked for first may be gone.
    for (let news = documents.filter(isNews); news.length > 0; news = documents.filter(isNews)) {
      for (const given of news) {
        if (watch.isCancelled()) return { put: false, refused: "cancelled" };
        watch.started(given);
        const one = await prepare(given);
        if (one === undefined) {
          return { put: false, refused: "too_many_chunks", path: given.path, limit: MAX_DOCUMENT_CHUNKS };
        }
        watch.chunked(given, one.chunks.length);
        prepared.set(given.path, one);
        units += given.source.length + DOCUMENT_UNITS;
        if (units >= TURN_UNITS) {
          units = 0;
          await nextTurn();
        }
      }
    }
    return watch.isCancelled() ? { put: false, refused: "cancelled" } : undefined;
  }

  return {
    async put(documents, watch = nobody, embed) {
      const prepared = new Map<string, Prepared>();
      const made = new Map<string, Vectors>();
      let isReady = false;
      for (;;) {
        const refusal = await prepareNews(documents, prepared, watch, embed);
        if (refusal !== undefined) return refusal;
        // From here on nothing else of this object runs in between, unless there is something to embed: then all is looked at again.
        const sum = sumWith(prepared.values());
        const full = overfull(sum);
        if (full !== undefined) return { put: false, refused: "collection_full", ...full };
        const bare = [...prepared.values()].filter(({ given, chunks }) => chunks.length > 0 && !made.has(given.path));
        if (embed === undefined || sum.chunks > MAX_VECTORS || bare.length === 0) {
          if (!isReady) {
            await watch.ready();
            isReady = true;
            continue;
          }
          return write(documents, { prepared, made, version: embed?.version ?? "" }, watch);
        }
        const failed = await embedAll(embed, bare, made, watch);
        if (failed === "cancelled") return { put: false, refused: failed };
        if (failed !== undefined) {
          return { put: false, refused: "embedding_failed", targetId: embed.target.id, failure: failed };
        }
      }
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
