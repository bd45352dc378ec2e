// What a batch of a producer's is to those before it: the next one, a repeat, one too early, one of a producer that was replaced. Pure.

export interface Producer {
  epoch: number;
  /** The position of the next record of this epoch. */
  next: number;
}

export interface Batch {
  epoch: number;
  /** The position of its first record. */
  sequence: number;
  count: number;
}

export type Judgement =
  /** So many of its records, from the first, are here already. */
  | { fits: true; known: number }
  | { fits: false; fault: { refused: "fenced"; epoch: number } | { refused: "gap"; expected: number } };

/**
 * A producer that takes over counts from 0 again, as the first one does, or goes on with the number that the one before it has
 * come to.
 */
export function judgeBatch(
  producer: Producer | undefined,
  { epoch, sequence, count }: Batch,
  takesOver: "from 0" | "where it stands" = "from 0",
): Judgement {
  if (producer !== undefined && epoch < producer.epoch) {
    return { fits: false, fault: { refused: "fenced", epoch: producer.epoch } };
  }
  const goesOn = takesOver === "where it stands" || producer?.epoch === epoch;
  const expected = goesOn ? (producer?.next ?? 0) : 0;
  if (sequence > expected) return { fits: false, fault: { refused: "gap", expected } };
  return { fits: true, known: Math.min(count, expected - sequence) };
}
