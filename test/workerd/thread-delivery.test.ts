// How the records of a run reach its thread, wherever one of both objects dies: each is there once, in order. The thread's object is the real one.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import { runLogStore } from "../../durable-objects/run-log-store.ts";
import { threadRecords } from "../../durable-objects/thread-records.ts";
import { pause } from "../../durable-objects/within.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type {
  RecordDraft,
  ThreadRunAnswer,
  ThreadRunRequest,
  ThreadRunView,
  ThreadView,
} from "../../schemas/thread.ts";
import { emptyRecording, record } from "../../src/thread/records.ts";
import { eventOf } from "../../src/wire/log-entry.ts";
import { crashAt, crashes, readThrough, view, type Event } from "./crashing.ts";
import { agentPlan, agentTarget, limits, planOf, quickTarget, quickText, toolCallsOf } from "./plan.ts";

afterEach(() => takeGate(undefined));

const HUMAN = "marker-of-the-human";

/** A run that has begun in a thread of its own; `start` starts it. */
async function threadRun(fields: Partial<RunPlan> = {}) {
  const [threadId, runId] = [crypto.randomUUID(), crypto.randomUUID()];
  // Anew for each call: a stub whose object has died stays broken.
  const thread = () => env.THREAD.getByName(`local/${threadId}`);
  const name = `local/${runId}`;
  const run = () => env.RUN.getByName(name);
  const begin = async (request: ThreadRunRequest): Promise<ThreadRunAnswer> => thread().beginRun(request);
  const begun = await begin({
    threadId,
    runId,
    requestHash: "hash",
    ifMissing: "create",
    strategy: "reject",
    input: [{ type: "human", content: HUMAN, id: "h1" }],
    assistantId: null,
    metadata: {},
    kwargs: {},
    maxConversationBytes: 100_000,
    maxThreadBytes: limits.maxThreadBytes,
  });
  if (!begun.begun || begun.human === undefined) throw new Error("the run has not begun");
  const { human } = begun;
  const plan = planOf(runId, {
    chain: [agentTarget()],
    agent: agentPlan(),
    thread: { threadId, chain: "default", modes: [], human },
    ...fields,
  });
  return { threadId, thread, runId, name, run, human, start: (): Promise<unknown> => run().start(plan, 100) };
}

type ThreadRun = Awaited<ReturnType<typeof threadRun>>;

/** The records in the thread, without what the thread adds. */
async function recordsIn({ thread, runId }: ThreadRun): Promise<Omit<RecordDraft, "source">[]> {
  const kept = await runInDurableObject(
    thread(),
    (_, { storage }) => threadRecords(storage, () => 0).read({}, { limit: 10_000, from: "start" }).records,
  );
  expect(kept.map(({ seq }) => seq)).toEqual(kept.map((_, index) => index + 1));
  expect(kept.every((one) => one.runId === runId)).toBe(true);
  return kept.map(({ eventType, category, content, metadata, at }) => ({ eventType, category, content, metadata, at }));
}

/** The records that the run's log makes. */
function recordsOfLog({ run, runId, human }: ThreadRun): Promise<Omit<RecordDraft, "source">[]> {
  return runInDurableObject(run(), (_, { storage }) => {
    const store = runLogStore(storage);
    const models = { agent: "m", quick: "m" };
    let recording = emptyRecording({ runId, models, chain: "default", human });
    const records: RecordDraft[] = [];
    for (let to = -1; ;) {
      const page = store.read(to);
      if ("damagedTo" in page) throw new Error("the log is damaged");
      if (page.entries.length === 0) break;
      for (const entry of page.entries) {
        to = entry.sequence;
        const event = eventOf(entry);
        if (event === undefined) continue;
        const made = record(recording, event);
        ({ recording } = made);
        records.push(...made.records);
      }
    }
    return records.map(({ source: _source, ...rest }) => rest);
  });
}

// A stub's own type gives up at fields of unknown type.
const runView = async ({ thread, runId }: ThreadRun): Promise<ThreadRunView | undefined> => thread().run(runId);
const threadView = async ({ thread }: ThreadRun): Promise<ThreadView | undefined> => thread().view();
const status = async (made: ThreadRun): Promise<string | undefined> => (await threadView(made))?.status;

const typesIn = async (made: ThreadRun): Promise<string[]> => (await recordsIn(made)).map(({ eventType }) => eventType);

