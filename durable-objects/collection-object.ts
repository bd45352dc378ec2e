// The object of one collection, named {tenant}/{collection}: its documents, their chunks and the index over them. A document is kept whole or not at all; no model is asked but the one that embeds.
import { DurableObject } from "cloudflare:workers";
import type {
  ChunkInContext,
  ChunkText,
  CollectionBreakdown,
  CollectionPage,
  DocumentText,
  IngestRun,
  IngestWord,
  NewDocument,
  PutAnswer,
  SearchAnswer,
  SearchAsk,
} from "../schemas/collection.ts";
import type { EmbedPlan } from "../schemas/embedding.ts";
import { faultLine } from "../src/wire/fault-line.ts";
import { collectionEmbedding } from "./collection-embedding.ts";
import { collectionIngest } from "./collection-ingest.ts";
import { searchCollection } from "./collection-search.ts";
import { collectionStore, keptOf, PLACES, type ChunkRow } from "./collection-store.ts";
import { collectionTerms } from "./collection-terms.ts";
import { collectionVectors } from "./collection-vectors.ts";
import { ingestJobs } from "./ingest-jobs.ts";

export class CollectionObject extends DurableObject<Env> {
  #store = collectionStore(this.ctx.storage);
  #terms = collectionTerms(this.ctx.storage, PLACES);
  #vectors = collectionVectors(this.ctx.storage, PLACES);
  #embedding = collectionEmbedding(this.env);
  #ingest = collectionIngest({
    storage: this.ctx.storage,
    store: this.#store,
    terms: this.#terms,
    vectors: this.#vectors,
    embedding: this.#embedding,
  });
  #jobs = ingestJobs(this.ctx, this.env, this.#ingest);

  /** Keeps these documents, all of them or none. One that is kept already, equal in all, changes nothing. `embed`: who embeds them. */
  async put(documents: NewDocument[], embed?: EmbedPlan): Promise<PutAnswer> {
    const answer = await this.#ingest.put(documents, undefined, embed);
    if (!answer.put && answer.refused === "cancelled") throw new Error("nobody cancels what nobody watches");
    return answer;
  }

  /** Begins an ingest that is a run: the run is told all that comes of it. */
  ingest(run: IngestRun, documents: NewDocument[], embed?: EmbedPlan): void {
    const carried = this.#jobs.carryOut(run, documents, embed);
    this.ctx.waitUntil(carried.catch((error: unknown) => console.error(faultLine("bug", error))));
  }

  /** The run is to end otherwise. Once `stopped`, nothing of the ingest will ever be kept; where it is `kept`, the run was told. */
  stopIngest(runId: string): Promise<IngestWord> {
    return this.#jobs.stop(runId);
  }

  override alarm(): Promise<void> {
    return this.#jobs.retell();
  }

  /** `undefined` when there is no collection; false when it has no such document. */
  remove(path: string): boolean | undefined {
    return this.#ingest.remove(path);
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

  /** A chunk of a document, with so many on each side. `undefined` when there is no collection, and what is not there by its name. */
  chunk(path: string, chunkId: string, around: number): ChunkInContext | "no_document" | "no_chunk" | undefined {
    if (!this.#store.exists()) return undefined;
    const row = this.#store.byPath(path);
    if (row === undefined) return "no_document";
    const { from, to } = this.#store.chunkRange(row.id);
    const id = this.#store.chunkNamed(from, to, chunkId);
    if (id === undefined) return "no_chunk";
    const first = Math.max(from, id - around);
    const ids = Array.from({ length: Math.min(to, id + around + 1) - first }, (_, index) => first + index);
    const chunks = this.#store.chunks(ids).toSorted((one, other) => one.id - other.id);
    const chunk = chunks.find((one) => one.id === id);
    if (chunk === undefined) return "no_chunk";
    return {
      document: keptOf(row),
      chunk: chunkText(chunk),
      before: chunks.filter((one) => one.id < id).map(chunkText),
      after: chunks.filter((one) => one.id > id).map(chunkText),
    };
  }

  async search(ask: SearchAsk): Promise<SearchAnswer> {
    return searchCollection(
      { store: this.#store, terms: this.#terms, vectors: this.#vectors, embedding: this.#embedding },
      ask,
    );
  }

  /** What is in it; nothing is, when there is no collection. `staleMs`: 0: nothing ever is stale. */
  breakdown(staleMs: number): CollectionBreakdown {
    const staleBefore = staleMs === 0 ? 0 : Date.now() - staleMs;
    const indexBytes = this.#store.exists() ? this.ctx.storage.sql.databaseSize : 0;
    const embedding = this.#store.exists() ? this.#vectors.state()?.version : undefined;
    return { ...this.#store.stats(), ...this.#store.breakdown(staleBefore), indexBytes, embedding };
  }

  /** Forgets everything. False when there is nothing. */
  async forget(): Promise<boolean> {
    if (!this.#store.exists()) return false;
    await this.ctx.storage.deleteAll();
    this.#store.reread();
    this.#vectors.reread();
    return true;
  }
}

const chunkText = ({ chunkId, headings, text, first, last }: ChunkRow): ChunkText => ({
  chunkId,
  headings,
  text,
  first,
  last,
});
