// When the object of a run wakes by itself, and when what it keeps goes. Reads no clock.
import type { RunRow } from "./run-row.ts";

/** While a run is live an alarm stands at most this far ahead, so that a run whose object died is found. */
export const LIVE_ALARM_MS = 30_000;
/** The end of a turn is told again after this long at most. */
const MAX_PAUSE_MS = 3_600_000;

/** When a finished run's events go, and when the rest. Unix epoch, milliseconds. */
export function retentionTimes({ sealedAt = 0, plan }: RunRow): [sweepAt: number, wipeAt: number] {
  const { retentionEventsMs, retentionOutcomeMs } = plan.limits;
  return [sealedAt + retentionEventsMs, sealedAt + retentionOutcomeMs];
}

/** A live run is looked after again soon, or ended by its total clock. */
export const liveAlarm = ({ startedAt, plan }: RunRow, now: number): number =>
  Math.min(now + LIVE_ALARM_MS, startedAt + plan.totalMs);

/** When an end that nobody has acknowledged is told again: the longer that has lasted, the later. */
export function retellAt(row: RunRow, now: number): number {
  const pause = Math.min(Math.max(now - (row.sealedAt ?? now), LIVE_ALARM_MS), MAX_PAUSE_MS);
  // A thread's records outlive its runs: they go nowhere before the thread has them.
  return row.plan.thread === undefined ? Math.min(now + pause, retentionTimes(row)[1]) : now + pause;
}
