// What the edge asks a run's object for, and what it may answer. Plain values: they cross an RPC boundary.
import type { Framing } from "./framing.ts";
import type { RunHandle } from "./run.ts";

/** Where a reader starts: after a sequence, at the end, at the merged state, or at the beginning. */
export type ReadFrom = { after: number } | "now" | "snapshot" | "start";

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

export type StartAnswer =
  | { started: true; repeated: boolean; handle: RunHandle }
  | { started: false; refused: "conflict"; field: "requestId" | "Idempotency-Key" | "body" }
  | { started: false; refused: "too_many_runs" };

/** `outcome` is the terminal payload's JSON text, byte for byte. */
export type OutcomeAnswer = { outcome: string } | { running: RunHandle } | { refused: "not_found" };
