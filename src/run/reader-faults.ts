// What a reader is told that cannot be given the rest of a run's log, as an IndeRunError. The run itself may be well.
import type { IndeRunError } from "../../schemas/problem.ts";

/** Stored events cannot be read. */
export const damagedLog = (runId: string): IndeRunError =>
  fault(runId, "damaged_log", "Part of the run's stored log is damaged and cannot be read.");

/** The reader has not read to the end, and cannot any more. */
export const goneLog = (runId: string): IndeRunError =>
  fault(runId, "gone", "The run was deleted, or its events are not kept any longer: there is no more to read.");

/** The reader has shown a text which no longer holds, and cannot replace it. */
export const replacedText = (runId: string): IndeRunError =>
  fault(
    runId,
    "text_replaced",
    "The text shown so far was replaced, which this stream cannot show. Read the run again from its beginning.",
  );

const fault = (runId: string, code: string, message: string): IndeRunError => ({
  schemaVersion: "1.0",
  errorClass: "Internal",
  message,
  runId,
  retryable: false,
  details: { code },
});
