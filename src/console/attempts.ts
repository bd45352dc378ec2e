// The attempts of a run as rows: grown from `attempt` events, completed by the outcome's own list. Pure; a row is never
// removed, because a failed attempt is what its reader came to see.
import { type Fields, fieldsIn, listIn, numberIn, textIn } from "./fields.ts";

export type AttemptRow = {
  readonly attempt: number;
  readonly targetId: string;
  /** The last phase or status word the server used. */
  readonly phase: string;
  readonly errorClass: string | undefined;
  readonly failureClass: string | undefined;
  readonly httpStatus: number | undefined;
  readonly message: string | undefined;
  /** Milliseconds from the attempt's start to its first output. */
  readonly firstOutputMs: number | undefined;
};

/** The rows after one `attempt` event. */
export const attemptAfter = (rows: readonly AttemptRow[], payload: Fields): readonly AttemptRow[] => {
  const attempt = numberIn(payload, "attempt");
  return attempt === undefined ? rows : merge(rows, attempt, textIn(payload, "phase"), payload);
};

/** The rows with what the outcome says of them; its error details stand in for a missing provenance. */
export const attemptsFromOutcome = (rows: readonly AttemptRow[], outcome: Fields): readonly AttemptRow[] => {
  const listed = listIn(fieldsIn(outcome, "provenance"), "attempts");
  const details = listIn(fieldsIn(fieldsIn(outcome, "error"), "details"), "attempts");
  return (listed.length > 0 ? listed : details).reduce<readonly AttemptRow[]>((merged, item) => {
    const attempt = numberIn(item, "attempt");
    return attempt === undefined ? merged : merge(merged, attempt, textIn(item, "status"), item);
  }, rows);
};

const merge = (
  rows: readonly AttemptRow[],
  attempt: number,
  phase: string | undefined,
  fields: Fields,
): readonly AttemptRow[] => {
  const known = rows.find((row) => row.attempt === attempt);
  const merged: AttemptRow = {
    attempt,
    targetId: textIn(fields, "targetId") ?? known?.targetId ?? "",
    phase: phase ?? known?.phase ?? "",
    errorClass: textIn(fields, "errorClass") ?? known?.errorClass,
    failureClass: textIn(fields, "failureClass") ?? known?.failureClass,
    httpStatus: numberIn(fields, "httpStatus") ?? known?.httpStatus,
    message: textIn(fields, "message") ?? known?.message,
    firstOutputMs: numberIn(fields, "firstOutputMs") ?? known?.firstOutputMs,
  };
  const others = rows.filter((row) => row.attempt !== attempt);
  return [...others, merged].sort((one, other) => one.attempt - other.attempt);
};
