// Telemetry lines: in order, each with the time of what it tells, written a moment later.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { telemetryLines } from "../../durable-objects/telemetry-lines.ts";
import type { Telemetry } from "../../src/run/telemetry.ts";

let written: unknown[] = [];
beforeEach(() => {
  written = [];
  vi.useFakeTimers();
  vi.spyOn(console, "log").mockImplementation((line: string) => written.push(JSON.parse(line)));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const started: Telemetry = { type: "stream_attempt_started", payload: { providerId: "a", fallbackOccurred: false } };
const succeeded: Telemetry = {
  type: "stream_attempt_succeeded",
  payload: { providerId: "a", attemptedProviderIds: ["a"] },
};

test("R-DESC-2 what is told is written within 200 ms, a line each, in order and with its time", () => {
  const tell = telemetryLines("run-1");
  vi.setSystemTime(1000);
  tell(started);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(150);
  tell(succeeded);
  vi.advanceTimersByTime(50);
  const lines = [
    { ...started, runId: "run-1", timestamp: 1000 },
    { ...succeeded, runId: "run-1", timestamp: 1150 },
  ];
  expect(written).toEqual(lines);
  tell(started);
  vi.advanceTimersByTime(1000);
  expect(written).toEqual([...lines, { ...started, runId: "run-1", timestamp: 1200 }]);
});
