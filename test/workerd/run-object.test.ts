// The run's object inside workerd: what it writes, what it forgets, and how it comes back.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { RunObject } from "../../durable-objects/run-object.ts";
import { encodeSegment } from "../../durable-objects/segment-codec.ts";
import { demoTarget, limits, newName, planOf } from "./plan.ts";

type Stub = DurableObjectStub<RunObject>;

const tables = (stub: Stub): Promise<unknown[]> =>
  runInDurableObject(stub, (_instance, state) =>
    state.storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name")
      .toArray()
      .map((row) => row["name"]),
  );

const read = async (stub: Stub, from: "start" | "now" | "snapshot" | { after: number } = "start"): Promise<string> => {
  const answer = await stub.attach({ dialect: "inderun", framing: "ndjson", from, waitMs: 0 });
  if (!(answer instanceof Response)) throw new Error(`no stream: ${answer.refused}`);
  return answer.text();
};

const parse = (body: string): { sequence: number; type: string; payload: Record<string, unknown> }[] =>
  body
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** Ends the object the way a crash does: what was not confirmed is lost, and the next call finds a new instance. */
async function crash(stub: Stub): Promise<void> {
  await expect(runInDurableObject(stub, (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");
}

async function textOf(answer: unknown): Promise<string> {
  if (!(answer instanceof Response)) throw new Error("no outcome");
  return answer.text();
}

describe("run object", () => {
  it("R-LIFE-4 writes nothing for a run that does not exist, whatever it is asked", async () => {
    const stub = env.RUN.getByName(newName());
    expect(await stub.attach({ dialect: "inderun", framing: "sse", from: "start", waitMs: 10 })).toEqual({
      refused: "not_found",
    });
    expect(await stub.state()).toBeUndefined();
    expect(await stub.outcome(10)).toEqual({ refused: "not_found" });
    expect(await stub.cancel("x")).toEqual({ refused: "not_found" });
    expect(await stub.forget()).toBe("unknown");
    expect(await tables(stub)).toEqual([]);
    expect(await runDurableObjectAlarm(stub)).toBe(false);
  });

  it("R-LIFE-5 erases the request's text with the terminal, and keeps its hash", async () => {
    const name = newName();
    const stub = env.RUN.getByName(name);
    await stub.start(planOf("erase", { chain: [demoTarget("demo-silent")] }), 100);
    const dump = () =>
      runInDurableObject(stub, (_instance, state) =>
        JSON.stringify([
          state.storage.sql.exec("SELECT * FROM run").toArray(),
          state.storage.sql.exec("SELECT * FROM segment").toArray(),
        ]),
      );
    expect(await dump()).toContain("marker-of-the-prompt");
    await stub.cancel(undefined);
    const after = await dump();
    expect(after).not.toContain("marker-of-the-prompt");
    expect(after).toContain("requestHash");
  });

  it("R-LIFE-1 R-LIFE-3 a crash after the end changes nothing", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("twice", { chain: [demoTarget("demo-silent")] }), 100);
    await env.RUN.getByName(name).cancel("enough");
    const first = await read(env.RUN.getByName(name));
    await crash(env.RUN.getByName(name));
    expect(await read(env.RUN.getByName(name))).toBe(first);
    expect(await env.RUN.getByName(name).state()).toMatchObject({ status: "cancelled", recoveries: 0 });
  });

  it("R-LIFE-1 R-START-11 a recovered run keeps its tenant's slot until it ends", async () => {
    const name = newName();
    const tenant = crypto.randomUUID();
    await env.RUN.getByName(name).start(planOf("slot", { tenant, chain: [demoTarget("demo-silent")] }), 1);
    await crash(env.RUN.getByName(name));
    await env.RUN.getByName(name).state();
    const busy = await env.RUN.getByName(newName()).start(planOf("other", { tenant }), 1);
    expect(busy).toMatchObject({ started: false, refused: "too_many_runs" });
    await env.RUN.getByName(name).cancel(undefined);
    expect(await env.RUN.getByName(newName()).start(planOf("third", { tenant }), 1)).toMatchObject({ started: true });
  });

  it("R-READ-11 a restart does not make a run forget that its reader has left", async () => {
    const policies = {
      replaces: true,
      onDisconnect: "cancel",
      onMidStreamFailure: "fail",
      durability: "standard",
      telemetry: false,
    } as const;
    const short = { ...limits, disconnectGraceMs: 100 };
    const start = async (attach: boolean): Promise<string> => {
      const name = newName();
      const chain = [demoTarget("demo-silent")];
      await env.RUN.getByName(name).start(planOf("left", { policies, limits: short, chain }), 100);
      const query = { dialect: "inderun", framing: "sse", from: "start", waitMs: 0 } as const;
      if (attach) expect(await env.RUN.getByName(name).attach(query)).toBeInstanceOf(Response);
      await crash(env.RUN.getByName(name));
      return name;
    };
    const left = await start(true);
    const outcome = await textOf(await env.RUN.getByName(left).outcome(5000));
    expect(JSON.parse(outcome)).toMatchObject({ outcome: "cancelled", reason: "disconnected" });
    // Nobody ever attached to this one: it goes on.
    const never = await start(false);
    expect(await env.RUN.getByName(never).outcome(300)).toMatchObject({ running: { runId: "left" } });
    await env.RUN.getByName(never).forget();
  });

  it("R-OUT-2 answers with an outcome larger than a value may be between objects", async () => {
    const stub = env.RUN.getByName(newName());
    await stub.start(planOf("large", { chain: [demoTarget("demo-silent")] }), 100);
    await stub.cancel("x".repeat(10));
    const reason = "y".repeat(34 * 1024 * 1024);
    await runInDurableObject(stub, (_instance, state) => {
      const row = state.storage.sql.exec("SELECT terminal FROM run").one();
      const id = Number(row["terminal"]) * 1024;
      state.storage.sql.exec("DELETE FROM segment WHERE id >= ?", id);
      const payload = JSON.stringify({
        schemaVersion: "1.0",
        runId: "large",
        outcome: "cancelled",
        partialText: "",
        reason,
      });
      const body = encodeSegment([{ sequence: id / 1024, at: 1, type: "terminal", payload }]);
      for (let part = 0; part * 500_000 < body.length; part++) {
        const rows = [id + part, id / 1024, id / 1024, 1, body.slice(part * 500_000, (part + 1) * 500_000)];
        state.storage.sql.exec(
          "INSERT INTO segment (id, last, reserved, written, body) VALUES (?, ?, ?, ?, ?)",
          ...rows,
        );
      }
    });
    expect(JSON.parse(await textOf(await stub.outcome(0)))).toMatchObject({ reason });
    expect(JSON.parse(await textOf(await stub.cancel("late")))).toMatchObject({ reason });
  });

  it("R-DELETE-1 lets a reader of a live run see how it ended before it is forgotten", async () => {
    const stub = env.RUN.getByName(newName());
    await stub.start(planOf("watched", { chain: [demoTarget("demo-silent")] }), 100);
    const answer = await stub.attach({ dialect: "inderun", framing: "ndjson", from: "start", waitMs: 0 });
    if (!(answer instanceof Response)) throw new Error("no stream");
    await stub.forget();
    expect(parse(await answer.text()).at(-1)).toMatchObject({
      type: "terminal",
      payload: { outcome: "cancelled", reason: "deleted" },
    });
  });

  it("R-LIFE-3 sweeps events, then everything, by its alarm", async () => {
    const name = newName();
    const stub = env.RUN.getByName(name);
    const short = { ...limits, retentionEventsMs: 0, retentionOutcomeMs: 3_600_000 };
    await stub.start(planOf("swept", { limits: short, chain: [demoTarget("demo-silent")] }), 100);
    const cancelled = await textOf(await stub.cancel("enough"));
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stub.attach({ dialect: "inderun", framing: "sse", from: "start", waitMs: 0 })).toEqual({
      refused: "gone",
    });
    expect(await textOf(await stub.outcome(0))).toBe(cancelled);
    expect(await stub.state()).toMatchObject({ status: "cancelled", provenance: { targetId: "demo-silent" } });
    await runInDurableObject(stub, (_instance, state) => {
      const row = state.storage.sql.exec("SELECT plan FROM run").one();
      const plan = JSON.parse(typeof row["plan"] === "string" ? row["plan"] : "");
      plan.limits.retentionOutcomeMs = 0;
      state.storage.sql.exec("UPDATE run SET plan = ?", JSON.stringify(plan));
    });
    await crash(stub);
    const again = env.RUN.getByName(name);
    expect(await runDurableObjectAlarm(again)).toBe(true);
    expect(await again.state()).toBeUndefined();
    expect(await tables(again)).toEqual([]);
  });

  it("R-CLOCK-2 ends a run whose total clock ran out, with nobody reading", async () => {
    const stub = env.RUN.getByName(newName());
    await stub.start(planOf("late", { totalMs: 50, chain: [demoTarget("demo-silent")] }), 100);
    const answer = await stub.outcome(10_000);
    if (!(answer instanceof Response)) throw new Error("still running");
    expect(await answer.json()).toMatchObject({
      outcome: "error",
      partialText: "",
      error: { errorClass: "Timeout", details: { failureClass: "timeout_total" } },
    });
  });

  it("R-DELETE-1 frees the name: the next start is a new run", async () => {
    const stub = env.RUN.getByName(newName());
    await stub.start(planOf("again", { chain: [demoTarget("demo-silent")] }), 100);
    expect(await stub.forget()).toBe("forgotten");
    expect(await tables(stub)).toEqual([]);
    expect(await stub.state()).toBeUndefined();
    expect(await stub.start(planOf("again", { requestHash: "another" }), 100)).toMatchObject({
      started: true,
      repeated: false,
    });
    await stub.forget();
  });

  it("R-NAME-4 accepts one of many concurrent starts", async () => {
    const stub = env.RUN.getByName(newName());
    const answers = await Promise.all(Array.from({ length: 20 }, () => stub.start(planOf("one"), 100)));
    expect(answers.filter((answer) => answer.started && !answer.repeated)).toHaveLength(1);
    expect(answers.filter((answer) => answer.started && answer.repeated)).toHaveLength(19);
    await stub.forget();
  });
});
