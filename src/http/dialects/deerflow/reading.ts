// A run's stream as this family's clients read it: its headers, where it goes on, and why there may be none.
import type { AttachQuery, ReadFrom, Refusal } from "../../../../schemas/attach.ts";
import type { ThreadRunView } from "../../../../schemas/thread.ts";
import { sseNamedFrame } from "../../../wire/sse-writer.ts";
import { runStub, type DeerContext } from "./context.ts";

export const deerQuery = (from: ReadFrom, waitMs: number): AttachQuery => ({
  dialect: "deerflow",
  framing: "sse",
  from,
  waitMs,
});

/** A run that is carried out elsewhere is nowhere to be read. */
export async function attachTo(
  context: DeerContext,
  { runId, pushed }: Pick<ThreadRunView, "runId" | "pushed">,
  query: AttachQuery,
): Promise<Response | Refusal> {
  if (pushed === true) return { refused: "not_found" };
  const answer: Response | Refusal = await runStub(context, runId).attach(query);
  return answer;
}

/** After the frame that was seen last; without one, or with one that is not known, from the beginning. */
export function readFromId(request: Request): ReadFrom {
  const id = request.headers.get("last-event-id")?.trim() ?? "";
  return id === "" ? "start" : { id };
}

/**
 * Where the run is, and where its stream goes on: the SDK reads the first for the run's name, and puts the second behind its
 * own address when a connection is lost.
 */
export const runHeaders = (threadId: string, runId: string): Record<string, string> => ({
  "content-location": `/api/threads/${threadId}/runs/${runId}`,
  location: `/threads/${threadId}/runs/${runId}/stream`,
  "x-run-id": runId,
});

export const streamResponse = (body: ReadableStream | string | null, threadId: string, runId: string): Response =>
  new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      ...runHeaders(threadId, runId),
    },
  });

/** Of a run whose events are no longer kept. */
export const END_FRAME = sseNamedFrame("end", "null");
