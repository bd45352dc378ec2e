// What two searches for one question have found, as one list. Pure.
import type { KebabHit } from "../../schemas/dialects/kebab.ts";

export interface Found {
  hits: KebabHit[];
  /** Those of the first hits. */
  texts: string[];
}

/**
 * The best of both in turn, until there are `k`, beginning with the one whose best scored more: neither crowds the other out.
 * Then best first; what both have found counts as where it scored more.
 */
export function bothHits(one: Found, other: Found, k: number): Found {
  const taken = new Map<string, { hit: KebabHit; text: string | undefined }>();
  const inTurn = bestOf(other) > bestOf(one) ? [other, one] : [one, other];
  for (let place = 0; place < Math.max(one.hits.length, other.hits.length) && taken.size < k; place++) {
    for (const { hits, texts } of inTurn) {
      const hit = hits[place];
      if (hit === undefined) continue;
      const known = taken.get(hit.chunk_id);
      if (known === undefined ? taken.size === k : scoreOf(known.hit) >= scoreOf(hit)) continue;
      taken.set(hit.chunk_id, { hit, text: texts[place] ?? known?.text });
    }
  }
  const best = [...taken.values()].toSorted(
    (left, right) => scoreOf(right.hit) - scoreOf(left.hit) || (left.hit.chunk_id < right.hit.chunk_id ? -1 : 1),
  );
  const untold = best.findIndex(({ text }) => text === undefined);
  return {
    hits: best.map(({ hit }, index) => ({ ...hit, rank: index + 1 })),
    texts: best.slice(0, untold < 0 ? best.length : untold).flatMap(({ text }) => (text === undefined ? [] : [text])),
  };
}

const bestOf = ({ hits: [best] }: Found): number => (best === undefined ? 0 : scoreOf(best));

const scoreOf = ({ retrieval }: KebabHit): number => retrieval.fusion_score;
