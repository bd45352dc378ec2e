// The tenant's object inside workerd: who is admitted, what many runs at once learn and spend, and what outlives its death.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { TenantObject } from "../../durable-objects/tenant-object.ts";
import type { Admission, Admitted, TargetNews, TargetReport } from "../../schemas/plan.ts";
import { demoTarget, newName, planOf, quickTarget } from "./plan.ts";

afterEach(() => takeGate(undefined));

type Stub = DurableObjectStub<TenantObject>;

const TEN = Array.from({ length: 10 }, (_, index) => `run-${index}`);
const breaker = { failures: 3, coolDownMs: 60_000 };
const hedge = { afterMs: 5, budgetPercent: 10 };
const named = (...ids: string[]) => ids.map((id) => ({ id, scope: `scope of ${id}` }));

/** Always a fresh stub: one whose object has died stays broken. */
const objectOf =
  (tenant: string): (() => Stub) =>
  () =>
    env.TENANT.getByName(tenant);
const newTenant = (): (() => Stub) => objectOf(crypto.randomUUID());

function asking(runId: string, fields: Partial<Admission> = {}): Admission {
  const startedAt = Date.now();
  const until = startedAt + 60_000;
  return { runId, startedAt, until, maxActiveRuns: 100, chain: named("a", "b"), breaker, hedge: undefined, ...fields };
}