/** What the run's row says of its thread, and what is stored of its events. */
const delivered = ({ run }: ThreadRun) =>
  runInDurableObject(run(), async (_, { storage }) => {
    const row = storage.sql
      .exec<{ projected: number | null; opening: string | null; terminal: number | null }>(
        "SELECT projected, opening, terminal FROM run",
      )
      .one();
    const alarm = (await storage.getAlarm()) ?? 0;
    const { events } = storage.sql.exec<{ events: number }>("SELECT COUNT(*) AS events FROM segment").one();
    return { ...row, alarmIn: alarm - Date.now(), events };
  });

/** Nothing of this object's is answered until `let go` is called. */
async function hold(stub: DurableObjectStub): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const holding = runInDurableObject(stub, (_, state) =>
    state.blockConcurrencyWhile(() => {
      entered.resolve();
      return held.promise;
    }),
  );
  await entered.promise;
  return async () => {
    held.resolve();
    await holding;
  };
}

/** Holds of a run that has ended, however often something has died. */
async function expectWhole(made: ThreadRun): Promise<void> {
  const records = await recordsIn(made);
  expect(records).toEqual(await recordsOfLog(made));
  const end = records.at(-1);
  expect(end).toMatchObject({ eventType: "run.terminal" });
  expect(await runView(made)).toMatchObject({ status: Object(end?.content).status });
  expect(await status(made)).not.toBe("busy");
  const { projected, opening, terminal } = await delivered(made);
  expect(projected).toBe(terminal);
  expect(opening).toBeNull();
}

const retract: RunPlan["policies"] = {
  replaces: true,
  onDisconnect: "continue",
  onMidStreamFailure: "retract",
  durability: "standard",
  telemetry: false,
};

