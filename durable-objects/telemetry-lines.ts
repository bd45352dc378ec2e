// A run's telemetry as log lines. A line takes as long to write as a token takes to arrive: none is written while the first one is waited for.
import type { Telemetry } from "../src/run/telemetry.ts";

/** Milliseconds until what is told is written. */
const WRITE_AFTER_MS = 200;

/** Tells the operator's log, in order, with the time at which it was told. */
export function telemetryLines(runId: string): (telemetry: Telemetry) => void {
  let lines: string[] = [];

  const write = (): void => {
    for (const line of lines) console.log(line);
    lines = [];
  };

  return ({ type, payload }) => {
    if (lines.length === 0) setTimeout(write, WRITE_AFTER_MS);
    lines.push(JSON.stringify({ type, runId, timestamp: Date.now(), payload }));
  };
}
