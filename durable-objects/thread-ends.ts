// How runs of a thread come to their ends: by their news, by being told to, or because they were never started. Stores nothing itself.
import { ROLLBACK, type ThreadNews, type ThreadNewsAnswer, type ThreadRunEnd } from "../schemas/thread.ts";
import type { Outcome } from "../schemas/outcome.ts";
import { endingOf } from "../src/thread/ending.ts";
import { pass } from "./gate.ts";
import type { CancelAnswer, RunCalls } from "./run-calls.ts";
import type { ThreadNewsDesk } from "./thread-news.ts";
import type { ThreadOpenings } from "./thread-openings.ts";
import type { ThreadRunRow, ThreadRunStore } from "./thread-run-store.ts";
import { within } from "./within.ts";

/** A run that is not known so long after it began was left by whoever was to start it. */
export const STARTING_MS = 15_000;
/** How long a run that is about to start is waited for at a time. */
const STARTING_POLL_MS = 250;
/** How long the news of a run's end may take once the run has ended. */
const NEWS_MS = 5_000;

export type CancelAction = "interrupt" | "rollback";

export interface ThreadEnds {
  /** Settles when a run that is active now has ended, or was given up. */
  ended(runId: string): Promise<void>;
  take(news: ThreadNews): ThreadNewsAnswer;
  /** Nobody will start this run. */
  undo(runId: string, how: "gone" | "lost"): void;
  /** One step towards the end of a run; whoever wants it ended looks again afterwards. */
  hasten(runId: string, action: CancelAction): Promise<void>;
  /** The run ends before long, whatever becomes of the caller. */
  cancel(runId: string, action: CancelAction): Promise<void>;
  /** A run that was never started, or is not there any more, runs no more; nor does one that has ended and whose news is late. */
  verify(runId: string): Promise<void>;
}

interface Parts {
  ctx: DurableObjectState;
  runs: ThreadRunStore;
  calls: RunCalls;
  openings: ThreadOpenings;
  news: ThreadNewsDesk;
  /** Something has changed that others are to be told. */
  changed(): void;
}

export function threadEnds({ ctx, runs, calls, openings, news, changed }: Parts): ThreadEnds {
  /** By run: told when it has ended, or was given up. */
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  const ended = (runId: string): Promise<void> => {
    const known = waiting.get(runId) ?? Promise.withResolvers<void>();
    waiting.set(runId, known);
    return known.promise;
  };

  const tell = (runId: string): void => {
    waiting.get(runId)?.resolve();
    waiting.delete(runId);
  };

  const liveRun = (runId: string): ThreadRunRow | undefined => {
    const run = runs.run(runId);
    return run?.status === "pending" || run?.status === "running" ? run : undefined;
  };

  const undo = (runId: string, how: "gone" | "lost"): void => {
    openings.undo(runId, how);
    changed();
    if (liveRun(runId) === undefined) tell(runId);
  };

  const endWithout = (runId: string, end: ThreadRunEnd): void => {
    news.endWithout(runId, end, Date.now());
    changed();
    tell(runId);
  };

  /** The run's object does not know the run. */
  const missing = (run: ThreadRunRow): boolean => {
    if (run.status === "running") endWithout(run.runId, LOST);
    else if (Date.now() - run.createdAt >= STARTING_MS) undo(run.runId, "lost");
    else return false;
    return true;
  };

  const settle = async (run: ThreadRunRow, answer: Exclude<CancelAnswer, string>): Promise<void> => {
    if (await within(ended(run.runId), NEWS_MS)) return;
    endWithout(run.runId, answer.outcome === undefined ? LOST : endOf(answer.outcome));
  };

  const hasten = async (runId: string, action: CancelAction): Promise<void> => {
    const run = liveRun(runId);
    if (run === undefined) return;
    if (run.pushed) return endWithout(runId, stopped(action));
    const told = ended(runId);
    const answer = await calls.cancel(runId, reasons[action]);
    await pass("cancelled", ctx);
    const live = liveRun(runId);
    if (live === undefined) return tell(runId);
    if (answer === "unknown") {
      if (!missing(live)) await within(told, STARTING_POLL_MS);
    } else if (answer === "running") await within(told, NEWS_MS);
    else await settle(live, answer);
  };

  const hastenOnceStarted = async (runId: string, action: CancelAction): Promise<void> => {
    while (liveRun(runId)?.cancel !== undefined) await hasten(runId, action);
  };

  return {
    ended,

    take(told) {
      const answer = news.take(told, Date.now());
      if (!answer.known) {
        tell(told.runId);
        return answer;
      }
      changed();
      const run = liveRun(told.runId);
      if (run === undefined) tell(told.runId);
      // It was to be cancelled before it was started.
      else if (run.cancel !== undefined) ctx.waitUntil(calls.cancel(told.runId, run.cancel).catch(() => undefined));
      return answer;
    },

    undo,
    hasten,

    async cancel(runId, action) {
      const run = liveRun(runId);
      if (run === undefined) return;
      if (run.pushed) return endWithout(runId, stopped(action));
      runs.save({ ...run, cancel: run.cancel ?? reasons[action] });
      changed();
      const answer = await calls.cancel(runId, reasons[action]);
      if (answer === "unknown") ctx.waitUntil(hastenOnceStarted(runId, action).catch(() => undefined));
    },

    async verify(runId) {
      const run = liveRun(runId);
      if (run === undefined || run.pushed) return;
      const word = await calls.statusOf(runId);
      await pass("looked", ctx);
      const live = liveRun(runId);
      if (live === undefined) return;
      if (word === "running") {
        if (live.status === "pending") runs.save({ ...live, status: "running" });
        if (live.cancel !== undefined) await calls.cancel(runId, live.cancel);
      } else if (word === "unknown") missing(live);
      else {
        const answer = await calls.cancel(runId, reasons.interrupt);
        if (typeof answer === "object") await settle(live, answer);
      }
    },
  };
}

const reasons: Record<CancelAction, string> = { interrupt: "interrupted", rollback: ROLLBACK.reason };

/** Of a run whose object does not know it any more. */
const LOST: ThreadRunEnd = {
  status: "error",
  stopReason: "orphan_recovered",
  error: "The run was lost.",
  interrupts: [],
};

/** The inputs of its open calls are told by the run alone. */
function endOf(outcome: Outcome): ThreadRunEnd {
  const pending = outcome.outcome === "completed" ? (outcome.pending ?? []) : [];
  const calls = pending.map(({ confirmation, ...call }) => ({
    ...call,
    input: {},
    ...(confirmation !== undefined && { confirmation }),
  }));
  return endingOf(outcome, calls);
}

const stopped = (action: CancelAction): ThreadRunEnd =>
  action === "rollback"
    ? { status: "error", stopReason: null, error: ROLLBACK.error, interrupts: [] }
    : { status: "interrupted", stopReason: null, error: null, interrupts: [] };