describe("the records of a run", () => {
  it("R-THR-34 R-THR-33 are in its thread when its end is visible", async () => {
    const made = await threadRun();
    await made.start();
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    await expectWhole(made);
    const types = await typesIn(made);
    expect(types.filter((type) => type !== "llm.tool.result")).toEqual([
      "run.start",
      "llm.human.input",
      "tool.intent",
      "tool.intent",
      "llm.ai.response",
      "tool.intent",
      "llm.ai.response",
      "llm.ai.response",
      "run.end",
      "run.terminal",
    ]);
    expect(await status(made)).toBe("idle");
  });

  it("R-START-11 R-THR-34 hold its end only when its slot is free: what begins on that finds a place", async () => {
    const made = await threadRun();
    let ending = false;
    let held = false;
    takeGate(async (at) => {
      if (at !== "ending") return;
      ending = true;
      // Looked for: a promise that is resolved outside of the object goes on only when the object is called.
      while (!held) await pause(1);
    });
    await made.start();
    await expect.poll(() => ending).toBe(true);
    const letGo = await hold(env.TENANT.getByName("local"));
    held = true;
    // Time enough for the thread to hear of the end, far less than the tenant is waited for.
    for (let looks = 0; looks < 10; looks++) {
      await pause(20);
      expect(await runView(made)).toMatchObject({ status: "running" });
    }
    await letGo();
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    await expectWhole(made);
  });

  it("R-THR-34 are told while the run goes on, as far as steps and tools have come", async () => {
    const made = await threadRun();
    const called = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    takeGate(async (at) => {
      if (at !== "calling") return;
      called.resolve();
      await go.promise;
    });
    await made.start();
    await called.promise;
    await expect.poll(() => typesIn(made)).toContain("llm.ai.response");
    expect(await typesIn(made)).not.toContain("llm.tool.result");
    expect(await runView(made)).toMatchObject({ status: "running" });
    go.resolve();
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    await expectWhole(made);
  });

  it("R-THR-34 are there once, wherever the run's object dies", { timeout: 120_000 }, async () => {
    const reached = new Set<string>();
    let lost = 0;
    const dies = async (moment: number | string): Promise<boolean> => {
      const made = await threadRun({ policies: retract, limits: { ...limits, flushMs: 3_600_000 } });
      crashAt(made.name, moment);
      await made.start().catch(() => undefined);
      const crash = (): string | undefined => crashes.get(made.name);
      if ((await view(made.name)) === undefined) {
        lost++;
        return true;
      }
      const all: Event[] = [];
      await readThrough(made.name, all);
      await expect.poll(() => delivered(made).then(({ projected, terminal }) => projected === terminal)).toBe(true);
      takeGate(undefined);
      await expectWhole(made);
      const at = crash();
      if (at !== undefined) reached.add(at);
      return at !== undefined;
    };
    for (let moment = 0; await dies(moment); moment++);
    for (const name of ["telling", "projected", "ending", "released", "calling", "called"]) {
      if (!reached.has(name)) expect(await dies(name), name).toBe(true);
    }
    expect(lost).toBeLessThanOrEqual(2);
  });

  it("R-THR-34 are there once, whichever of its calls the thread's object dies at", { timeout: 60_000 }, async () => {
    for (let fatal = 0; ; fatal++) {
      const made = await threadRun({ policies: retract });
      let told = 0;
      takeGate(async (at) => {
        if (at !== "telling" || told++ !== fatal) return;
        await runInDurableObject(made.thread(), (_, state) => state.abort("crash")).catch(() => undefined);
      });
      await made.start();
      expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
      takeGate(undefined);
      await expectWhole(made);
      if (told <= fatal) break;
    }
  });

  it("R-THR-34 R-THR-35 are told later when the thread does not answer, and nothing of the run goes before", async () => {
    const made = await threadRun({
      chain: [quickTarget()],
      limits: { ...limits, retentionEventsMs: 500, retentionOutcomeMs: 1000 },
    });
    const letGo = await hold(made.thread());
    const before = Date.now();
    await made.start();
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    expect(Date.now() - before).toBeGreaterThanOrEqual(1900);
    expect(await delivered(made)).toMatchObject({ projected: null, opening: expect.stringContaining(HUMAN) });
    // All of the run was to be gone by now.
    expect(await runDurableObjectAlarm(made.run())).toBe(true);
    const waiting = await delivered(made);
    expect(waiting.events).toBeGreaterThan(1);
    expect(waiting.alarmIn).toBeGreaterThan(20_000);
    expect(await made.run().forget()).toBe("untold");
    await letGo();
    expect(await made.run().forget()).toBe("forgotten");
    expect((await typesIn(made)).at(-1)).toBe("run.terminal");
    expect(await runView(made)).toMatchObject({ status: "success" });
  });

  it("R-THR-35 R-LIFE-5 what a run brings to its thread is erased with the thread's first answer", async () => {
    const made = await threadRun({ chain: [quickTarget()] });
    await made.start();
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    const stored = await runInDurableObject(made.run(), (_, { storage }) =>
      JSON.stringify([
        storage.sql.exec("SELECT * FROM run").toArray(),
        storage.sql.exec("SELECT * FROM segment").toArray(),
      ]),
    );
    expect(stored).not.toContain(HUMAN);
    expect(JSON.stringify(await recordsIn(made))).toContain(HUMAN);
  });

  it("R-THR-35 messages that are too large for a row reach the thread, and are erased", async () => {
    const made = await threadRun({ chain: [quickTarget()] });
    const { threadId } = made;
    const human = { type: "human", content: "ä".repeat(700_000), id: "h1" };
    await made.run().start(
      planOf(made.runId, {
        chain: [quickTarget()],
        agent: agentPlan(),
        thread: { threadId, chain: "default", modes: [], human },
      }),
      100,
    );
    expect(await made.run().outcome(20_000)).toBeInstanceOf(Response);
    const [, input] = await recordsIn(made);
    expect(input?.content).toEqual(human);
    const left = await runInDurableObject(made.run(), (_, { storage }) =>
      storage.sql.exec<{ name: string }>("SELECT DISTINCT name FROM run_text").toArray(),
    );
    expect(left.map(({ name }) => name)).toEqual(["plan"]);
  });

  it("R-THR-36 a run that its thread does not know is cancelled, and calls no tool", async () => {
    const runId = crypto.randomUUID();
    const thread = { threadId: crypto.randomUUID(), chain: null, modes: [] };
    const run = env.RUN.getByName(`local/${runId}`);
    await run.start(planOf(runId, { chain: [agentTarget()], agent: agentPlan(), thread }), 100);
    const answer = await run.outcome(20_000);
    if (!(answer instanceof Response)) throw new Error("the run has not ended");
    expect(await answer.json()).toMatchObject({ outcome: "cancelled", reason: "deleted" });
    expect(await toolCallsOf(runId)).toEqual(new Map());
    expect(await run.forget()).toBe("forgotten");
  });
});

it("R-COST-1 a run without a thread writes nothing for one", async () => {
  const runId = crypto.randomUUID();
  const run = env.RUN.getByName(`local/${runId}`);
  await run.start(planOf(runId, { chain: [quickTarget()] }), 100);
  const answer = await run.outcome(20_000);
  if (!(answer instanceof Response)) throw new Error("the run has not ended");
  expect(await answer.json()).toMatchObject({ finalText: quickText() });
  const [row] = await runInDurableObject(run, (_, { storage }) =>
    storage.sql.exec("SELECT projected, opening FROM run").toArray(),
  );
  expect(row).toEqual({ projected: null, opening: null });
});
