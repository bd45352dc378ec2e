// How a run looks from outside: its handle, its state, and where a new reader starts. Reads only.
import type { AttachQuery } from "../schemas/attach.ts";
import type { LogEntry } from "../schemas/event.ts";
import { PUSHED } from "../schemas/push.ts";
import type { Cost, RunHandle, RunStateView } from "../schemas/run.ts";
import type { Seen } from "../src/dialects/dialect.ts";
import { provenanceOf, totalUsage } from "../src/run/outcome.ts";
import type { RunState } from "../src/run/state.ts";
import type { RunRow } from "./run-row.ts";
import type { Transcript } from "./transcript.ts";

export function handleOf({ plan, startedAt }: RunRow): RunHandle {
  const providerId = plan.push === undefined ? plan.chain[0]?.id : PUSHED;
  return { schemaVersion: "1.0", runId: plan.runId, startedAt, ...(providerId !== undefined && { providerId }) };
}

/** Of a finished run only the outcome counts: of a swept one there is nothing else. */
export function stateOf(row: RunRow, state: RunState, lastSequence: number, cost: Cost): RunStateView {
  const { outcome } = state;
  const provenance = outcome?.provenance ?? provenanceOf(state);
  const attempts = provenance?.attempts ?? [];
  const usage = outcome?.usage ?? totalUsage(state.attempts, state.asides);
  return {
    schemaVersion: "1.0",
    runId: row.plan.runId,
    status: row.status,
    startedAt: row.startedAt,
    lastSequence,
    attempts,
    steps: new Set(attempts.map(({ step }) => step)).size,
    ...(usage !== undefined && { usage }),
    ...(provenance !== undefined && { provenance }),
    recoveries: row.recoveries,
    cost,
    ...(row.plan.metadata !== undefined && { metadata: row.plan.metadata }),
  };
}

export interface Position {
  /** Last sequence the reader counts as seen. */
  cursor: number;
  /** Stands for everything up to the cursor. */
  opening: LogEntry | undefined;
}

/** `end` is the last visible sequence, the terminal's never: a reader always sees how the run ended. */
export function positionOf(from: AttachQuery["from"], end: number, transcript: () => Transcript): Position {
  if (from === "snapshot" && end >= 0) {
    const { text, reasoning, at } = transcript();
    const payload = JSON.stringify({ text, reasoning, covers: end });
    return { cursor: end, opening: { sequence: end, at, type: "content_snapshot", payload } };
  }
  if (from === "now" || from === "snapshot") return { cursor: end, opening: undefined };
  // The id of a frame is nothing to a reader of entries.
  return { cursor: typeof from === "object" && "after" in from ? from.after : -1, opening: undefined };
}

/** A reader of frames starts at the beginning where one of entries would have the merged state. */
export function seenOf(from: AttachQuery["from"], end: number): Seen {
  if (from === "start" || from === "snapshot") return "nothing";
  return from === "now" ? { after: end } : from;
}
