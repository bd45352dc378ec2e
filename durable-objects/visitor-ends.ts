// How turns of a visitor come to their ends: by the news of their runs, by being told to, or because their runs were never started. Stores nothing itself.
import type { TurnEnd, TurnEndAnswer } from "../schemas/chat.ts";
import { turnFinish } from "../src/dialects/sveda-end.ts";
import type { CancelAnswer, RunCalls } from "./run-calls.ts";
import type { VisitorChats } from "./visitor-chats.ts";
import type { VisitorStore } from "./visitor-store.ts";
import { within } from "./within.ts";

/** A turn whose run is not known so long after the turn began was left by whoever was to start it. */
const STARTING_MS = 15_000;
/** How long a turn that is about to start is waited for at a time. */
const STARTING_POLL_MS = 250;
/** How long the news of a run's end may take once the run has ended. */
const NEWS_MS = 5_000;
/** How many turns are asked whether they still run. */
const MAX_VERIFIED = 32;

export interface VisitorEnds {
  /** Keeps how a turn ended. */
  end(end: TurnEnd): TurnEndAnswer;
  /** The run of this turn was not started. */
  lose(runId: string): void;
  /** Nobody will start the run of this turn. */
  undo(runId: string): void;
  /** One step towards the end of a running turn; whoever wants it ended looks again afterwards. `wait`: it ends by itself. */
  hasten(runId: string, how: "cancel" | "wait"): Promise<void>;
  /** A turn that was begun long ago and whose run was never started runs no more. */
  giveUp(runId: string): Promise<void>;
  /** Turns count as long as they run: those that were never started, or whose news is late, do not. */
  verify(): Promise<void>;
  /** Ends the run of a turn that is forgotten, now or once it is started. */
  drop(runId: string): Promise<void>;
}

export function visitorEnds(
  ctx: DurableObjectState,
  store: VisitorStore,
  chats: VisitorChats,
  runs: RunCalls,
): VisitorEnds {
  /** By run: told when its turn has ended, was given up, or is forgotten. */
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

  const end = (news: TurnEnd): TurnEndAnswer => {
    const answer = chats.end(news, Date.now());
    tell(news.runId);
    return answer;
  };

  const lose = (runId: string): void => {
    chats.lose(runId);
    tell(runId);
  };

  const undo = (runId: string): void => {
    chats.undo(runId);
    tell(runId);
  };

  const hasten = async (runId: string, how: "cancel" | "wait"): Promise<void> => {
    const told = ended(runId);
    const word = how === "cancel" ? await runs.cancel(runId, "superseded") : await runs.statusOf(runId);
    const turn = store.turn(runId);
    if (turn?.state !== "begun") return tell(runId);
    if (word === "unknown") {
      if (Date.now() - turn.at >= STARTING_MS) lose(runId);
      else await within(told, STARTING_POLL_MS);
      return;
    }
    if ((await within(told, NEWS_MS)) || word === "running") return;
    // The run has ended, and its news does not come: what it had shown is kept without it.
    const answer = typeof word === "object" ? word : await runs.cancel(runId, "superseded");
    if (typeof answer === "object") end(endWithoutNews(runId, answer));
  };

  const dropped = async (runId: string): Promise<boolean> => {
    try {
      return (await runs.cancel(runId, "deleted")) !== "unknown";
    } catch {
      return false;
    }
  };

  const dropOnceStarted = async (runId: string): Promise<void> => {
    const until = Date.now() + STARTING_MS;
    const never = Promise.withResolvers<void>();
    while (Date.now() < until) {
      await within(never.promise, STARTING_POLL_MS);
      if (await dropped(runId)) return;
    }
  };

  return {
    end,
    lose,
    undo,
    hasten,
    async giveUp(runId) {
      const isOverdue = (): boolean => {
        const turn = store.turn(runId);
        return turn?.state === "begun" && Date.now() - turn.at >= STARTING_MS;
      };
      if (isOverdue() && (await runs.statusOf(runId)) === "unknown" && isOverdue()) lose(runId);
    },
    async verify() {
      await Promise.all(
        store
          .begunTurns()
          .slice(0, MAX_VERIFIED)
          .map(async ({ runId }) => {
            const word = await runs.statusOf(runId);
            if (word !== "running") await hasten(runId, "wait");
          }),
      );
    },
    async drop(runId) {
      tell(runId);
      if (!(await dropped(runId))) ctx.waitUntil(dropOnceStarted(runId));
    },
  };
}

function endWithoutNews(runId: string, { outcome }: Exclude<CancelAnswer, string>): TurnEnd {
  const text = outcome?.outcome === "completed" ? outcome.finalText : (outcome?.partialText ?? "");
  return {
    runId,
    chatId: "",
    at: 0,
    outcome: outcome?.outcome ?? "cancelled",
    ...(outcome !== undefined && { finish: turnFinish(outcome, undefined) }),
    text,
    reasoning: "",
    carried: [],
    steps: [{ text, reasoning: "", calls: [] }],
    titles: [],
    incomplete: true,
  };
}
