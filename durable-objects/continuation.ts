// A run that goes on from another: what the earlier one hands over, and how it is claimed, by one run only.
import type { Continuation } from "../schemas/continuation.ts";
import type { Outcome } from "../schemas/outcome.ts";
import type { RunPlan } from "../schemas/plan.ts";
import type { CallRecord } from "../schemas/tool.ts";
import { withTool } from "../src/run/call-tools.ts";
import { fitMessages } from "../src/run/fit-messages.ts";
import { messagesOf } from "../src/providers/conversation.ts";
import { turns } from "../src/run/turns.ts";
import { foldLog } from "./run-fold.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";

/** UTF-8 bytes of a conversation that is handed on; what is older is cut. The platform carries 32 MiB, and up to twice the bytes of a text. */
const MAX_CONVERSATION = 8 * 1024 * 1024;

/** Whether another run may go on from this end: with what its calls wait for, or from its limit of steps. A turn of a chat is continued by its chat. */
export function isContinuable({ plan }: RunRow, outcome: Outcome): boolean {
  if (plan.chat !== undefined || plan.push !== undefined || outcome.outcome !== "completed") return false;
  return outcome.stopReason === "tool_calls" || outcome.stopReason === "max_steps";
}

/** Reads the whole log: a run that has ended holds little of it in memory. */
export function continuationOf(row: RunRow, store: RunLogStore): Continuation {
  const request = row.terminal === undefined ? undefined : store.request();
  if (request === undefined) return { found: false, refused: row.swept ? "gone" : "not_waiting" };
  const { state, damaged } = foldLog(row, store);
  if (damaged) return { found: false, refused: "gone" };
  const open = [...state.carried, ...state.calls].filter(({ result }) => result === undefined);
  const added = turns(state);
  const whole = [...messagesOf(request), ...added];
  const fitting = fitMessages(whole, MAX_CONVERSATION);
  const { thread } = row.plan;
  return {
    found: true,
    ...(fitting === whole ? { request, turns: added } : { request: { ...request, messages: fitting }, turns: [] }),
    open: open
      .map((call) => withTool<CallRecord>(call, row.plan.agent?.tools ?? []))
      .map(({ toolCallId, toolName, input, inputJson, execution, confirmation, echo, tool }) => ({
        toolCallId,
        toolName,
        input,
        ...(inputJson !== undefined && { inputJson }),
        execution,
        ...(confirmation !== undefined && { confirmation }),
        ...(echo !== undefined && { echo }),
        ...(tool !== undefined && { tool }),
      })),
    ...(thread !== undefined && {
      thread: { threadId: thread.threadId, chain: thread.chain, modes: [...thread.modes] },
    }),
  };
}

/** Asks an object twice: one that has died in between answers the second time. */
async function twice<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch {
    return ask();
  }
}

/** Whether there is a run of this name; one that is just being started is waited for. */
export const runExists = (env: Env, tenant: string, runId: string): Promise<boolean> =>
  twice(() => env.RUN.getByName(`${tenant}/${runId}`).exists());

type Claimant = Pick<RunPlan, "tenant" | "runId" | "continues">;

/** Claims the run that this one goes on from. False when another run does so already. */
export async function claimPrevious(env: Env, { tenant, runId, continues }: Claimant): Promise<boolean> {
  if (continues === undefined) return true;
  return twice(() => env.RUN.getByName(`${tenant}/${continues}`).claim(runId));
}

/** The run was accepted: what it goes on from cannot be claimed again, whatever becomes of this run. */
export async function settlePrevious(env: Env, { tenant, runId, continues }: Claimant): Promise<void> {
  if (continues !== undefined) await twice(() => env.RUN.getByName(`${tenant}/${continues}`).settleClaim(runId));
}
