// Rebuilds a run's state from its stored log: what a restarted object does before anything else.
import * as v from "valibot";
import { logEventSchema, type LogEntry, type LogEvent } from "../schemas/event.ts";
import { evolve, initialState, type RunState } from "../src/run/state.ts";
import { parseJson } from "../src/wire/json.ts";
import type { RunLogStore, RunRow } from "./run-row.ts";

export function acceptedState({ plan, startedAt }: RunRow): RunState {
  const { runId, chain, policies, limits, decision, totalMs, asks, hedgeAfterMs } = plan;
  const { onMidStreamFailure } = policies;
  const { maxOutputBytes, maxRecoveries, retryBudgetMs } = limits;
  return initialState({
    runId,
    startedAt,
    chain,
    onMidStreamFailure,
    maxOutputBytes,
    maxRecoveries,
    retryBudgetMs,
    totalMs,
    hedgeAfterMs,
    asks,
    decision,
  });
}

/** All stored entries after `after` applied, segment by segment; up to the first damaged one, if there is any. */
export function foldLog(row: RunRow, store: RunLogStore, after = -1): { state: RunState; damaged: boolean } {
  let state: RunState = { ...acceptedState(row), nextSequence: after + 1 };
  for (;;) {
    const page = store.read(state.nextSequence - 1);
    if ("damagedTo" in page) return { state, damaged: true };
    if (page.entries.length === 0) return { state, damaged: false };
    state = page.entries.reduce(applyEntry, state);
  }
}

/** An entry of a type that this version does not know only moves the number. */
function applyEntry(state: RunState, entry: LogEntry): RunState {
  const event = parseEntry(entry);
  return event === undefined ? { ...state, nextSequence: entry.sequence + 1 } : evolve(state, event);
}

function parseEntry({ sequence, at, type, payload }: LogEntry): LogEvent | undefined {
  const parsed = v.safeParse(logEventSchema, { sequence, at, type, payload: parseJson(payload)?.value });
  return parsed.success ? parsed.output : undefined;
}
