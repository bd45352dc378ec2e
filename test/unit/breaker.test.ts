// The breaker and the hedging budget: what a tenant's runs learn of their targets. Pure, with a clock of their own.
import { describe, expect, test } from "vitest";
import { failureClassSchema, type FailureClass } from "../../schemas/failure.ts";
import type { TargetReport } from "../../schemas/plan.ts";
import { benchedOf, healthyFirst, judge, type Bench } from "../../src/run/breaker.ts";
import { affords, hedgeDelay, remembering, savedUp, type Latencies } from "../../src/run/hedging.ts";

const breaker = { failures: 3, coolDownMs: 1000 };
const chain = [
  { id: "a", scope: "one" },
  { id: "b", scope: "one" },
  { id: "c", scope: "two" },
];

/** A tenant's memory: reports in, benched ids out. */
function tenant(settings = breaker) {
  const benches = new Map<string, Bench>();
  const keep = (changes: ReadonlyMap<string, Bench | undefined>): void => {
    for (const [name, bench] of changes) {
      if (bench === undefined) benches.delete(name);
      else benches.set(name, bench);
    }
  };
  return {
    report(now: number, report: TargetReport): void {
      const scope = chain.find(({ id }) => id === report.targetId)?.scope ?? "";
      keep(judge(benches, { report, scope, breaker: settings }, now));
    },
    benched(now: number): string[] {
      const { benched, probes } = benchedOf(benches, chain, settings, now);
      keep(probes);
      return benched;
    },
  };
}
const failed = (targetId: string, failureClass: FailureClass, retryAfterMs?: number): TargetReport => ({
  targetId,
  result: "failed",
  failureClass,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const answered = (targetId: string): TargetReport => ({ targetId, result: "answered", firstOutputMs: 5 });

describe("R-BREAK-1 a target is benched", () => {
  test("after so many failures in a row, until the time is over", () => {
    const memory = tenant();
    memory.report(0, failed("a", "overloaded"));
    memory.report(1, failed("a", "truncated"));
    expect(memory.benched(2)).toEqual([]);
    memory.report(2, failed("a", "timeout_ttft"));
    expect(memory.benched(3)).toEqual(["a"]);
    expect(memory.benched(1001)).toEqual(["a"]);
    expect(memory.benched(1002)).toEqual([]);
  });

  test("not by failures with an answer between them", () => {
    const memory = tenant();
    for (const now of [0, 1, 2, 3]) {
      memory.report(now, failed("a", "overloaded"));
      memory.report(now, failed("a", "overloaded"));
      memory.report(now, answered("a"));
    }
    expect(memory.benched(4)).toEqual([]);
  });

  test("with all of its key as long as the provider says", () => {
    const memory = tenant();
    memory.report(0, failed("a", "rate_limited", 500));
    expect(memory.benched(1)).toEqual(["a", "b"]);
    expect(memory.benched(500)).toEqual([]);
  });

  test("with all of its key for ten minutes when the quota is used up", () => {
    const memory = tenant();
    memory.report(0, failed("b", "quota"));
    expect(memory.benched(599_999)).toEqual(["a", "b"]);
    expect(memory.benched(600_000)).toEqual([]);
  });

  test("a hint longer than ten minutes is not believed to the end", () => {
    const memory = tenant();
    memory.report(0, failed("c", "rate_limited", 86_400_000));
    expect(memory.benched(599_999)).toEqual(["c"]);
    expect(memory.benched(600_000)).toEqual([]);
  });

  test("never when it is turned off", () => {
    const memory = tenant({ failures: 0, coolDownMs: 1000 });
    for (let now = 0; now < 50; now++) memory.report(now, failed("a", now % 2 === 0 ? "overloaded" : "quota", 9000));
    expect(memory.benched(50)).toEqual([]);
  });
});

describe("R-BREAK-2 after its time", () => {
  const benched = () => {
    const memory = tenant();
    for (const now of [0, 0, 0]) memory.report(now, failed("a", "overloaded"));
    return memory;
  };

  test("one run tries it, the others stay away until that is decided", () => {
    const memory = benched();
    expect(memory.benched(1000)).toEqual([]);
    expect(memory.benched(1001)).toEqual(["a"]);
    memory.report(1100, answered("a"));
    expect(memory.benched(1101)).toEqual([]);
    memory.report(1200, failed("a", "overloaded"));
    expect(memory.benched(1201)).toEqual([]);
  });

  test("a failure benches it again, each time twice as long, at most ten minutes", () => {
    const memory = benched();
    let now = 0;
    const lasted: number[] = [];
    for (let round = 0; round < 12; round++) {
      let step = now;
      while (memory.benched(step).length > 0) step += 100;
      lasted.push(step - now);
      now = step;
      memory.report(now, failed("a", "overloaded"));
    }
    // The probe itself benches for another cool-down, which its own failure then extends.
    expect(lasted.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
    expect(lasted.at(-1)).toBe(600_000);
  });
});

test.each(failureClassSchema.options)("R-BREAK-3 whether %s counts", (failureClass) => {
  const own = ["auth", "permission", "model_not_found", "invalid_request", "context_length", "content_policy"];
  const memory = tenant();
  for (const now of [0, 1, 2]) memory.report(now, failed("a", failureClass));
  const counts = ![...own, "timeout_total", "interrupted"].includes(failureClass);
  expect(memory.benched(3).includes("a")).toBe(counts);
});

test("R-BREAK-4 the bench reorders: healthy ones first, then the one that is free first; none is left out", () => {
  const memory = tenant();
  memory.report(0, failed("c", "rate_limited", 900));
  memory.report(0, failed("a", "rate_limited", 400));
  const order = healthyFirst(chain, memory.benched(1)).map(({ id }) => id);
  expect(order).toEqual(["a", "b", "c"]);
  memory.report(1, failed("a", "rate_limited", 5000));
  expect(healthyFirst(chain, memory.benched(2)).map(({ id }) => id)).toEqual(["c", "a", "b"]);
  expect(healthyFirst(chain, ["a"]).map(({ id }) => id)).toEqual(["b", "c", "a"]);
});

describe("hedging", () => {
  const hedge = { afterMs: 2000, budgetPercent: 10 };

  test("R-HEDGE-1 the delay is what 19 of 20 first outputs took, once eight are known", () => {
    let latencies: Latencies = [];
    for (let ms = 10; ms <= 70; ms += 10) latencies = remembering(latencies, ms);
    expect(hedgeDelay(latencies, hedge)).toBe(2000);
    for (let ms = 80; ms <= 200; ms += 10) latencies = remembering(latencies, ms);
    expect(latencies).toHaveLength(20);
    expect(hedgeDelay(latencies, hedge)).toBe(190);
  });

  test("R-HEDGE-1 only the latest 64 count", () => {
    let latencies: Latencies = [];
    for (let count = 0; count < 100; count++) latencies = remembering(latencies, 9000);
    for (let count = 0; count < 64; count++) latencies = remembering(latencies, 30);
    expect(latencies).toHaveLength(64);
    expect(hedgeDelay(latencies, hedge)).toBe(30);
  });

  test("R-HEDGE-3 one further request is free, then one in ten runs, at most five saved up", () => {
    let saved: number | undefined;
    let spent = 0;
    for (let run = 0; run < 100; run++) {
      saved = savedUp(saved, hedge);
      if (!affords(saved)) continue;
      saved -= 1;
      spent++;
    }
    expect(spent).toBeGreaterThanOrEqual(10);
    expect(spent).toBeLessThanOrEqual(11);
    let idle: number | undefined;
    for (let run = 0; run < 1000; run++) idle = savedUp(idle, hedge);
    expect(idle).toBe(5);
  });
});
