// A turn's run as a stream of Sveda's events: its headers, and why there may be none.
import type { AttachQuery, ReadFrom, Refusal } from "../../../../schemas/attach.ts";
import { absent, type SvedaProblem, type SvedaResult, svedaFound, svedaRefused } from "./problem.ts";

const PROTOCOL_VERSION = "1.0";

export const svedaQuery = (from: ReadFrom, waitMs: number): AttachQuery => ({
  dialect: "sveda",
  framing: "sse",
  from,
  waitMs,
});

/** Names the run, so that a client can come back to it. */
export const runHeaders = (runId: string): Record<string, string> => ({
  "x-run-id": runId,
  location: `/sveda/runs/${runId}`,
});

export const streamResponse = (body: ReadableStream | null, runId: string): Response =>
  new Response(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      "x-sveda-protocol-version": PROTOCOL_VERSION,
      ...runHeaders(runId),
    },
  });

/** What a run's object answers to a reader. */
export function readingOf(answer: Response | Refusal): SvedaResult<Response> {
  return answer instanceof Response ? svedaFound(answer) : svedaRefused(refusals[answer.refused]);
}

const refusals: Record<Refusal["refused"], SvedaProblem> = {
  not_found: absent,
  gone: { code: "gone", message: "The events of this run are no longer kept." },
  cursor_ahead: { code: "invalid", message: "The cursor is ahead of the run." },
};
