// The clocks of one attempt in virtual time: each class at its moment, and what pushes it out. No real time passes.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { attemptClock, type ClockFailure } from "../../durable-objects/attempt-clock.ts";
import type { AttemptClocks } from "../../schemas/plan.ts";

const clocks: AttemptClocks = {
  headersMs: 1000,
  firstOutputMs: 3000,
  idleMs: 1500,
  progressMs: 2500,
  minBytesPerSecond: 0,
};

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Expiry {
  at: number;
  failure: ClockFailure;
  floor: number | undefined;
}

function started(fields: Partial<AttemptClocks> = {}) {
  const expiries: Expiry[] = [];
  const clock = attemptClock({ ...clocks, ...fields }, Date.now, (failure, floor) => {
    expiries.push({ at: Date.now(), failure, floor });
  });
  return { clock, expiries };
}
const pass = (ms: number): void => {
  vi.advanceTimersByTime(ms);
};
/** The time goes on, or back, and no timer sees it. */
const stoodStill = (ms: number): void => {
  vi.setSystemTime(Date.now() + ms);
};
const only = (at: number, failure: ClockFailure): Expiry[] => [{ at, failure, floor: undefined }];

describe("R-CLOCK-1 in virtual time", () => {
  test("headersMs: to the millisecond, and once", () => {
    const { expiries } = started();
    pass(999);
    expect(expiries).toEqual([]);
    pass(100_000);
    expect(expiries).toEqual(only(1000, "timeout_headers"));
  });

  test("firstOutputMs counts from the start, whatever else arrives", () => {
    const { clock, expiries } = started();
    pass(900);
    clock.headers();
    for (let at = 900; at < 2900; at += 100) {
      clock.bytes(10, Date.now());
      clock.event(false);
      pass(100);
    }
    expect(expiries).toEqual([]);
    pass(100);
    expect(expiries).toEqual(only(3000, "timeout_ttft"));
  });

  test("firstOutputMs is shorter than headersMs: it comes first", () => {
    const { expiries } = started({ firstOutputMs: 400 });
    pass(5000);
    expect(expiries).toEqual(only(400, "timeout_ttft"));
  });

  test("firstOutputMs no longer counts once there was output", () => {
    const { clock, expiries } = started();
    clock.headers();
    clock.event(true);
    for (let turn = 0; turn < 50; turn++) {
      pass(1000);
      clock.bytes(1, Date.now());
      clock.event(true);
    }
    expect(expiries).toEqual([]);
  });

  test("idleMs: from the last byte on", () => {
    const { clock, expiries } = started({ progressMs: 60_000 });
    clock.headers();
    clock.event(true);
    pass(1400);
    clock.bytes(1, Date.now());
    pass(1499);
    expect(expiries).toEqual([]);
    pass(1);
    expect(expiries).toEqual(only(2900, "timeout_idle"));
  });

  test("progressMs: bytes that say nothing do not count", () => {
    const { clock, expiries } = started();
    clock.headers();
    clock.event(true);
    for (let at = 0; at < 2400; at += 200) {
      pass(200);
      clock.bytes(20, Date.now());
    }
    expect(expiries).toEqual([]);
    pass(200);
    expect(expiries).toEqual(only(2500, "timeout_progress"));
  });

  test("minBytesPerSecond: the average of each 30 s, with what it was", () => {
    const { clock, expiries } = started({ minBytesPerSecond: 10, idleMs: 600_000, progressMs: 600_000 });
    clock.headers();
    clock.event(true);
    for (let second = 0; second < 30; second++) {
      clock.bytes(10, Date.now());
      pass(1000);
    }
    expect(expiries).toEqual([]);
    for (let second = 0; second < 30; second++) {
      clock.bytes(9, Date.now());
      pass(1000);
    }
    expect(expiries).toEqual([{ at: 60_000, failure: "timeout_progress", floor: 9 }]);
  });

  test("what came while the process stood still is read before anybody counts as silent", () => {
    const { clock, expiries } = started();
    clock.headers();
    clock.event(true);
    stoodStill(60_000);
    pass(1500);
    expect(expiries).toEqual([]);
    clock.bytes(1, Date.now());
    clock.event(true);
    pass(1400);
    clock.bytes(1, Date.now());
    clock.event(true);
    pass(1499);
    expect(expiries).toEqual([]);
    pass(1);
    expect(expiries.map(({ failure }) => failure)).toEqual(["timeout_idle"]);
  });

  test("after it stood still, the headers that had come are taken, and a silence still ends", () => {
    const taken = started();
    stoodStill(60_000);
    pass(1000);
    taken.clock.headers();
    pass(1000);
    expect(taken.expiries).toEqual([]);
    const silent = started();
    stoodStill(60_000);
    pass(1250);
    expect(silent.expiries).toEqual(only(Date.now(), "timeout_headers"));
  });

  test("a time that is set back stops no clock for longer", () => {
    const { clock, expiries } = started();
    clock.headers();
    clock.event(true);
    stoodStill(-3_600_000);
    pass(1500 + 250 + 1500);
    expect(expiries.map(({ failure }) => failure)).toEqual(["timeout_idle"]);
  });

  test("no rate is taken over the time in which the process stood still", () => {
    const { clock, expiries } = started({ minBytesPerSecond: 10, idleMs: 600_000, progressMs: 600_000 });
    clock.headers();
    clock.event(true);
    pass(3000);
    stoodStill(600_000);
    pass(27_000);
    clock.bytes(300, Date.now());
    pass(59_999);
    expect(expiries).toEqual([]);
    pass(1);
    expect(expiries).toEqual([{ at: Date.now(), failure: "timeout_progress", floor: 0 }]);
  });

  test("stopped clocks never ring", () => {
    const { clock, expiries } = started();
    clock.stop();
    pass(1_000_000);
    expect(expiries).toEqual([]);
  });
});
