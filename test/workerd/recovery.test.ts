// A run whose object dies at any await: every reader ends with the same text, without a gap, with one terminal.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, inject, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { crashAt, crashes, expectWhole, readThrough, shown, view, type Event } from "./crashing.ts";
import { demoTarget, limits, newName, planOf, quickTarget } from "./plan.ts";

afterEach(() => takeGate(undefined));

/** Starts the run and reads it, with the object dying at `moment`; gives what each reader saw. */
async function live(
  moment: number | string,
  fields: Partial<RunPlan>,
): Promise<{ readers: Event[][]; name: string } | undefined> {
  const name = newName();
  crashAt(name, moment);
  const plan = planOf(crypto.randomUUID(), { chain: [quickTarget()], ...fields });
  try {
    await env.RUN.getByName(name).start(plan, 100);
  } catch {
    // Died while it was accepted: either the run is there whole, or it is not there at all.
    if ((await view(name)) === undefined) return undefined;
  }
  // One reads everything as it comes, one only from the end on, one stops in the middle and comes back late.
  const all: Event[] = [];
  const early: Event[] = [];
  await Promise.all([readThrough(name, all), readThrough(name, early, 20)]);
  await readThrough(name, early);
  const late: Event[] = [];
  await readThrough(name, late);
  return { readers: [all, early, late], name };
}

