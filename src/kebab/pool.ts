// What several searches have found together, each chunk once, in the order in which they came. Searches nothing itself.
import type { KebabHit } from "../../schemas/dialects/kebab.ts";

/** Chunks that a pool holds at most. */
export const MAX_POOL = 15;

export interface Pool {
  hits: readonly KebabHit[];
  /** Those of the hits, as far as they came with them. */
  texts: readonly (string | undefined)[];
}

export const emptyPool: Pool = { hits: [], texts: [] };

export const isFull = ({ hits }: Pool): boolean => hits.length >= MAX_POOL;

/** With what one search has found, as far as there is room: a hit's rank is its place here. */
export function pooled(pool: Pool, found: Pool): Pool {
  const hits = [...pool.hits];
  const texts = [...pool.texts];
  const known = new Set(hits.map(({ chunk_id }) => chunk_id));
  for (const [index, hit] of found.hits.entries()) {
    if (hits.length === MAX_POOL) break;
    if (known.has(hit.chunk_id)) continue;
    known.add(hit.chunk_id);
    hits.push({ ...hit, rank: hits.length + 1 });
    texts.push(found.texts[index]);
  }
  return { hits, texts };
}
