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

/** A producer that takes over counts its records from 0 again, as the first one does. */
export function judgeBatch(producer: Producer | undefined, { epoch, sequence, count }: Batch): Judgement {
  if (producer !== undefined && epoch < producer.epoch) {
    return { fits: false, fault: { refused: "fenced", epoch: producer.epoch } };
  }
  const expected = producer?.epoch === epoch ? producer.next : 0;
  if (sequence > expected) return { fits: false, fault: { refused: "gap", expected } };
  return { fits: true, known: Math.min(count, expected - sequence) };
}