describe("recovery", () => {
  for (const policy of ["fail", "retract", "continue"] as const) {
    it(
      `R-DUR-5 R-DUR-6 R-DUR-7 R-CONT-1 R-CONT-2 survives the object's death at every await, with onMidStreamFailure ${policy}`,
      { timeout: 120_000 },
      async () => {
        const text = inject("quickText");
        const reached = new Set<string>();
        let lost = 0;
        /** Whether the object died there; `undefined`: before there was a run. */
        const diesAt = async (moment: number | string): Promise<boolean | undefined> => {
          const outcome = await live(moment, {
            policies: {
              replaces: true,
              onDisconnect: "continue",
              onMidStreamFailure: policy,
              durability: "standard",
              telemetry: false,
            },
            limits: { ...limits, flushMs: 3_600_000 },
          });
          if (outcome === undefined) return undefined;
          const { readers, name } = outcome;
          for (const events of readers) expectWhole(events);
          const [all, , late] = readers;
          expect(shown(all ?? [])).toBe(shown(late ?? []));
          const end = late?.at(-1)?.payload;
          const crash = crashes.get(name);
          if (crash !== undefined) reached.add(crash);
          // An end that says interrupted needs a crash, and the text is always a beginning of the real one.
          if (end?.["outcome"] === "completed") expect(end["finalText"]).toBe(text);
          else {
            expect(policy).toBe("fail");
            expect(crash).toBeDefined();
            expect(end?.["error"]).toMatchObject({
              errorClass: "Unavailable",
              retryable: true,
              details: { code: "interrupted" },
            });
            expect(text.startsWith(String(end?.["partialText"]))).toBe(true);
          }
          const state = await view(name);
          expect(state?.recoveries ?? 0).toBe(crash === undefined || state?.recoveries === 0 ? 0 : 1);
          return crash !== undefined;
        };
        let step = 0;
        for (; ; step++) {
          const died = await diesAt(step);
          if (died === undefined) lost++;
          if (died === false) break;
        }
        // How many flushes a run takes depends on its pace, so the last awaits are also met by name.
        for (const kind of ["ending", "released"]) if (!reached.has(kind)) expect(await diesAt(kind)).toBe(true);
        // Before the accept transaction is written a crash loses the start; everywhere else it loses nothing.
        expect(lost).toBeGreaterThan(0);
        expect(lost).toBeLessThanOrEqual(2);
        for (const kind of ["accept confirmed", "flush written", "flush confirmed", "ending", "released"]) {
          expect([...reached]).toContain(kind);
        }
        console.log(`crashed at ${step} awaits (${policy}): ${[...reached].join(", ")}`);
      },
    );
  }

  it("R-DUR-5 R-DUR-6 survives a death during the recovery itself", { timeout: 60_000 }, async () => {
    for (let step = 0; step < 6; step++) {
      const name = newName();
      await env.RUN.getByName(name).start(planOf("again", { chain: [quickTarget()] }), 100);
      const seen: Event[] = [];
      await readThrough(name, seen, 12);
      await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("first"))).rejects.toThrow(
        "first",
      );
      crashAt(name, step);
      await readThrough(name, seen);
      takeGate(undefined);
      expectWhole(seen);
      const late: Event[] = [];
      await readThrough(name, late);
      expect(late).toEqual(expect.arrayContaining(seen.slice(-1)));
      expect(shown(late)).toBe(shown(seen));
    }
  });

  it("R-DUR-5 voids exactly the numbers that were reserved and not stored, as one stored range", async () => {
    const name = newName();
    const slow = { ...limits, flushMs: 3_600_000 };
    await env.RUN.getByName(name).start(planOf("void", { chain: [demoTarget("demo-answer")], limits: slow }), 100);
    const seen: Event[] = [];
    await readThrough(name, seen, 12);
    const marks = await runInDurableObject(env.RUN.getByName(name), (_, state) =>
      state.storage.sql.exec("SELECT last, reserved FROM segment ORDER BY id DESC LIMIT 1").one(),
    );
    expect(seen.at(-1)?.sequence).toBeGreaterThan(Number(marks["last"]));
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    const late: Event[] = [];
    await readThrough(name, late);
    expectWhole(late);
    const released = late
      .filter(({ payload }) => payload["code"] === "sequence_released")
      .map(({ sequence }) => sequence);
    const [durableTo, reservedTo] = [Number(marks["last"]), Number(marks["reserved"])];
    expect(released).toEqual(Array.from({ length: reservedTo - durableTo }, (_, index) => durableTo + 1 + index));
    expect(late[reservedTo + 1]).toMatchObject({ type: "content_snapshot", payload: { releasedFrom: durableTo + 1 } });
    // The reader that saw the lost text is corrected by the snapshot, not by what it had seen.
    await readThrough(name, seen);
    expect(shown(seen)).toBe(shown(late));
  });

  it("R-DUR-7 goes on to the same target when nothing was shown, and the chain is not used up", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("silent", { chain: [demoTarget("demo-silent"), quickTarget()] }), 100);
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    await expect
      .poll(async () => (await view(name))?.attempts)
      .toMatchObject([
        { targetId: "demo-silent", status: "superseded" },
        { targetId: "demo-silent", status: "started" },
      ]);
    expect(await view(name)).toMatchObject({ status: "running", recoveries: 1 });
    await env.RUN.getByName(name).forget();
  });

  it("R-DUR-7 gives up after maxRecoveries with an interrupted outcome", async () => {
    const name = newName();
    const plan = planOf("loop", { chain: [demoTarget("demo-silent")], limits: { ...limits, maxRecoveries: 2 } });
    await env.RUN.getByName(name).start(plan, 100);
    for (let crash = 1; crash <= 3; crash++) {
      await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
        "crash",
      );
      await expect.poll(async () => (await view(name))?.recoveries).toBe(crash);
      if (crash < 3) {
        await expect.poll(async () => (await view(name))?.attempts.length).toBeGreaterThan(1);
      }
    }
    const answer = await env.RUN.getByName(name).outcome(5000);
    if (!(answer instanceof Response)) throw new Error("still running");
    expect(await answer.json()).toMatchObject({
      error: { errorClass: "Unavailable", details: { code: "interrupted" } },
    });
  });

  it("R-DUR-7 lets a cancel that wakes the object win over going on", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("cancel", { chain: [demoTarget("demo-silent")] }), 100);
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    const answer = await env.RUN.getByName(name).cancel("enough");
    if (!(answer instanceof Response)) throw new Error("still running");
    expect(await answer.json()).toMatchObject({ outcome: "cancelled", reason: "enough" });
    expect(await view(name)).toMatchObject({ attempts: [{ attempt: 0 }], recoveries: 1 });
  });

  it("R-DUR-7 recovers by its alarm, with nobody asking", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("alarm", { chain: [demoTarget("demo-silent")] }), 100);
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    expect(await runDurableObjectAlarm(env.RUN.getByName(name))).toBe(true);
    expect(await view(name)).toMatchObject({ status: "running", recoveries: 1 });
    await env.RUN.getByName(name).forget();
  });

  it("R-DUR-8 tells the readers of a damaged log, and ends", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("damaged", { chain: [quickTarget()] }), 100);
    await readThrough(name, []);
    await runInDurableObject(env.RUN.getByName(name), (_, state) => {
      state.storage.sql.exec("UPDATE segment SET body = replace(body, 'word3', 'wordX') WHERE id = 0");
    });
    await evictDurableObject(env.RUN.getByName(name));
    const answer = await env.RUN.getByName(name).attach({
      dialect: "inderun",
      framing: "sse",
      from: "start",
      waitMs: 0,
    });
    if (!(answer instanceof Response)) throw new Error("no stream");
    const frames = (await answer.text()).split("\n\n").filter((frame) => frame !== "");
    expect(frames).toHaveLength(2);
    expect(frames[0]).toContain("event: error\ndata: ");
    expect(frames[0]).not.toContain("id: ");
    expect(frames[0]).toContain("damaged_log");
    expect(frames[1]).toContain('"type":"terminal"');
  });

  it("R-DUR-8 ends a live run whose log is damaged, without a gap in what it says", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("damaged-live", { chain: [demoTarget("demo-silent")] }), 100);
    await runInDurableObject(env.RUN.getByName(name), (_, state) => {
      state.storage.sql.exec("UPDATE segment SET body = substr(body, 1, 30)");
    });
    await expect(runInDurableObject(env.RUN.getByName(name), (_, state) => state.abort("crash"))).rejects.toThrow(
      "crash",
    );
    const answer = await env.RUN.getByName(name).outcome(5000);
    if (!(answer instanceof Response)) throw new Error("still running");
    expect(await answer.json()).toMatchObject({
      outcome: "error",
      error: { errorClass: "Internal", details: { code: "damaged_log" } },
    });
    const seen: Event[] = [];
    await readThrough(name, seen);
    expect(seen.at(-1)).toMatchObject({ type: "terminal" });
  });
});
