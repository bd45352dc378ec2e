// What a measure is and what it reports. Types only.
import type { Product, Stand } from "../stand/stand.ts";

/** One line of the table. */
export interface Finding {
  readonly measure: string;
  readonly tree: Product["name"];
  readonly ours: string;
  readonly reference: string;
  /** Ours beside the reference, in the unit of the target. */
  readonly compared: string;
  readonly target: string;
  readonly met: boolean;
}

export interface Report {
  readonly findings: readonly Finding[];
  /** What helps to judge the findings: single values, further references. */
  readonly context: readonly string[];
}

export interface Measure {
  readonly name: string;
  readonly about: string;
  /** It takes minutes: nobody gets it without asking for it. */
  readonly onlyNamed?: true;
  /** Rejects when it could not be taken, or when a reader did not get everything. */
  take(stand: Stand): Promise<Report>;
}
