// Rebuilds a run's state from its stored log: what a restarted object does before anything else.
import * as v from "valibot";
import { logEventSchema, type LogEntry, type LogEvent } from "../schemas/event.ts";
import { evolve, initialState, type RunState } from "../src/run/state.ts";
import { parseJson } from "../src/wire/json.ts";
import type { RunLogStore, RunRow } from "./run-log-store.ts";

export function acceptedState({ plan, startedAt }: RunRow): RunState {
  const { runId, chain, policies, limits, decision } = plan;
  const { onMidStreamFailure } = policies;
  const { maxOutputBytes } = limits;
  return initialState({ runId, startedAt, chain, onMidStreamFailure, maxOutputBytes, decision });
}

/** All stored entries applied, page by page. An entry of a type this version does not know only moves the number. */
export function foldLog(row: RunRow, store: RunLogStore): RunState {
  let state = acceptedState(row);
  for (let page = store.read(-1); page.length > 0; page = store.read(state.nextSequence - 1)) {
    for (const entry of page) {
      const event = parseEntry(entry);
      state = event === undefined ? { ...state, nextSequence: entry.sequence + 1 } : evolve(state, event);
    }
  }
  return state;
}

function parseEntry(entry: LogEntry): LogEvent | undefined {
  const parsed = v.safeParse(logEventSchema, { ...entry, payload: parseJson(entry.payload)?.value });
  return parsed.success ? parsed.output : undefined;
}
