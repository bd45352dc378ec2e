// The tables of a collection's documents and chunks, and every statement on them. Writes happen inside the caller's transaction.
import type { CollectionStats, DocumentMedia, KeptDocument, TrustLevel } from "../schemas/collection.ts";
import type { FilteredDocument } from "../src/kebab/filters.ts";
import type { FoundChunk } from "../src/kebab/hits.ts";
import { asArray, parseJson } from "../src/wire/json.ts";
import { createCollection, upgradeCollection } from "./collection-tables.ts";
import { cutText } from "./row-parts.ts";

/** A chunk's number is that of its document and its place in it: chunks of a document are a range, and need no index. */
export const PLACES = 1_048_576;

export interface KeptChunk {
  chunkId: string;
  headings: string[];
  text: string;
  first: number;
  last: number;
}

export interface DocumentRow extends KeptDocument {
  id: number;
  fingerprint: string;
}

export type ChunkRow = FoundChunk & { id: number; text: string; updatedAt: number };

type Row = Record<string, SqlStorageValue>;

export interface CollectionStore {
  /** A collection is there from its first document on. */
  exists(): boolean;
  /** No other collection of this name has it, before or after; 0 for those of before there were epochs. */
  epoch(): number;
  stats(): CollectionStats;
  saveStats(stats: CollectionStats): void;
  byPath(path: string): DocumentRow | undefined;
  /** In the order of their paths, behind this one. */
  page(after: string, limit: number): DocumentRow[];
  /** Everything that filters ask about, of all documents. */
  filtered(): Iterable<FilteredDocument & { id: number }>;
  /** Gives the number of a new one. */
  save(document: Omit<DocumentRow, "id">, id: number | undefined): number;
  remove(id: number): void;
  source(id: number): string;
  saveSource(id: number, source: string): void;
  /** Gives the chunks' numbers, in order. */
  saveChunks(document: number, chunks: readonly KeptChunk[]): number[];
  /** The first number of a document's chunks, and that behind the last one. */
  chunkRange(document: number): { from: number; to: number };
  /** In no order. */
  chunks(ids: readonly number[]): ChunkRow[];
  /** The number of a chunk, by its name, among those from one number to behind another. */
  chunkNamed(from: number, to: number, chunkId: string): number | undefined;
  documentOf(chunk: number): number;
  /** The names of chunks, by their numbers. */
  chunkIds(ids: readonly number[]): Map<number, string>;
  breakdown(staleBefore: number): Pick<Breakdown, "media" | "langs" | "stale" | "parsers" | "chunkers">;
  /** A transaction was rolled back: it may be the one that made the tables. */
  reread(): void;
}

interface Breakdown {
  media: Record<DocumentMedia, number>;
  langs: Record<string, number>;
  stale: number;
  parsers: string[];
  chunkers: string[];
}

export function keptOf({ id: _id, fingerprint: _fingerprint, ...document }: DocumentRow): KeptDocument {
  return document;
}

