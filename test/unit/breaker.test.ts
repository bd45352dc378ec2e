// The breaker and the hedging budget: what a tenant's runs learn of their targets. Pure, with a clock of their own.
import { describe, expect, test } from "vitest";
import { failureClassSchema, type FailureClass } from "../../schemas/failure.ts";
import type { TargetReport } from "../../schemas/plan.ts";
import { benchedOf, healthyFirst, judge, type Bench } from "../../src/run/breaker.ts";
import {
  FIRST_SAVED,
  givenBack,
  hedgeDelay,
  remembering,
  savedUp,
  spent,
  type Latencies,
} from "../../src/run/hedging.ts";
import { begin, cancel, charter, drive, fails, says, stopped, text, type Act, type Drive } from "./scenarios/drive.ts";

const breaker = { failures: 3, coolDownMs: 1000 };
const chain = [
  { id: "a", scope: "one" },
  { id: "b", scope: "one" },
  { id: "c", scope: "two" },
];
const named = (ids: string): typeof chain => chain.filter(({ id }) => ids.includes(id));

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
    /** Of a run that begins and is admitted at `now`. */
    benched(now: number, ids = "abc"): string[] {
      const { benched, probes } = benchedOf(benches, named(ids), settings, now, now);
      keep(probes);
      return benched;
    },
    /** Milliseconds until a run asks the first target first, which is how this one does. */
    freeAfter(now: number): number {
      let ms = 0;
      while (this.benched(now + ms).length > 0) ms += 100;
      return ms;
    },
  };
}

