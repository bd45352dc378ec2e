// The sequence check: what the reader itself can prove about the numbers it received. Pure; it never trusts the server's
// word for it and never repairs anything.

export type Range = { readonly from: number; readonly to: number };

export type Integrity = {
  /** Every event received, repeats included. */
  readonly received: number;
  /** Highest sequence accepted; null before the first event. */
  readonly last: number | null;
  /** Numbers that were skipped when a higher one arrived. */
  readonly gaps: readonly Range[];
  /** Events whose number had been received before. */
  readonly repeats: number;
  /** Events that arrived after a higher number, out of a gap. */
  readonly late: number;
  /** Numbers received by each connection that brought any. */
  readonly spans: readonly Range[];
};

export const noEvents: Integrity = { received: 0, last: null, gaps: [], repeats: 0, late: 0, spans: [] };

/** Whether a number is the next one to take, or has no place any more. */
export type Admission = { readonly accepted: boolean; readonly integrity: Integrity };

/** Checks one received sequence; `newConnection` says that it is the first one of its connection. */
export const admit = (before: Integrity, sequence: number, newConnection: boolean): Admission => {
  const received = before.received + 1;
  const next = before.last === null ? 0 : before.last + 1;
  if (sequence < next) {
    const missed = before.gaps.some((gap) => sequence >= gap.from && sequence <= gap.to);
    const counted = missed ? { late: before.late + 1 } : { repeats: before.repeats + 1 };
    return { accepted: false, integrity: { ...before, received, ...counted } };
  }
  const gaps = sequence === next ? before.gaps : [...before.gaps, { from: next, to: sequence - 1 }];
  const spans = extend(before.spans, sequence, newConnection);
  return { accepted: true, integrity: { ...before, received, last: sequence, gaps, spans } };
};

export const isIntact = (integrity: Integrity): boolean =>
  integrity.gaps.length === 0 && integrity.repeats === 0 && integrity.late === 0;

/** The check in words, for example `gapless 0..41, no repeats`. */
export const describeIntegrity = (integrity: Integrity): string => {
  if (integrity.last === null) return integrity.received === 0 ? "no events yet" : "no usable events";
  const missing = integrity.gaps.reduce((sum, gap) => sum + gap.to - gap.from + 1, 0);
  const order =
    missing === 0
      ? `gapless 0..${integrity.last}`
      : `0..${integrity.last}, ${missing} missing (${integrity.gaps.map(describeRange).join(", ")})`;
  const repeats = integrity.repeats === 0 ? "no repeats" : `${integrity.repeats} repeated`;
  return [order, repeats, ...(integrity.late === 0 ? [] : [`${integrity.late} late`])].join(", ");
};

export const describeRange = (range: Range): string =>
  range.from === range.to ? String(range.from) : `${range.from}..${range.to}`;

const extend = (spans: readonly Range[], sequence: number, newConnection: boolean): readonly Range[] => {
  const current = spans.at(-1);
  if (newConnection || current === undefined) return [...spans, { from: sequence, to: sequence }];
  return [...spans.slice(0, -1), { from: current.from, to: sequence }];
};
