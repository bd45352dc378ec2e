// How well a chunk fits a question. The index's own measure is next to nothing in small collections, so what counts most is how much of the question is there.

export interface Candidate {
  /** The index's measure: below 0, and the lower the better. */
  bm25: number;
  /** The chunk's terms and those of its headings, with spaces between. */
  terms: string;
}

/** 0 to 1. `terms`: of the question. */
export function lexicalScore({ bm25, terms: present }: Candidate, terms: readonly string[]): number {
  const b = Math.max(0, -bm25);
  return coverage(present, terms) * (0.6 + (0.4 * b) / (1 + b));
}

/** The share of a question's terms that are there. */
export function coverage(present: string, terms: readonly string[]): number {
  const text = ` ${present} `;
  const found = terms.filter((term) => text.includes(` ${term} `));
  return terms.length === 0 ? 0 : found.length / terms.length;
}
