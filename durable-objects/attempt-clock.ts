// The clocks of one attempt (milliseconds): headers, first output, idle, progress, and a floor on bytes per second. One timer serves them all.
import type { AttemptClocks } from "../schemas/plan.ts";
import { OFF_MS, type Timer } from "./within.ts";

export type ClockFailure = "timeout_headers" | "timeout_ttft" | "timeout_idle" | "timeout_progress";

/** Window over which `minBytesPerSecond` is averaged. */
const FLOOR_WINDOW_MS = 30_000;

export interface AttemptClock {
  headers(): void;
  /** `at`: when they came. */
  bytes(count: number, at: number): void;
  /** Something was read that is more than a keep-alive. */
  event(output: boolean): void;
  stop(): void;
}

/** Starts at once. `onExpiry` runs at most once. */
export function attemptClock(
  clocks: AttemptClocks,
  now: () => number,
  onExpiry: (failure: ClockFailure, floor?: number) => void,
): AttemptClock {
  let startedAt = now();
  let phase: "headers" | "first" | "output" = "headers";
  let lastByte = startedAt;
  let lastEvent = startedAt;
  let windowStart = startedAt;
  let windowBytes = 0;
  let timer: Timer | undefined;
  /** When the timer is to fire. */
  let dueAt = startedAt;

  const deadlines = (): { at: number; failure: ClockFailure }[] => {
    const firstOutput = { at: startedAt + clocks.firstOutputMs, failure: "timeout_ttft" } as const;
    if (phase === "headers") return [{ at: startedAt + clocks.headersMs, failure: "timeout_headers" }, firstOutput];
    return [
      { at: lastByte + clocks.idleMs, failure: "timeout_idle" },
      { at: lastEvent + clocks.progressMs, failure: "timeout_progress" },
      ...(phase === "first" ? [firstOutput] : []),
    ];
  };

  const check = (): void => {
    const time = now();
    const due = deadlines().toSorted((left, right) => left.at - right.at);
    const expired = due.find(({ at }) => at <= time);
    if (expired !== undefined) return onExpiry(expired.failure);
    if (phase !== "headers" && clocks.minBytesPerSecond > 0 && time - windowStart >= FLOOR_WINDOW_MS) {
      const rate = (windowBytes * 1000) / (time - windowStart);
      if (rate < clocks.minBytesPerSecond) return onExpiry("timeout_progress", rate);
      windowStart = time;
      windowBytes = 0;
    }
    const floorAt = clocks.minBytesPerSecond > 0 ? windowStart + FLOOR_WINDOW_MS : Number.POSITIVE_INFINITY;
    arm(time, Math.max(1, Math.min(due[0]?.at ?? floorAt, floorAt) - time));
  };

  const arm = (time: number, wait: number): void => {
    dueAt = time + wait;
    timer = setTimeout(fire, wait);
  };

  /** Time in which nothing could be read is nobody's silence: what came then is still to be read, and no clock counts it. */
  const fire = (): void => {
    const time = now();
    const off = time - dueAt;
    if (Math.abs(off) <= OFF_MS) return check();
    startedAt += off;
    lastByte = lastEvent = windowStart = time;
    windowBytes = 0;
    arm(time, OFF_MS);
  };
  check();

  const rearm = (): void => {
    if (timer !== undefined) clearTimeout(timer);
    check();
  };

  return {
    headers() {
      phase = "first";
      lastByte = lastEvent = windowStart = now();
      rearm();
    },
    // Bytes and events only push deadlines out, so the timer finds the new ones when it fires.
    bytes(count, at) {
      lastByte = at;
      windowBytes += count;
    },
    event(output) {
      lastEvent = now();
      if (output) phase = "output";
    },
    stop() {
      if (timer !== undefined) clearTimeout(timer);
    },
  };
}
