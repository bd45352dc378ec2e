// Rebuilds a run's state from its stored log: what a restarted object does before anything else.
import type { AskPlan } from "../schemas/ask.ts";
import type { LogEntry } from "../schemas/event.ts";
import type { StartRequest } from "../schemas/run.ts";
import { messagesOf } from "../src/providers/conversation.ts";
import { evolve, passOver } from "../src/run/evolve.ts";
import { initialState, type Found, type RunState } from "../src/run/state.ts";
import { begunIn } from "../src/run/turns.ts";
import { eventOf } from "../src/wire/log-entry.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";

/** The row of a run that is accepted now. */
export function acceptedRow(plan: RunRow["plan"], startedAt: number): RunRow {
  return {
    plan,
    status: "running",
    startedAt,
    sealedAt: undefined,
    terminal: undefined,
    swept: false,
    recoveries: 0,
    attached: false,
    continuedBy: undefined,
    told: false,
    projected: -1,
    producer: undefined,
  };
}

/** `request`: that of a run that lives. */
export function acceptedState({ plan, startedAt }: RunRow, request?: StartRequest): RunState {
  const { runId, chain, policies, limits, decision, totalMs, asks, hedgeAfterMs, agent, ask } = plan;
  const { onMidStreamFailure } = policies;
  const { maxOutputBytes, maxRecoveries, retryBudgetMs } = limits;
  const begun = request === undefined ? "" : begunIn(messagesOf(request));
  return initialState({
    runId,
    ...(begun !== "" && { begun }),
    startedAt,
    chain,
    onMidStreamFailure,
    // A plan that was stored before this was asked says nothing.
    replaces: policies.replaces !== false,
    maxOutputBytes,
    maxRecoveries,
    retryBudgetMs,
    totalMs,
    hedgeAfterMs,
    asks,
    decision,
    ...(plan.push !== undefined && { isPushed: true }),
    agent: agent && {
      maxSteps: agent.maxSteps,
      tools: agent.tools,
      carried: agent.carried,
      callIds: agent.callIds,
      ...(agent.title !== undefined && { title: agent.title }),
    },
    ...(ask !== undefined && (ask.research === undefined ? { found: foundBy(ask) } : { researches: true })),
  });
}

/** Nothing was looked for when the question could not be split. */
export const foundBy = ({ hits, trace, refusal }: AskPlan): Found => ({
  ...(refusal?.reason !== "multi_hop_decompose_failed" && {
    retrieval: { hits, ...(trace !== undefined && { trace }) },
  }),
  ...(refusal !== undefined && { refusal: refusal.text }),
});

/** All stored entries after `after` applied, segment by segment; up to the first damaged one, if there is any. */
export function foldLog(
  row: RunRow,
  store: RunLogStore,
  after = -1,
  request?: StartRequest,
): { state: RunState; damaged: boolean } {
  let state: RunState = { ...acceptedState(row, request), nextSequence: after + 1 };
  for (;;) {
    const page = store.read(state.nextSequence - 1);
    if ("damagedTo" in page) return { state, damaged: true };
    if (page.entries.length === 0) return { state, damaged: false };
    state = page.entries.reduce(applyEntry, state);
  }
}

/** An entry of a type that this version does not know only moves the number. */
function applyEntry(state: RunState, entry: LogEntry): RunState {
  const event = eventOf(entry);
  return event === undefined ? passOver(state, entry) : evolve(state, event);
}
