// How the end of a turn reaches the object of the visitor whose chat it belongs to: told until it is acknowledged. Keeps no chat itself.
import type { TurnEnd, TurnEndAnswer } from "../schemas/chat.ts";
import type { ChatRef } from "../schemas/plan.ts";
import type { CallableTool } from "../schemas/tool.ts";
import { turnFinish } from "../src/dialects/sveda-end.ts";
import { summaryQuestion } from "../src/run/side-questions.ts";
import { fitTurnEnd } from "../src/run/fit-turn-end.ts";
import type { RunState } from "../src/run/state.ts";
import { turnEnd } from "../src/run/turn-end.ts";
import { pass } from "./gate.ts";
import { foldLog } from "./run-fold.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";
import { askAside } from "./side-question.ts";
import { answersWithin, END_WAIT_MS } from "./within.ts";

export interface ChatDelivery {
  /**
   * Tells the run's chat how the run ended, unless it knows. False when it has not acknowledged that in time. `state`: the run's,
   * when all of it is in memory.
   */
  tell(state?: RunState): Promise<boolean>;
}

export function chatDelivery(ctx: DurableObjectState, env: Env, store: RunLogStore, row: RunRow): ChatDelivery {
  const { chat, tenant, chain } = row.plan;
  if (chat === undefined) return { tell: () => Promise.resolve(true) };
  // Anew for each call: a stub whose object has died stays broken.
  const visitor = () => env.VISITOR.getByName(`${tenant}/${chat.visitor}`);

  async function tellOnce(end: TurnEnd): Promise<void> {
    const { summarize } = await visitor().endTurn(fitTurnEnd(end));
    await pass("told", ctx);
    if (!row.told) store.markTold();
    row.told = true;
    if (summarize !== undefined) ctx.waitUntil(sumUp(summarize).catch(() => undefined));
  }

  /** A conversation that nobody sums up now is summed up after a later turn. */
  async function sumUp({ text, through }: NonNullable<TurnEndAnswer["summarize"]>): Promise<void> {
    const [target] = chain;
    const summary = target && (await askAside(env, target, summaryQuestion(text)));
    if (chat === undefined || summary === undefined || summary.trim() === "") return;
    await visitor().summarized({ chatId: chat.chatId, through, summary: summary.trim() });
  }

  return {
    async tell(state) {
      if (row.told) return true;
      const end = state === undefined ? storedEnd(row, store, chat) : endOf(state, chat, row.plan.agent?.tools);
      if (end === undefined) return false;
      await answersWithin(tellOnce(end), END_WAIT_MS);
      return row.told;
    },
  };
}

function endOf(state: RunState, chat: ChatRef, tools?: readonly CallableTool[]): TurnEnd | undefined {
  const end = turnEnd(state, chat, tools);
  if (end === undefined || state.outcome === undefined) return undefined;
  return { ...end, finish: turnFinish(state.outcome, state.charter.agent?.maxSteps) };
}

/** Of a damaged log the outcome is left, which has the text. */
function storedEnd(row: RunRow, store: RunLogStore, chat: ChatRef): TurnEnd | undefined {
  const { state, damaged } = foldLog(row, store);
  if (!damaged) return endOf(state, chat, row.plan.agent?.tools);
  const { state: ended } = foldLog(row, store, (row.terminal ?? 0) - 1);
  const { outcome } = ended;
  const text = outcome?.outcome === "completed" ? outcome.finalText : (outcome?.partialText ?? "");
  const end = endOf({ ...ended, text }, chat);
  return end && { ...end, steps: [{ text, reasoning: "", calls: [] }] };
}
