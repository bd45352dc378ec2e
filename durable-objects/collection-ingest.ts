// Documents on their way into a collection: all of them are made ready first, with turns for others in between, then written, or none is. Embeds where it is told who does.
import type { NewDocument, PutAnswer } from "../schemas/collection.ts";
import type { EmbedPlan } from "../schemas/embedding.ts";
import type { Failure } from "../schemas/failure.ts";
import type { KeptDocuments } from "../src/kebab/ingest-report.ts";
import { MAX_BYTES, MAX_CHUNKS, MAX_DOCUMENT_CHUNKS, MAX_DOCUMENTS } from "../src/kebab/limits.ts";
import type { Vectors } from "../src/providers/embed-answer.ts";
import { MAX_VECTORS, otherDimensions, type CollectionEmbedding } from "./collection-embedding.ts";
import { prepare, type Prepared } from "./collection-prepare.ts";
import { collectionWrite, type WriteParts } from "./collection-write.ts";
import { turns } from "./turns.ts";

/** A document counts as so many UTF-16 units of work more than it has text. */
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

export interface CollectionIngest {
  /**
   * Keeps these documents, all of them or none. One that is kept already, equal in all, changes nothing; but for one that is not embedded
   * by this plan's model, which is kept anew.
   */
  put(documents: readonly NewDocument[], watch?: IngestWatch, embed?: EmbedPlan): Promise<IngestAnswer>;
  /** `undefined` when there is no collection; false when it has no such document. */
  remove(path: string): boolean | undefined;
}

export interface CollectionParts extends WriteParts {
  embedding: CollectionEmbedding;
}

export function collectionIngest({ embedding, ...parts }: CollectionParts): CollectionIngest {
  const { store } = parts;
  const { keep, remove, isEmbedded } = collectionWrite(parts);

  const keeps = ({ path, fingerprint }: NewDocument): boolean => store.byPath(path)?.fingerprint === fingerprint;

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
      return !keeps(given) || (mayEmbed && !isEmbedded(given.path, embed.version));
    };
    const turn = turns();
    // Others may have changed the collection meanwhile: what was kept when it was looked for first may be gone.
    for (let news = documents.filter(isNews); news.length > 0; news = documents.filter(isNews)) {
      for (const given of news) {
        if (watch.isCancelled()) return { put: false, refused: "cancelled" };
        watch.started(given);
        const one = await prepare(given, turn);
        if (one === undefined) {
          return { put: false, refused: "too_many_chunks", path: given.path, limit: MAX_DOCUMENT_CHUNKS };
        }
        watch.chunked(given, one.chunks.length);
        prepared.set(given.path, one);
        await turn.after(DOCUMENT_UNITS);
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
          const version = embed?.version ?? "";
          return keep(documents, { prepared, made, version }, (kept) => watch.keeping(kept));
        }
        const failed = await embedAll(embed, bare, made, watch);
        if (failed === "cancelled") return { put: false, refused: failed };
        if (failed !== undefined) {
          return { put: false, refused: "embedding_failed", targetId: embed.target.id, failure: failed };
        }
      }
    },
    remove,
  };
}