/** Nothing is written, no table either, before the first document is kept. */
export function collectionStore(storage: DurableObjectStorage): CollectionStore {
  const { sql } = storage;
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'collection'").toArray().length > 0;
  let ready = isReady();
  if (ready) storage.transactionSync(() => upgradeCollection(sql));
  const read = (query: string, ...bindings: SqlStorageValue[]): Row[] =>
    ready ? sql.exec(query, ...bindings).toArray() : [];
  const write = (query: string, ...bindings: SqlStorageValue[]): void => {
    if (!ready) createCollection(sql);
    ready = true;
    sql.exec(query, ...bindings);
  };

  return {
    exists: () => ready,
    epoch: () => Number(read("SELECT epoch FROM collection")[0]?.["epoch"] ?? 0),
    stats() {
      const [row] = read("SELECT * FROM collection");
      const at = row?.["last_ingest_at"];
      return {
        revision: Number(row?.["revision"] ?? 0),
        documents: Number(row?.["documents"] ?? 0),
        chunks: Number(row?.["chunks"] ?? 0),
        bytes: Number(row?.["bytes"] ?? 0),
        lastIngestAt: typeof at === "number" ? at : undefined,
      };
    },
    saveStats({ revision, documents, chunks, bytes, lastIngestAt }) {
      write(
        "UPDATE collection SET revision = ?, documents = ?, chunks = ?, bytes = ?, last_ingest_at = ?",
        revision,
        documents,
        chunks,
        bytes,
        lastIngestAt ?? null,
      );
    },
    byPath: (path) => read("SELECT * FROM document WHERE path = ?", path).map(documentOf)[0],
    page: (after, limit) =>
      read("SELECT * FROM document WHERE path > ? ORDER BY path LIMIT ?", after, limit).map(documentOf),
    *filtered() {
      if (!ready) return;
      for (const row of sql.exec<Row>("SELECT id, path, doc_id, media, tags, lang, trust, updated_at FROM document")) {
        const { docId, path, media, tags, lang, trust, updatedAt, id } = documentOf(row);
        yield { id, docId, path, media, tags, lang, trust, updatedAt };
      }
    },
    save(document, id) {
      const { path, docId, fingerprint, media, title, tags, lang, trust, bytes, chunks } = document;
      const { createdAt, updatedAt, parserVersion, chunkerVersion } = document;
      write(
        `INSERT OR REPLACE INTO document (id, path, doc_id, fingerprint, media, title, tags, lang, trust, bytes, chunks,
         created_at, updated_at, parser, chunker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        id ?? null,
        path,
        docId,
        fingerprint,
        media,
        title,
        JSON.stringify(tags),
        lang ?? null,
        trust,
        bytes,
        chunks,
        createdAt,
        updatedAt,
        parserVersion,
        chunkerVersion,
      );
      return id ?? Number(read("SELECT id FROM document WHERE path = ?", path)[0]?.["id"]);
    },
    remove(id) {
      write("DELETE FROM source WHERE document = ?", id);
      write("DELETE FROM chunk WHERE id >= ? AND id < ?", id * PLACES, (id + 1) * PLACES);
      write("DELETE FROM document WHERE id = ?", id);
    },
    source: (id) =>
      read("SELECT body FROM source WHERE document = ? ORDER BY part", id)
        .map((row) => textOf(row["body"]))
        .join(""),
    saveSource(id, source) {
      for (const [part, body] of cutText(source).entries()) {
        write("INSERT INTO source (document, part, body) VALUES (?, ?, ?)", id, part, body);
      }
    },
    saveChunks: (document, chunks) =>
      chunks.map(({ chunkId, headings, text, first, last }, place) => {
        const id = document * PLACES + place;
        write(
          "INSERT INTO chunk (id, chunk_id, headings, body, first, last) VALUES (?, ?, ?, ?, ?, ?)",
          id,
          chunkId,
          JSON.stringify(headings),
          text,
          first,
          last,
        );
        return id;
      }),
    chunkRange: (document) => ({ from: document * PLACES, to: (document + 1) * PLACES }),
    chunkNamed(from, to, chunkId) {
      const [row] = read("SELECT id FROM chunk WHERE id >= ? AND id < ? AND chunk_id = ?", from, to, chunkId);
      return row === undefined ? undefined : Number(row["id"]);
    },
    documentOf: (chunk) => Math.floor(chunk / PLACES),
    chunks: (ids) =>
      read(
        `SELECT chunk.id, chunk_id, headings, body, first, last, doc_id, path, trust, updated_at, chunker
         FROM chunk JOIN document ON document.id = chunk.id / ${PLACES}
         WHERE chunk.id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(ids),
      ).map((row) => ({
        id: Number(row["id"]),
        chunkId: textOf(row["chunk_id"]),
        docId: textOf(row["doc_id"]),
        path: textOf(row["path"]),
        headings: namesOf(row["headings"]),
        text: textOf(row["body"]),
        first: Number(row["first"]),
        last: Number(row["last"]),
        trust: trustOf(row["trust"]),
        chunkerVersion: textOf(row["chunker"]),
        updatedAt: Number(row["updated_at"]),
        indexedAt: new Date(Number(row["updated_at"])).toISOString(),
      })),
    chunkIds: (ids) =>
      new Map(
        read("SELECT id, chunk_id FROM chunk WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids)).map(
          (row) => [Number(row["id"]), textOf(row["chunk_id"])],
        ),
      ),
    breakdown(staleBefore) {
      const counted = (column: "media" | "lang" | "parser" | "chunker"): [string, number][] =>
        read(`SELECT ${column} AS name, COUNT(*) AS count FROM document GROUP BY ${column} ORDER BY ${column}`).map(
          (row) => [row["name"] === null ? "null" : textOf(row["name"]), Number(row["count"])],
        );
      return {
        media: { markdown: 0, text: 0, html: 0, ...Object.fromEntries(counted("media")) },
        langs: Object.fromEntries(counted("lang")),
        stale: Number(
          read("SELECT COUNT(*) AS count FROM document WHERE updated_at < ?", staleBefore)[0]?.["count"] ?? 0,
        ),
        parsers: counted("parser").map(([name]) => name),
        chunkers: counted("chunker").map(([name]) => name),
      };
    },
    reread() {
      ready = isReady();
    },
  };
}

function documentOf(row: Row): DocumentRow {
  const lang = row["lang"];
  return {
    id: Number(row["id"]),
    path: textOf(row["path"]),
    docId: textOf(row["doc_id"]),
    fingerprint: textOf(row["fingerprint"]),
    media: mediaOf(row["media"]),
    title: textOf(row["title"]),
    tags: namesOf(row["tags"]),
    lang: typeof lang === "string" ? lang : undefined,
    trust: trustOf(row["trust"]),
    bytes: Number(row["bytes"]),
    chunks: Number(row["chunks"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    parserVersion: textOf(row["parser"]),
    chunkerVersion: textOf(row["chunker"]),
  };
}

const textOf = (value: SqlStorageValue | undefined): string => (typeof value === "string" ? value : "");
const namesOf = (value: SqlStorageValue | undefined): string[] =>
  asArray(parseJson(textOf(value))?.value).filter((name) => typeof name === "string");
const mediaOf = (value: SqlStorageValue | undefined): DocumentMedia =>
  value === "markdown" || value === "html" ? value : "text";
const trustOf = (value: SqlStorageValue | undefined): TrustLevel =>
  value === "secondary" || value === "generated" ? value : "primary";
