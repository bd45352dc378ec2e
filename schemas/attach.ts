// What the edge asks a run's object for, and what it may answer. Plain values: they cross an RPC boundary.
import type { Framing } from "./framing.ts";
import type { RunHandle } from "./run.ts";

/** Where a reader starts: after a sequence, after a frame by its dialect's id, at the end, at the merged state, or at the beginning. */
export type ReadFrom = { after: number } | { id: string } | "now" | "snapshot" | "start";

export interface AttachQuery {
  dialect: string;
  framing: Framing;
  from: ReadFrom;
  /** Milliseconds to wait for a run that has not started yet. */
  waitMs: number;
}

export type Refusal =
  | { refused: "not_found" }
  | { refused: "gone" }
  /** The cursor is ahead of everything the run has written. */
  | { refused: "cursor_ahead" };

/** What a start differs in from the run of its name; or the run that it wants to go on from is taken. */
export type ConflictField = "previousRunId" | "Idempotency-Key" | "body";

/** `reading`: what `attach` answers, for a start that asked for it: a stream begins without a second call. */
export type StartAnswer =
  | { started: true; repeated: boolean; handle: RunHandle; reading?: Response | Refusal }
  | { started: false; refused: "conflict"; field: ConflictField }
  | { started: false; refused: "too_many_runs" };

/**
 * A `Response` is the outcome: the terminal payload's JSON, byte for byte. As a body it may be larger than the 32 MiB that
 * a value may have on its way between objects.
 */
export type OutcomeAnswer = Response | { running: RunHandle } | { refused: "not_found" };
