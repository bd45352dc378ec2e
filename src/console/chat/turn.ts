// One turn that is followed to its end: begun or taken up, read frame by frame, and after every lost connection asked for again
// from the last frame seen. It never pays twice: what is sent again is the same turn to the server. It interprets no event.
import type { Fields } from "../fields.ts";
import { type Attempt, keepAsking, type Pauses, usualPauses } from "../keep-asking.ts";
import { type ChatProblem, noAnswer } from "./problem.ts";
import { problemOf, runPath, type Send, type SvedaRequest } from "./sveda-api.ts";
import { svedaReader } from "./sveda-frames.ts";
import type { TurnBody } from "./turn-body.ts";

export type TurnNotice =
  | { readonly kind: "accepted"; readonly runId: string | null }
  | { readonly kind: "event"; readonly type: string; readonly event: Fields }
  | { readonly kind: "lost"; readonly retryInMs: number }
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly problem: ChatProblem };

export type Turn = {
  /** Stops reading. The turn itself goes on at the server. */
  readonly close: () => void;
};

/** `ask`: begin the turn; `read`: it runs already, or has ended. */
export type TurnStart =
  | { readonly kind: "ask"; readonly body: TurnBody }
  | { readonly kind: "read"; readonly runId: string };

export const followTurn = (
  send: Send,
  start: TurnStart,
  notify: (notice: TurnNotice) => void,
  pauses: Pauses = usualPauses,
): Turn => {
  const closed = new AbortController();
  let runId: string | null = null;
  let cursor: string | undefined;

  const tell = (notice: TurnNotice): void => {
    if (!closed.signal.aborted) notify(notice);
  };

  /** True when there is nothing more to read. */
  const tryOnce = async (attempt: Attempt): Promise<boolean> => {
    const answer = await send({ ...request(start, runId, cursor), signal: attempt.signal });
    if (!answer.ok) return answer.problem.status === null ? false : refuse(answer.problem);
    const response = answer.value;
    if (!response.ok) {
      const problem = await problemOf(response);
      // A turn that the server has taken is there, whatever it says for the moment.
      return (runId !== null || start.kind === "read") && (response.status >= 500 || response.status === 429)
        ? false
        : refuse(problem);
    }
    runId = response.headers.get("X-Run-Id") ?? runId;
    tell({ kind: "accepted", runId });
    return readAll(response, attempt);
  };

  const readAll = async (response: Response, { alive, heard }: Attempt): Promise<boolean> => {
    const reader = response.body?.getReader();
    if (reader === undefined) return false;
    const frames = svedaReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        alive();
        for (const frame of frames.feed(read.value)) {
          if (frame.kind === "too_large")
            return refuse({ ...noAnswer, code: "too_large", message: "An event was too large." });
          heard();
          cursor = frame.id ?? cursor;
          if (frame.kind === "done") {
            tell({ kind: "done" });
            return true;
          }
          tell({ kind: "event", type: frame.type, event: frame.event });
        }
      }
      return false;
    } catch {
      return false;
    } finally {
      reader.cancel().catch(() => {});
    }
  };

  const refuse = (problem: ChatProblem): true => {
    tell({ kind: "refused", problem });
    return true;
  };

  const lost = (retryInMs: number): void => tell({ kind: "lost", retryInMs });
  keepAsking(tryOnce, lost, closed.signal, pauses).catch(reportError);
  return { close: () => closed.abort() };
};

const request = (start: TurnStart, runId: string | null, cursor: string | undefined): SvedaRequest => {
  if (start.kind === "read") return readRequest(start.runId, cursor);
  if (runId !== null) return readRequest(runId, cursor);
  const { body, identity } = start.body;
  const headers = {
    Accept: "text/event-stream",
    "Content-Type": "application/json",
    // Ids come from a model's provider; a header takes less.
    "Idempotency-Key": encodeURIComponent(identity),
  };
  return { method: "POST", path: "/sveda/stream", headers, body: JSON.stringify(body) };
};

const readRequest = (runId: string, cursor: string | undefined): SvedaRequest => ({
  method: "GET",
  path: runPath(runId),
  headers: { Accept: "text/event-stream", ...(cursor !== undefined && { "Last-Event-ID": cursor }) },
});
