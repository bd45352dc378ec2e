// The vectors of a collection's chunks, all of one version, and every statement on them. A document has those of all its chunks, or none. Knows no model.
import { nearest, type NearChunk } from "../src/kebab/nearest.ts";

/** Bytes of a row of vectors, below the platform's 2 MB. */
const ROW_BYTES = 1_500_000;
/** Bytes of vectors that are held between searches: those of 5,000 chunks with 1,536 numbers each. What is more is read again by each search. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const NUMBER_BYTES = 4;

export interface VectorState {
  version: string;
  dimensions: number;
}

export interface CollectionVectors {
  /** `undefined` while there never was one. */
  state(): VectorState | undefined;
  /** Chunks that have a vector. */
  count(): number;
  /** Whether this document has vectors. */
  has(document: number): boolean;
  /** Vectors of another version, or of other dimensions, are forgotten. */
  use(version: string, dimensions: number): void;
  /** One behind the other, in the order of the document's chunks. */
  save(document: number, numbers: Float32Array): void;
  remove(document: number): void;
  /** The chunks whose vectors are nearest to this one, and those as near as the last of them; best first, equal ones by number. `within`: numbers of documents. */
  nearest(query: Float32Array, limit: number, within?: ReadonlySet<number>): NearChunk[];
  /** What was read before may be gone, or was never kept. */
  reread(): void;
}

interface Row {
  [column: string]: SqlStorageValue;
  id: number;
  body: ArrayBuffer;
}

/** `documentSize`: numbers that the chunks of one document take. `maxHeld`: in bytes. The tables are there when there is a collection. */
export function collectionVectors(
  { sql }: DurableObjectStorage,
  documentSize: number,
  maxHeld = MAX_HELD_BYTES,
): CollectionVectors {
  let known: VectorState | undefined;
  let counted: number | undefined;
  let held: readonly Row[] | undefined;

  const changed = (): void => {
    counted = undefined;
    held = undefined;
  };

  function state(): VectorState | undefined {
    if (known !== undefined) return known;
    const [row] = sql.exec("SELECT embedding, dimensions FROM collection").toArray();
    const { embedding, dimensions } = row ?? {};
    if (typeof embedding !== "string" || typeof dimensions !== "number") return undefined;
    known = { version: embedding, dimensions };
    return known;
  }

  function count(): number {
    const { dimensions } = state() ?? { dimensions: 1 };
    counted ??=
      sql.exec<{ bytes: number }>("SELECT TOTAL(LENGTH(body)) AS bytes FROM vectors").one().bytes /
      (NUMBER_BYTES * dimensions);
    return counted;
  }

  function rows(): Iterable<Row> {
    if (held !== undefined) return held;
    const isMore = count() * (state()?.dimensions ?? 0) * NUMBER_BYTES > maxHeld;
    const found = sql.exec<Row>("SELECT id, body FROM vectors ORDER BY id");
    if (isMore) return found;
    held = found.toArray();
    return held;
  }

  return {
    state,
    count,
    has: (document) =>
      sql
        .exec(
          "SELECT 1 FROM vectors WHERE id >= ? AND id < ? LIMIT 1",
          document * documentSize,
          (document + 1) * documentSize,
        )
        .toArray().length > 0,
    use(version, dimensions) {
      const now = state();
      if (now?.version === version && now.dimensions === dimensions) return;
      changed();
      known = { version, dimensions };
      sql.exec("DELETE FROM vectors");
      sql.exec("UPDATE collection SET embedding = ?, dimensions = ?", version, dimensions);
    },
    save(document, numbers) {
      const { dimensions } = state() ?? { dimensions: 0 };
      changed();
      const step = dimensions * Math.floor(ROW_BYTES / NUMBER_BYTES / dimensions);
      for (let at = 0; at < numbers.length; at += step) {
        const id = document * documentSize + at / dimensions;
        sql.exec("INSERT INTO vectors (id, body) VALUES (?, ?)", id, numbers.slice(at, at + step).buffer);
      }
    },
    remove(document) {
      changed();
      sql.exec("DELETE FROM vectors WHERE id >= ? AND id < ?", document * documentSize, (document + 1) * documentSize);
    },
    nearest(query, limit, within) {
      function* parts() {
        for (const { id, body } of rows()) {
          if (within === undefined || within.has(Math.floor(id / documentSize))) {
            yield { first: id, numbers: new Float32Array(body) };
          }
        }
      }
      return nearest(parts(), query, limit);
    },
    reread() {
      known = undefined;
      changed();
    },
  };
}