/** An attempt that begins and fails at `startedAt`. */
const failed = (startedAt: number, targetId: string, failureClass: FailureClass, retryAfterMs?: number) => ({
  targetId,
  result: "failed" as const,
  startedAt,
  failureClass,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const answered = (startedAt: number, targetId: string) => ({ targetId, result: "answered" as const, startedAt });
const shown = (targetId: string) => ({ targetId, result: "shown" as const, firstOutputMs: 5 });

describe("R-BREAK-1 a target is benched", () => {
  test("after so many failures in a row, until the time is over", () => {
    const memory = tenant();
    memory.report(0, failed(0, "a", "overloaded"));
    memory.report(1, failed(1, "a", "truncated"));
    expect(memory.benched(2)).toEqual([]);
    memory.report(2, failed(2, "a", "timeout_ttft"));
    expect(memory.benched(3)).toEqual(["a"]);
    expect(memory.benched(1001)).toEqual(["a"]);
    expect(memory.benched(1002)).toEqual([]);
  });

  test("when each of its attempts shows something and then breaks off", () => {
    const memory = tenant();
    for (const now of [0, 10, 20]) {
      expect(memory.benched(now)).toEqual([]);
      memory.report(now + 1, shown("a"));
      memory.report(now + 2, failed(now, "a", "truncated"));
    }
    expect(memory.benched(30)).toEqual(["a"]);
  });

  test("not by failures with an answer between them", () => {
    const memory = tenant();
    for (const now of [0, 1, 2, 3]) {
      memory.report(now, failed(now, "a", "overloaded"));
      memory.report(now, failed(now, "a", "overloaded"));
      memory.report(now, answered(now, "a"));
    }
    expect(memory.benched(4)).toEqual([]);
  });

  test("never when it is turned off", () => {
    const memory = tenant({ failures: 0, coolDownMs: 1000 });
    for (let now = 0; now < 50; now++)
      memory.report(now, failed(now, "a", now % 2 === 0 ? "overloaded" : "quota", 9000));
    expect(memory.benched(50)).toEqual([]);
  });
});

describe("R-BREAK-2 after its time", () => {
  /** `a` is benched for a second. */
  const benched = () => {
    const memory = tenant();
    for (let count = 0; count < 3; count++) memory.report(0, failed(0, "a", "overloaded"));
    return memory;
  };

  test("one run tries it, the others stay away until that is decided", () => {
    const memory = benched();
    expect(memory.benched(1000)).toEqual([]);
    expect(memory.benched(1001)).toEqual(["a"]);
    memory.report(1100, answered(1000, "a"));
    expect(memory.benched(1101)).toEqual([]);
    memory.report(1200, failed(1150, "a", "overloaded"));
    expect(memory.benched(1201)).toEqual([]);
  });

  test("a run whose result never comes holds the others off for one more cool-down", () => {
    const memory = benched();
    expect(memory.benched(1000)).toEqual([]);
    expect(memory.benched(1999)).toEqual(["a"]);
    expect(memory.benched(2000)).toEqual([]);
  });

  test("a run that asks another target first is not the one", () => {
    const memory = tenant();
    memory.report(0, failed(0, "c", "overloaded", 500));
    for (const now of [500, 501, 502]) expect(memory.benched(now, "ac")).toEqual([]);
    expect(memory.benched(503, "c")).toEqual([]);
    expect(memory.benched(504, "c")).toEqual(["c"]);
    expect(memory.benched(505, "ac")).toEqual(["c"]);
  });

  test("a run asks it first when all before it are benched", () => {
    const memory = tenant();
    memory.report(0, failed(0, "a", "overloaded", 9000));
    memory.report(0, failed(0, "c", "overloaded", 500));
    expect(memory.benched(500, "ac")).toEqual(["a"]);
    expect(memory.benched(501, "ac")).toEqual(["c", "a"]);
  });

  test("a failure benches it again, each time twice as long, at most ten minutes", () => {
    const memory = benched();
    let now = 0;
    const lasted: number[] = [];
    for (let round = 0; round < 12; round++) {
      const ms = memory.freeAfter(now);
      lasted.push(ms);
      now += ms;
      memory.report(now, failed(now, "a", "overloaded"));
    }
    expect(lasted.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
    expect(lasted.at(-1)).toBe(600_000);
  });

  test("a cool-down of more than ten minutes is what the configuration says, and not doubled", () => {
    const memory = tenant({ failures: 1, coolDownMs: 3_600_000 });
    memory.report(0, failed(0, "a", "overloaded"));
    expect(memory.freeAfter(0)).toBe(3_600_000);
    memory.report(3_600_000, failed(3_600_000, "a", "overloaded"));
    expect(memory.freeAfter(3_600_000)).toBe(3_600_000);
  });
});

test.each(failureClassSchema.options)("R-BREAK-3 whether %s counts", (failureClass) => {
  const own = ["auth", "permission", "model_not_found", "invalid_request", "context_length", "content_policy"];
  const counts = ![...own, "timeout_total", "interrupted", "unknown"].includes(failureClass);
  const memory = tenant();
  for (const now of [0, 1, 2]) memory.report(now, failed(now, "a", failureClass));
  expect(memory.benched(3).includes("a")).toBe(counts);
  const told = tenant();
  told.report(0, failed(0, "a", failureClass, 500));
  expect(told.benched(3).includes("a")).toBe(counts);
});

test("R-BREAK-4 the bench reorders: healthy ones first, then the one that is free first; none is left out", () => {
  const memory = tenant();
  memory.report(0, failed(0, "c", "rate_limited", 900));
  memory.report(0, failed(0, "a", "rate_limited", 400));
  const order = healthyFirst(chain, memory.benched(1)).map(({ id }) => id);
  expect(order).toEqual(["a", "b", "c"]);
  memory.report(1, failed(1, "a", "rate_limited", 5000));
  expect(healthyFirst(chain, memory.benched(2)).map(({ id }) => id)).toEqual(["c", "a", "b"]);
  expect(healthyFirst(chain, ["a"]).map(({ id }) => id)).toEqual(["b", "c", "a"]);
});

describe("R-BREAK-5 a wait that the provider asks for", () => {
  test("benches all of its key at once when the limit is the key's, and the target alone when it is the target's", () => {
    const memory = tenant();
    memory.report(0, failed(0, "a", "rate_limited", 500));
    expect(memory.benched(1)).toEqual(["a", "b"]);
    expect(memory.benched(500)).toEqual([]);
    for (const failureClass of ["overloaded", "upstream_5xx"] as const) {
      const other = tenant();
      other.report(0, failed(0, "a", failureClass, 60_000));
      expect(other.benched(1)).toEqual(["a"]);
      expect(other.benched(59_999)).toEqual(["a"]);
      expect(other.benched(60_000)).toEqual([]);
    }
  });

  test("benches for ten minutes when the quota is used up, whatever it says", () => {
    for (const hint of [undefined, 0, 5, 86_400_000]) {
      const memory = tenant();
      memory.report(0, failed(0, "b", "quota", hint));
      expect(memory.benched(599_999)).toEqual(["a", "b"]);
      expect(memory.benched(600_000)).toEqual([]);
    }
  });

  test("is not believed beyond ten minutes", () => {
    const memory = tenant();
    memory.report(0, failed(0, "c", "rate_limited", 86_400_000));
    expect(memory.benched(599_999, "c")).toEqual(["c"]);
    expect(memory.benched(600_000, "c")).toEqual([]);
  });

  test("of nothing is none: it counts as any failure does", () => {
    const memory = tenant();
    for (const now of [0, 1]) memory.report(now, failed(now, "a", "rate_limited", 0));
    expect(memory.benched(2)).toEqual([]);
    expect(memory.benched(3)).toEqual([]);
    memory.report(4, failed(4, "a", "rate_limited", 0));
    expect(memory.freeAfter(4)).toBe(1000);
  });

  test("stands for the cool-down, also when the run that tried the target first is told it", () => {
    const memory = tenant();
    memory.report(0, failed(0, "a", "overloaded", 500));
    expect(memory.freeAfter(0)).toBe(500);
    memory.report(510, failed(500, "a", "overloaded", 200));
    expect(memory.freeAfter(510)).toBe(200);
  });
});

describe("R-BREAK-6 an attempt that began before", () => {
  test("neither lengthens nor doubles a bench by its failure, however many there are", () => {
    for (const failureClass of ["overloaded", "rate_limited"] as const) {
      const memory = tenant();
      for (let count = 0; count < 12; count++) memory.report(count, failed(0, "a", failureClass));
      expect(memory.freeAfter(2)).toBe(1000);
      for (let count = 0; count < 12; count++) memory.report(1010 + count, failed(1002, "a", failureClass));
      expect(memory.freeAfter(1010)).toBe(2000);
    }
  });

  test("does not decide for the run that tries the target first", () => {
    const memory = tenant();
    for (let count = 0; count < 3; count++) memory.report(0, failed(0, "a", "overloaded"));
    expect(memory.benched(1000)).toEqual([]);
    memory.report(1001, failed(0, "a", "timeout_idle"));
    memory.report(1002, answered(0, "a"));
    expect(memory.benched(1003)).toEqual(["a"]);
    memory.report(1004, answered(1000, "a"));
    expect(memory.benched(1005)).toEqual([]);
  });

  test("may bring a longer wait, and no shorter one", () => {
    const memory = tenant();
    memory.report(0, failed(0, "a", "rate_limited", 5000));
    memory.report(1, failed(0, "a", "rate_limited", 1000));
    expect(memory.freeAfter(0)).toBe(5000);
    const longer = tenant();
    longer.report(0, failed(0, "a", "rate_limited", 1000));
    longer.report(100, failed(0, "a", "rate_limited", 5000));
    expect(longer.freeAfter(100)).toBe(5000);
  });

  test("does not end the bench by its answer; one that began on the bench does", () => {
    const memory = tenant();
    memory.report(1000, failed(990, "a", "rate_limited", 60_000));
    memory.report(2000, answered(500, "a"));
    memory.report(2001, answered(999, "b"));
    expect(memory.benched(2002)).toEqual(["a", "b"]);
    memory.report(3000, answered(2500, "b"));
    expect(memory.benched(3001)).toEqual([]);
  });

  test("nor does a failure made on the bench, by a run that had no other target, count again", () => {
    const memory = tenant();
    for (let count = 0; count < 3; count++) memory.report(0, failed(0, "c", "overloaded"));
    for (let now = 100; now < 900; now += 100) memory.report(now, failed(now - 50, "c", "overloaded"));
    expect(memory.benched(999, "c")).toEqual(["c"]);
    expect(memory.benched(1000, "c")).toEqual([]);
  });
});

describe("R-BREAK-1 what a run tells of its targets", () => {
  const told = (run: Drive) => run.effects.flatMap((effect) => (effect.type === "report" ? [effect.report] : []));
  const inTwo = charter(["a", "b"], { onMidStreamFailure: "retract" });

  test.each<[string, Act[], object[]]>([
    [
      "an answer, when it is complete",
      [begin, says("a", text("x")), says("a", stopped("stop"))],
      [
        { targetId: "a", result: "shown" },
        { targetId: "a", result: "answered" },
      ],
    ],
    ["none while it is not", [begin, says("a", text("x"))], [{ targetId: "a", result: "shown" }]],
    ["none of one that was cancelled", [begin, says("a", text("x")), cancel()], [{ targetId: "a", result: "shown" }]],
    [
      "a failure after the first output, and the other's answer",
      [begin, says("a", text("x"), fails("overloaded")), says("b", text("y"), stopped("stop"))],
      [
        { targetId: "a", result: "shown" },
        { targetId: "a", result: "failed", failureClass: "overloaded" },
        { targetId: "b", result: "shown" },
        { targetId: "b", result: "answered" },
      ],
    ],
    ["an answer without a word", [begin, says("a", stopped("stop"))], [{ targetId: "a", result: "answered" }]],
  ])("%s", (_what, acts, reports) => {
    const run = drive(inTwo, acts);
    expect(told(run)).toMatchObject(reports);
    expect(told(run)).toHaveLength(reports.length);
    for (const report of told(run)) {
      if (report.result === "shown") continue;
      const attempt = run.state.attempts.find(({ targetId }) => targetId === report.targetId);
      expect(report.startedAt).toBe(attempt?.startedAt);
    }
  });
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
    let saved = FIRST_SAVED;
    let made = 0;
    for (let run = 0; run < 100; run++) {
      saved = savedUp(saved, hedge);
      const left = spent(saved);
      if (left === undefined) continue;
      saved = left;
      made++;
    }
    expect(made).toBe(11);
    let idle = FIRST_SAVED;
    for (let run = 0; run < 1000; run++) idle = givenBack(savedUp(idle, hedge));
    made = 0;
    for (let left = spent(idle); left !== undefined; left = spent(left)) made++;
    expect(made).toBe(5);
  });
});
