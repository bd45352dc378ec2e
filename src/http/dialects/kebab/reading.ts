// A run as a stream of kebab's lines: its headers, where it begins, and why there may be none.
import type { AttachQuery, ReadFrom, Refusal } from "../../../../schemas/attach.ts";
import { streamHeaders } from "../../problem.ts";
import { readFrom } from "../../read-from.ts";
import {
  fromProblem,
  invalidInput,
  kebabFound,
  kebabRefused,
  noRun,
  type KebabProblem,
  type KebabResult,
} from "./problem.ts";

export const kebabQuery = (from: ReadFrom, waitMs: number): AttachQuery => ({
  dialect: "kebab",
  framing: "ndjson",
  from,
  waitMs,
});

/** A merged state has no line of its own here: `final` has the text. */
export function cursorOf(request: Request): KebabResult<ReadFrom> {
  const start = readFrom(request);
  if (!start.ok) return kebabRefused(fromProblem(start.problem));
  const { from, field } = start.value;
  return from === "snapshot" ? kebabRefused(invalidInput(field, "from must be 'now'.")) : kebabFound(from);
}

export const streamResponse = (body: ReadableStream | null, runId: string): Response =>
  new Response(body, {
    headers: {
      "content-type": "application/x-ndjson",
      ...streamHeaders,
      "x-run-id": runId,
      location: `/kebab/runs/${runId}`,
    },
  });

/** What a run's object answers to a reader. */
export const readingOf = (answer: Response | Refusal): KebabResult<Response> =>
  answer instanceof Response ? kebabFound(answer) : kebabRefused(refusals[answer.refused]);

const refusals: Record<Refusal["refused"], KebabProblem> = {
  not_found: noRun,
  gone: { reason: "not_found", message: "The events of this run are no longer kept." },
  cursor_ahead: invalidInput("after", "The cursor is ahead of the run."),
};
