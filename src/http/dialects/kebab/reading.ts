// A run as a stream of kebab's lines: its headers, where it begins, and why there may be none.
import type { AttachQuery, ReadFrom, Refusal } from "../../../../schemas/attach.ts";
import { streamHeaders } from "../../problem.ts";
import { IDEMPOTENCY_KEY } from "../../idempotency-key.ts";
import { readFrom, type ReadingStart } from "../../read-from.ts";
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
export function cursorOf(request: Request): KebabResult<ReadingStart> {
  const start = readFrom(request);
  if (!start.ok) return kebabRefused(fromProblem(start.problem));
  const { from, field } = start.value;
  return from === "snapshot" ? kebabRefused(invalidInput(field, "from must be 'now'.")) : kebabFound(start.value);
}

/** The key with which a start may be repeated. */
export function repeatKeyOf(request: Request): KebabResult<string | undefined> {
  const key = request.headers.get("idempotency-key") ?? undefined;
  return key === undefined || IDEMPOTENCY_KEY.test(key)
    ? kebabFound(key)
    : kebabRefused(invalidInput("header:Idempotency-Key", "The key must be 1 to 255 visible ASCII characters."));
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

/** What a run's object answers to a reader who begins there. */
export const readingOf = (answer: Response | Refusal, start: ReadingStart): KebabResult<Response> =>
  answer instanceof Response ? kebabFound(answer) : kebabRefused(unread(answer, start));

function unread({ refused }: Refusal, { field }: ReadingStart): KebabProblem {
  switch (refused) {
    case "not_found":
      return noRun;
    case "gone":
      return { reason: "not_found", message: "The events of this run are no longer kept." };
    case "cursor_ahead":
      return invalidInput(field, "The cursor is ahead of the run.");
  }
}
