// What a search has found, by one ranking or by two. Two become one by reciprocal rank: what is first in both is 1, what is in one of them only is at most a half.

const K = 60;
/** What is first in both lists has. */
const BEST = 2 / (K + 1);

export interface Ranked {
  id: number;
  chunkId: string;
  score: number;
}

/** Where a chunk stands in one list. Ranks count from 1. */
export interface Place {
  rank: number;
  score: number;
}

/** `score`: what the whole is ordered by. */
export interface Found extends Ranked {
  lexical?: Place;
  vector?: Place;
}

/** Of one list alone. */
export const placed = (list: "lexical" | "vector", ranked: readonly Ranked[]): Found[] =>
  ranked.map((one, index) => ({ ...one, [list]: { rank: index + 1, score: one.score } }));

/** Best first; of equal ones what the lexical list has first, then by name. */
export function fuse(lexical: readonly Ranked[], vector: readonly Ranked[]): Found[] {
  const found = new Map(placed("lexical", lexical).map((one) => [one.id, one]));
  for (const one of placed("vector", vector)) found.set(one.id, { ...found.get(one.id), ...one });
  return [...found.values()]
    .map((one) => ({ ...one, score: (share(one.lexical) + share(one.vector)) / BEST }))
    .toSorted((a, b) => b.score - a.score || rankOf(a) - rankOf(b) || (a.chunkId < b.chunkId ? -1 : 1));
}

const share = (place: Place | undefined): number => (place === undefined ? 0 : 1 / (K + place.rank));

const rankOf = ({ lexical }: Found): number => lexical?.rank ?? Number.MAX_SAFE_INTEGER;
