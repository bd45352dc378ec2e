// The full-text index of a collection's chunks: their terms, as src/kebab/terms.ts has them, by chunk number. Knows no document.
import { allOf, anyOf } from "../src/kebab/query.ts";
import type { Candidate } from "../src/kebab/score.ts";

/** With a space between any two terms. */
export interface IndexedTerms {
  /** A text for each. */
  headings: readonly string[];
  body: string;
}

export interface FoundTerms extends Candidate {
  id: number;
  chunkId: string;
}

export interface CollectionTerms {
  add(id: number, chunkId: string, terms: IndexedTerms): void;
  /** `to` is not included. */
  remove(range: { from: number; to: number }): void;
  /** Some chunks that have all of these terms, in no order. To put them in order takes the index as long as a search for any term. */
  complete(terms: readonly string[], limit: number, within?: readonly number[]): number[];
  /** The best chunks that have any, or all, of these terms, by the index's own measure. `within`: the numbers of documents. */
  find(terms: readonly string[], wanted: "any" | "all", limit: number, within?: readonly number[]): FoundTerms[];
}

/** `documentSize`: numbers that the chunks of one document take. The table is made with the first chunk. */
export function collectionTerms({ sql }: DurableObjectStorage, documentSize: number): CollectionTerms {
  const prepare = (): void => {
    // Terms are made before they get here: the index takes what stands between spaces, in any script.
    sql.exec(
      "CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(headings, body, chunk_id UNINDEXED, tokenize = 'ascii')",
    );
  };
  const inside = (within: readonly number[] | undefined): string =>
    within === undefined ? "" : `AND rowid / ${documentSize} IN (SELECT value FROM json_each(?))`;
  const listed = (within: readonly number[] | undefined): string[] =>
    within === undefined ? [] : [JSON.stringify(within)];

  return {
    add(id, chunkId, { headings, body }) {
      prepare();
      sql.exec(
        "INSERT INTO terms (rowid, headings, body, chunk_id) VALUES (?, ?, ?, ?)",
        id,
        headings.join(" "),
        body,
        chunkId,
      );
    },
    remove({ from, to }) {
      prepare();
      sql.exec("DELETE FROM terms WHERE rowid >= ? AND rowid < ?", from, to);
    },
    complete(terms, limit, within) {
      prepare();
      const query = `SELECT rowid AS id FROM terms WHERE terms MATCH ? ${inside(within)} LIMIT ?`;
      const rows = sql.exec<{ id: number }>(query, allOf(terms), ...listed(within), limit);
      return rows.toArray().map(({ id }) => id);
    },
    find(terms, wanted, limit, within) {
      if (terms.length === 0) return [];
      prepare();
      const asked = wanted === "any" ? anyOf(terms) : allOf(terms);
      // The index's own `ORDER BY rank` keeps where the terms stand in every row that it sorts, and takes half as long again;
      // and a row's texts are read when it is known to be one of the best.
      const rows = sql.exec<{ id: number; rank: number; present: string; chunk_id: string }>(
        `SELECT best.id, best.rank, headings || ' ' || body AS present, chunk_id
         FROM (SELECT rowid AS id, bm25(terms) AS rank FROM terms WHERE terms MATCH ? ${inside(within)}
               ORDER BY 2 LIMIT ?) AS best
         CROSS JOIN terms ON terms.rowid = best.id`,
        asked,
        ...listed(within),
        limit,
      );
      return rows
        .toArray()
        .map(({ id, rank, present, chunk_id }) => ({ id, bm25: rank, terms: present, chunkId: chunk_id }));
    },
  };
}
