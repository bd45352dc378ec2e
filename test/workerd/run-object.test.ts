// The run's object inside workerd: what it writes, what it forgets, and how it comes back.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { RunObject } from "../../durable-objects/run-object.ts";
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

/** Resolves once the run has shown at least this many events. */
async function seen(stub: Stub, count: number): Promise<string[]> {
  const answer = await stub.attach({ dialect: "inderun", framing: "ndjson", from: "start", waitMs: 0 });
  if (!(answer instanceof Response) || answer.body === null) throw new Error("no stream");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n").length <= count) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text.split("\n").slice(0, count);
}

describe("run object", () => {
  it("R-LIFE-4 writes nothing for a run that does not exist, whatever it is asked", async () => {
    const stub = env.RUN.getByName(newName());
    expect(await stub.attach({ dialect: "inderun", framing: "sse", from: "start", waitMs: 10 })).toEqual({ refused: "not_found" });
    expect(await stub.state()).toBeUndefined();
    expect(await stub.outcome(10)).toEqual({ refused: "not_found" });
    expect(await stub.cancel("x")).toEqual({ refused: "not_found" });
    expect(await stub.forget()).toBe(false);
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

  it("R-LIFE-1 R-LIFE-2 seals a run found live after a crash, with all that a reader had seen", async () => {
    const name = newName();
    const stub = env.RUN.getByName(name);
    await stub.start(planOf("crashed"), 100);
    const before = await seen(stub, 12);
    await crash(stub);
    const again = env.RUN.getByName(name);
    const body = await read(again);
    const lines = body.split("\n").filter((line) => line.trim() !== "");
    expect(lines.slice(0, 12).map((line) => line.trim())).toEqual(before.map((line) => line.trim()));
    const events = parse(body);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    const text = events.flatMap(({ type, payload }) => (type === "content_delta" ? [payload["text"]] : [])).join("");
    expect(text).not.toBe("");
    expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      type: "terminal",
      payload: {
        outcome: "error",
        partialText: text,
        error: { errorClass: "Unavailable", retryable: true, details: { code: "interrupted" } },
      },
    });
  });

  it("R-LIFE-1 seals a run that crashed before its first output with an empty text", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("silent", { chain: [demoTarget("demo-silent")] }), 100);
    await crash(env.RUN.getByName(name));
    expect(await env.RUN.getByName(name).state()).toMatchObject({ status: "error" });
    const terminal = parse(await read(env.RUN.getByName(name))).at(-1);
    expect(terminal).toMatchObject({ payload: { partialText: "", error: { details: { code: "interrupted" } } } });
  });

  it("R-LIFE-1 is idempotent: a crash after the seal changes nothing", async () => {
    const name = newName();
    await env.RUN.getByName(name).start(planOf("twice", { chain: [demoTarget("demo-silent")] }), 100);
    await crash(env.RUN.getByName(name));
    const first = await read(env.RUN.getByName(name));
    await crash(env.RUN.getByName(name));
    expect(await read(env.RUN.getByName(name))).toBe(first);
  });

  it("R-LIFE-1 frees the tenant's slot of an interrupted run", async () => {
    const name = newName();
    const tenant = crypto.randomUUID();
    await env.RUN.getByName(name).start(planOf("slot", { tenant, chain: [demoTarget("demo-silent")] }), 1);
    const busy = await env.RUN.getByName(newName()).start(planOf("other", { tenant }), 1);
    expect(busy).toMatchObject({ started: false, refused: "too_many_runs" });
    await crash(env.RUN.getByName(name));
    await env.RUN.getByName(name).state();
    expect(await env.RUN.getByName(newName()).start(planOf("third", { tenant }), 1)).toMatchObject({ started: true });
  });

  it("R-LIFE-3 sweeps events, then everything, by its alarm", async () => {
    const name = newName();
    const stub = env.RUN.getByName(name);
    const short = { ...limits, retentionEventsMs: 0, retentionOutcomeMs: 3_600_000 };
    await stub.start(planOf("swept", { limits: short, chain: [demoTarget("demo-silent")] }), 100);
    const cancelled = await stub.cancel("enough");
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stub.attach({ dialect: "inderun", framing: "sse", from: "start", waitMs: 0 })).toEqual({ refused: "gone" });
    expect(await stub.outcome(0)).toEqual(cancelled);
    expect(await stub.state()).toMatchObject({ status: "cancelled", provenance: { targetId: "demo-silent" } });
    await runInDurableObject(stub, (_instance, state) => {
      const row = state.storage.sql.exec("SELECT plan FROM run").one();
      const plan = JSON.parse(String(row["plan"]));
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
    if (!("outcome" in answer)) throw new Error("still running");
    expect(JSON.parse(answer.outcome)).toMatchObject({
      outcome: "error",
      partialText: "",
      error: { errorClass: "Timeout", details: { failureClass: "timeout_total" } },
    });
  });

  it("R-DELETE-1 frees the name: the next start is a new run", async () => {
    const stub = env.RUN.getByName(newName());
    await stub.start(planOf("again", { chain: [demoTarget("demo-silent")] }), 100);
    expect(await stub.forget()).toBe(true);
    expect(await tables(stub)).toEqual([]);
    expect(await stub.state()).toBeUndefined();
    expect(await stub.start(planOf("again", { requestHash: "another" }), 100)).toMatchObject({ started: true, repeated: false });
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
