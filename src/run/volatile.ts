// What a running object knows of a run and its log does not: a restart forgets all of it. Shapes and their small changes only.
import type { Failure } from "../../schemas/failure.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import type { Usage } from "../../schemas/usage.ts";
import type { Seam } from "./seam.ts";

export interface Volatile {
  /** By attempt: what its provider has reported and the log does not hold. */
  notes: Readonly<Record<number, Note>>;
  /** Where the live attempt's text joins what an earlier one has shown, until that is settled. */
  seam: Seam | undefined;
  /** The text of this step that the live attempt goes on from; `undefined` for one that begins anew. */
  continued: string | undefined;
  /** The attempt that begins when its wait is over. */
  waiting: Opening | undefined;
  /** Why a target refused the request, while another is still asked. */
  refusal: Failure | undefined;
  /** Calls of which pieces have come: the provider's ids for them, and the ones that are logged. */
  renamed: readonly { from: string; to: string }[];
  /** A model is being asked for a title. */
  titleAsked: boolean;
  /** All is done but for the title: how the run completes then. */
  ending: { stopReason: StopReason | undefined } | undefined;
}

export interface Note {
  usage?: Usage;
  /** Tokens that the model has read and that the usage does not count as input. Stays when the usage is logged. */
  apart?: number;
  model?: string;
}

/** What an attempt is opened with. `prefill`: the text it goes on from. */
export interface Opening {
  target: PlannedTarget;
  prefill?: string;
}

export const nothingVolatile: Volatile = {
  notes: {},
  seam: undefined,
  continued: undefined,
  waiting: undefined,
  refusal: undefined,
  renamed: [],
  titleAsked: false,
  ending: undefined,
};

export const noted = (volatile: Volatile, attempt: number, note: Note): Volatile => ({
  ...volatile,
  notes: { ...volatile.notes, [attempt]: { ...volatile.notes[attempt], ...note } },
});

/** The usage of this attempt is in the log now. */
export function withoutUsage(volatile: Volatile, attempt: number): Volatile {
  const { usage, ...note } = volatile.notes[attempt] ?? {};
  if (usage === undefined) return volatile;
  return { ...volatile, notes: { ...volatile.notes, [attempt]: note } };
}
