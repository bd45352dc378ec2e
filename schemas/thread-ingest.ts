// What a producer that carries out a run elsewhere pushes of it, and what it is told. Shapes only.
import type { JsonRecord } from "./json.ts";
import type { ValidationIssue } from "./problem.ts";
import type { ThreadRunEnd, ThreadRunStatus } from "./thread.ts";

export interface IngestRequest {
  runId: string;
  /** Higher for each producer that takes over; the ones before it are refused from then on. */
  epoch: number;
  /** The position of the first record among those of this epoch, from 0. */
  sequence: number;
  /** As they came; none to say only that the producer lives. */
  records: unknown[];
  /** How the run ended, when nothing further comes. */
  end?: Pick<ThreadRunEnd, "status" | "stopReason" | "error">;
  /** Milliseconds after which a producer that says nothing counts as lost. */
  leaseMs: number;
  /** What is done when the thread is not there. */
  ifMissing: "create" | "refuse";
  /** Of a run that is not known yet. */
  assistantId: string | null;
  metadata: JsonRecord;
  userId: string | null;
  /** Bytes that the thread may have in storage. */
  maxThreadBytes: number;
}

export type IngestAnswer =
  /** The same for a repeat: the position of the next record, and the numbers of these records in the thread. */
  | { taken: true; epoch: number; next: number; seqs: number[] }
  | { taken: false; refused: "unknown_thread" | "full" }
  /** The run is carried out here, so nobody else records it. */
  | { taken: false; refused: "not_pushed" }
  | { taken: false; refused: "ended"; status: ThreadRunStatus }
  | { taken: false; refused: "fenced"; epoch: number }
  | { taken: false; refused: "gap"; expected: number }
  | { taken: false; refused: "invalid"; issues: ValidationIssue[] };