const news = (report: TargetReport): TargetNews => ({ report, scope: `scope of ${report.targetId}`, breaker });
const failing = (targetId: string, startedAt: number, retryAfterMs?: number): TargetNews =>
  news({
    targetId,
    result: "failed",
    startedAt,
    failureClass: "overloaded",
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

const benched = (answer: Admitted): string[] | undefined => (answer.admitted ? answer.benched : undefined);
const granted = async (stub: Stub, times: number): Promise<number> => {
  const answers = await Promise.all(Array.from({ length: times }, () => stub.spendFurther()));
  return answers.filter(Boolean).length;
};

/** Ends the object once it has nothing left to write: the next call finds a new one. */
async function restart(stub: Stub, query: string, rows: object[]): Promise<void> {
  const stored = () => runInDurableObject(stub, (_instance, { storage }) => storage.sql.exec(query).toArray());
  await expect.poll(stored).toMatchObject(rows);
  await expect(runInDurableObject(stub, (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");
}

describe("admission", () => {
  it("R-START-11 as many runs at once as there are slots, each once, and another when one is given back", async () => {
    const tenant = newTenant();
    const answers = await Promise.all(TEN.map((runId) => tenant().admit(asking(runId, { maxActiveRuns: 4 }))));
    expect(answers.map(({ admitted }) => admitted)).toEqual(TEN.map((_, index) => index < 4));
    expect(await tenant().admit(asking("run-3", { maxActiveRuns: 4 }))).toMatchObject({ admitted: true });
    await tenant().release("run-9", []);
    expect(await tenant().admit(asking("run-9", { maxActiveRuns: 4 }))).toEqual({ admitted: false });
    await tenant().release("run-0", []);
    expect(await tenant().admit(asking("run-9", { maxActiveRuns: 4 }))).toMatchObject({ admitted: true });
  });

  it("R-START-11 slots outlive the object, and one whose run must have ended is free", async () => {
    const tenant = newTenant();
    await tenant().admit(asking("held", { maxActiveRuns: 2 }));
    await tenant().admit(asking("past", { maxActiveRuns: 2, until: Date.now() - 1 }));
    await restart(tenant(), "SELECT run_id FROM slot ORDER BY run_id", [{ run_id: "held" }, { run_id: "past" }]);
    expect(await tenant().admit(asking("next", { maxActiveRuns: 2 }))).toMatchObject({ admitted: true });
    expect(await tenant().admit(asking("late", { maxActiveRuns: 2 }))).toEqual({ admitted: false });
  });
});

describe("what runs learn", () => {
  it("R-BREAK-1 R-BREAK-6 failures told by many runs at once bench a target once, and the bench outlives the object", async () => {
    const tenant = newTenant();
    const startedAt = Date.now();
    await Promise.all(TEN.map(() => tenant().report([failing("a", startedAt)])));
    expect(benched(await tenant().admit(asking("one")))).toEqual(["a"]);
    await restart(tenant(), "SELECT strikes, benchings FROM held", [{ strikes: 3, benchings: 1 }]);
    expect(benched(await tenant().admit(asking("two")))).toEqual(["a"]);
    const older = news({ targetId: "a", result: "answered", startedAt: startedAt - 1 });
    await tenant().release("one", [older]);
    expect(benched(await tenant().admit(asking("three")))).toEqual(["a"]);
    await tenant().release("two", [news({ targetId: "a", result: "answered", startedAt: startedAt + 10_000 })]);
    expect(benched(await tenant().admit(asking("four")))).toEqual([]);
    await restart(tenant(), "SELECT name FROM held", []);
    expect(benched(await tenant().admit(asking("five")))).toEqual([]);
  });

  it("R-BREAK-2 of many runs at once one tries a target whose time is over, also of those that a new object admits", async () => {
    const tenant = newTenant();
    await tenant().report([failing("b", 0, 20)]);
    const ended = Date.now() + 20;
    await expect.poll(() => Date.now()).toBeGreaterThan(ended);
    // These ask another target first, so none of them is the one.
    for (const runId of ["x", "y"]) expect(benched(await tenant().admit(asking(runId)))).toEqual([]);
    const chain = named("b", "c");
    const answers = await Promise.all(TEN.map((runId) => tenant().admit(asking(runId, { chain }))));
    expect(answers.map(benched)).toEqual(TEN.map((_, index) => (index === 0 ? [] : ["b"])));
    await restart(tenant(), "SELECT name FROM held WHERE until > judged_from + 50000", [{ name: "target b" }]);
    expect(benched(await tenant().admit(asking("later", { chain })))).toEqual(["b"]);
  });

  it("R-HEDGE-1 how fast a target shows something decides when another may be asked", async () => {
    const tenant = newTenant();
    const firstOutputs = Array.from({ length: 8 }, () => news({ targetId: "a", result: "shown", firstOutputMs: 70 }));
    expect(await tenant().admit(asking("before", { hedge }))).toMatchObject({ hedgeAfterMs: 5 });
    await tenant().report(firstOutputs);
    expect(await tenant().admit(asking("after", { hedge }))).toMatchObject({ hedgeAfterMs: 70 });
    await tenant().report([failing("a", Date.now(), 60_000)]);
    expect(await tenant().admit(asking("benched", { hedge }))).toMatchObject({ benched: ["a"], hedgeAfterMs: 5 });
    expect(await tenant().admit(asking("plain"))).toMatchObject({ hedgeAfterMs: undefined });
  });
});

describe("R-HEDGE-3 further requests", () => {
  it("ten runs that want one at once get the free one and one for a tenth of them, and no debt is left", async () => {
    const tenant = newTenant();
    await Promise.all(TEN.map((runId) => tenant().admit(asking(runId, { hedge }))));
    expect(await granted(tenant(), 10)).toBe(2);
    const lavish = { ...hedge, budgetPercent: 100 };
    for (const runId of TEN.slice(0, 3)) {
      await tenant().admit(asking(runId, { hedge: lavish }));
      expect(await granted(tenant(), 2)).toBe(1);
    }
  });

  it("what is saved outlives the object, and so does what is spent", async () => {
    const tenant = newTenant();
    expect(await granted(tenant(), 3)).toBe(1);
    await restart(tenant(), "SELECT saved FROM budget", [{ saved: 0 }]);
    expect(await granted(tenant(), 3)).toBe(0);
    for (const runId of TEN) await tenant().admit(asking(runId, { hedge: { ...hedge, budgetPercent: 30 } }));
    await restart(tenant(), "SELECT saved FROM budget", [{ saved: 300 }]);
    expect(await granted(tenant(), 10)).toBe(3);
  });

  /** A run that wants a further request at once, whose first target answers after that; the tenant has one and a tenth. */
  async function hedging(tenant: string, name: string): Promise<void> {
    const chain = [quickTarget(), demoTarget("demo-answer")];
    const fields = { tenant, chain, breaker, hedge: { afterMs: 1, budgetPercent: 10 } };
    expect(await env.RUN.getByName(name).start(planOf(name, fields), 10)).toMatchObject({ started: true });
  }
  const outcomeOf = async (name: string): Promise<unknown> => {
    const answer = await env.RUN.getByName(name).outcome(0);
    return answer instanceof Response ? answer.json() : undefined;
  };

  it("a run that has paid and then needs none gives it back", async () => {
    const [tenant, name] = [crypto.randomUUID(), newName()];
    const further = Promise.withResolvers<void>();
    let paid = false;
    takeGate(async (step) => {
      if (step !== "further") return;
      paid = true;
      await further.promise;
    });
    await hedging(tenant, name);
    await expect.poll(() => paid).toBe(true);
    expect(await granted(objectOf(tenant)(), 2)).toBe(0);
    await expect
      .poll(() => outcomeOf(name), { timeout: 5000 })
      .toMatchObject({ provenance: { attempts: [{ targetId: "quick" }] } });
    further.resolve();
    await expect.poll(() => granted(objectOf(tenant)(), 2)).toBe(1);
    expect(await granted(objectOf(tenant)(), 2)).toBe(0);
  });

  it("a run that dies after it has paid leaves a smaller budget, and goes on", async () => {
    const [tenant, name] = [crypto.randomUUID(), newName()];
    let died = false;
    takeGate(async (step, state) => {
      if (step !== "further") return;
      takeGate(undefined);
      died = true;
      state.abort("crash");
      await new Promise(() => undefined);
    });
    await hedging(tenant, name);
    await expect.poll(() => died).toBe(true);
    await expect.poll(() => outcomeOf(name), { timeout: 10_000 }).toMatchObject({ outcome: "completed" });
    expect(await granted(objectOf(tenant)(), 2)).toBe(0);
  });
});

describe("R-SVH-11 reports of visitors", () => {
  it("are kept newest first, the latest thousand, across a restart", async () => {
    const tenant = newTenant();
    const report = (index: number) => ({ at: index, visitor: "v", reason: `reason ${index}`, excerpt: "" });
    expect(await tenant().reports()).toEqual([]);
    await runInDurableObject(tenant(), (object: TenantObject) => {
      for (let index = 0; index < 1005; index++) object.keepReport(report(index));
    });
    await evictDurableObject(tenant());
    const reports = await tenant().reports();
    expect(reports).toHaveLength(1000);
    expect([reports[0], reports.at(-1)]).toEqual([report(1004), report(5)]);
  });
});

describe("R-SVH-6 R-SVH-28 doors of a tenant", () => {
  const throttle = { max: 2, minutes: 1 };
  const enter = (stub: Stub, runId: string, fields: object = {}) =>
    stub.enterTurn({ runId, instead: undefined, address: "a", throttle: { max: 0, minutes: 1 }, active: 2, ...fields });

  it("count attempts in windows, each name for itself, across a restart", async () => {
    const tenant = newTenant();
    expect([await tenant().countToken(throttle), await tenant().countToken(throttle)]).toEqual([undefined, undefined]);
    await evictDurableObject(tenant());
    const wait = await tenant().countToken(throttle);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60_000);
    const refused = { entered: false, refused: "too_many_attempts" };
    for (const runId of ["sv_1", "sv_2"]) expect(await enter(tenant(), runId, { throttle })).toEqual({ entered: true });
    expect(await enter(tenant(), "sv_3", { throttle })).toMatchObject(refused);
    expect(await enter(tenant(), "sv_3", { throttle, address: "b", active: 3 })).toEqual({ entered: true });
    await runInDurableObject(tenant(), (_, state) => {
      state.storage.sql.exec("UPDATE throttle SET until = 1");
    });
    expect(await enter(tenant(), "sv_1", { throttle })).toEqual({ entered: true });
  });

  it("let in as many turns as may run, once each, and one instead of another", async () => {
    const tenant = newTenant();
    const refused = { entered: false, refused: "too_many_streams" };
    await tenant().admit(asking("native"));
    expect(await enter(tenant(), "sv_1")).toEqual({ entered: true });
    await tenant().admit(asking("sv_1"));
    expect(await enter(tenant(), "sv_2")).toEqual({ entered: true });
    expect(await enter(tenant(), "sv_2")).toEqual({ entered: true });
    expect(await enter(tenant(), "sv_3")).toEqual(refused);
    expect(await enter(tenant(), "sv_3", { instead: "sv_1" })).toEqual({ entered: true });
    expect(await enter(tenant(), "sv_4")).toEqual(refused);
    await tenant().release("sv_1", []);
    await tenant().release("sv_2", []);
    expect(await enter(tenant(), "sv_4")).toEqual({ entered: true });
  });
});
