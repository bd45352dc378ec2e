// The vectors that are nearest to one, among many. All have the length 1: the cosine of two is the sum of their products.

/** Vectors one behind the other, of chunks that are numbered one by one. */
export interface VectorPart {
  /** The number of the first one's chunk. */
  first: number;
  numbers: Float32Array;
}

export interface NearChunk {
  id: number;
  /** -1 to 1. */
  score: number;
}

/** The nearest ones, and those that are as near as the last of them; best first, equal ones by number. */
export function nearest(parts: Iterable<VectorPart>, query: Float32Array, limit: number): NearChunk[] {
  const all: NearChunk[] = [];
  for (const { first, numbers } of parts) {
    for (let at = 0, id = first; at < numbers.length; at += query.length, id++) {
      all.push({ id, score: cosine(numbers, at, query) });
    }
  }
  all.sort((a, b) => b.score - a.score || a.id - b.id);
  const last = all[limit - 1]?.score ?? Number.NEGATIVE_INFINITY;
  return all.filter(({ score }) => score >= last);
}

function cosine(numbers: Float32Array, from: number, query: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < query.length; at++) sum += (numbers[from + at] ?? 0) * (query[at] ?? 0);
  // Rounding may go a little beyond.
  return Math.max(-1, Math.min(1, sum));
}
