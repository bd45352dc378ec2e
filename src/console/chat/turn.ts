// One turn that is followed to its end: begun or taken up, read frame by frame, and after every lost connection asked for again
// from the last frame seen. It never pays twice: what is sent again is the same turn to the server. It interprets no event.
import type { Fields } from "../fields.ts";
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

/** Milliseconds. `silence`: without a byte, not even a heartbeat, the connection counts as lost. */
export type Pauses = { readonly first: number; readonly longest: number; readonly silence: number };

const usualPauses: Pauses = { first: 500, longest: 15_000, silence: 75_000 };

export const followTurn = (
  send: Send,
  start: TurnStart,
  notify: (notice: TurnNotice) => void,
  pauses: Pauses = usualPauses,
): Turn => {
  const closed = new AbortController();
  let runId: string | null = null;
  let cursor: string | undefined;
  let failures = 0;

  const tell = (notice: TurnNotice): void => {
    if (!closed.signal.aborted) notify(notice);
  };

  /** True when there is nothing more to read. */
  const tryOnce = async (signal: AbortSignal, alive: () => void): Promise<boolean> => {
    const answer = await send({ ...request(start, runId, cursor), signal });
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
    return readAll(response, alive);
  };

  const readAll = async (response: Response, alive: () => void): Promise<boolean> => {
    const reader = response.body?.getReader();
    if (reader === undefined) return false;
    const frames = svedaReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        alive();
        for (const frame of frames.feed(read.value)) {
          if (frame.kind === "too_large")
            return refuse({ ...noAnswer, code: "too_large", message: "An event was too large." });
          failures = 0;
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

  const follow = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      const silent = new AbortController();
      let timer = setTimeout(() => silent.abort(), pauses.silence);
      const alive = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), pauses.silence);
      };
      try {
        if (await tryOnce(AbortSignal.any([closed.signal, silent.signal]), alive)) return;
      } finally {
        clearTimeout(timer);
      }
      if (closed.signal.aborted) return;
      const retryInMs = Math.min(pauses.first * 2 ** failures, pauses.longest);
      failures += 1;
      tell({ kind: "lost", retryInMs });
      await pause(retryInMs, closed.signal);
    }
  };

  follow().catch(reportError);
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

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
