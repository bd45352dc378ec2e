// Runs that a producer pushes, wherever the object dies: what was acknowledged is there once, and what was not is taken when it is sent again.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import type { PushAnswer, PushedEvent } from "../../schemas/push.ts";
import { crashAt, crashes, expectWhole, readThrough, shown, view, type Event } from "./crashing.ts";
import { limits, newName, planOf } from "./plan.ts";

afterEach(() => takeGate(undefined));

const LEASE_MS = 30_000;

async function pushedRun(fields: Partial<RunPlan> = {}) {
  const name = newName();
  const run = () => env.RUN.getByName(name);
  const plan = planOf(name.slice("local/".length), { chain: [], push: { leaseMs: LEASE_MS }, ...fields });
  const start = (): Promise<unknown> => run().start(plan, 100);
  // A stub's own type gives up at fields of unknown type.
  const push = async (epoch: number, sequence: number, ...events: PushedEvent[]): Promise<PushAnswer> =>
    run().push({ epoch, sequence, events });
  /** The object dies; the next call finds another. */
  const die = async (): Promise<void> => {
    await runInDurableObject(run(), (_, state) => state.abort("crash")).catch(() => undefined);
  };
  return { name, run, start, push, die };
}

const say = (text: string): PushedEvent => ({ type: "content_delta", payload: { text } });
const completed: PushedEvent = { type: "terminal", payload: { outcome: "completed", stopReason: "stop" } };

const script: PushedEvent[][] = [
  [say("One. "), { type: "other", name: "mark", payload: { n: 1 } }],
  [
    { type: "tool_call", payload: { toolCallId: "c1", toolName: "look", input: { q: 1 }, execution: "server" } },
    { type: "tool_result", payload: { toolCallId: "c1", toolName: "look", output: 1 } },
  ],
  [say("Two. "), say("Three. ")],
  [say("Four."), completed],
];
const TEXT = "One. Two. Three. Four.";

it("R-FEED-3 a repeat is told where its event stands, also behind events with fields that the server writes elsewhere", async () => {
  const made = await pushedRun();
  await made.start();
  const events: PushedEvent[] = [
    say("One. "),
    { type: "diagnostic", payload: { code: "x", releasedFrom: 1 } },
    { type: "content_snapshot", payload: { text: "One. ", implied: true } },
    say("Two."),
  ];
  const first: PushAnswer[] = [];
  for (const [index, event] of events.entries()) first.push(await made.push(1, index, event));
  await made.push(1, events.length, say(" Three."));
  for (const [index, event] of events.entries()) expect(await made.push(1, index, event)).toEqual(first[index]);
});

describe("a producer whose run's object dies", () => {
  const dies = it.each(["standard", "strict"] as const);
  dies("R-FEED-3 R-LIFE-2 loses and doubles nothing, at whichever await that is, %s", async (durability) => {
    const policies = { ...planOf("").policies, durability };
    const reached = new Set<string>();
    for (let moment = 0; ; moment++) {
      const made = await pushedRun({ policies, limits: { ...limits, flushMs: 3_600_000 } });
      crashAt(made.name, moment);
      // A start that got no answer is asked again, as any client does.
      await made.start().catch(() => undefined);
      await made.start();
      const seen: Event[] = [];
      const reading = readThrough(made.name, seen);
      let sequence = 0;
      for (const batch of script) {
        const answer = await made.push(1, sequence, ...batch).catch(() => made.push(1, sequence, ...batch));
        expect(answer).toMatchObject({ taken: true, nextSequence: sequence + batch.length });
        expect(await made.push(1, sequence, ...batch)).toEqual(answer);
        sequence += batch.length;
      }
      await reading;
      takeGate(undefined);
      expectWhole(seen);
      expect(shown(seen)).toBe(TEXT);
      for (const type of ["mark", "tool_call", "tool_result"]) {
        expect(seen.filter((event) => event.type === type)).toHaveLength(1);
      }
      const crash = crashes.get(made.name);
      if (crash === undefined) break;
      reached.add(crash);
    }
    expect([...reached]).toEqual(expect.arrayContaining(["acquired", "accept written", "flush written", "ending"]));
  });

  it("R-FEED-3 gets every answer that it had, when the object is there anew and when the run has ended", async () => {
    const made = await pushedRun();
    await made.start();
    const answers: PushAnswer[] = [];
    let sequence = 0;
    const sent: { sequence: number; batch: PushedEvent[] }[] = [];
    for (const batch of script) {
      answers.push(await made.push(3, sequence, ...batch));
      sent.push({ sequence, batch });
      sequence += batch.length;
      await made.die();
    }
    for (const again of [1, 2]) {
      for (const [index, { sequence: from, batch }] of sent.entries()) {
        expect(await made.push(3, from, ...batch), `repeat ${again}`).toEqual(answers[index]);
      }
      await evictDurableObject(made.run());
    }
    const all: Event[] = [];
    await readThrough(made.name, all);
    expectWhole(all);
    for (const [index, { batch }] of sent.entries()) {
      const answer = answers[index];
      const last = batch.at(-1);
      if (answer?.taken !== true || last === undefined) throw new Error("the batch was not taken");
      expect(all[answer.lastSequence]?.type).toBe(last.type === "other" ? last.name : last.type);
    }
    expect(await made.push(3, sequence)).toEqual({ taken: false, refused: "ended", outcome: "completed" });
    expect(await made.push(3, sequence, say("more"))).toEqual({ taken: false, refused: "ended", outcome: "completed" });
  });

  it("R-FEED-4 is fenced by the one that took over, also after an eviction", async () => {
    const made = await pushedRun();
    await made.start();
    await made.push(1, 0, say("One. "));
    expect(await made.push(2, 0)).toEqual({ taken: true, nextSequence: 1, lastSequence: 5 });
    await made.die();
    expect(await made.push(1, 1, say("late"))).toEqual({ taken: false, refused: "fenced", epoch: 2 });
    expect(await made.push(2, 3, say("early"))).toEqual({ taken: false, refused: "gap", expected: 1 });
    expect(await made.push(2, 0, say("One. "), say("Two."), completed)).toMatchObject({ taken: true, nextSequence: 3 });
    const all: Event[] = [];
    await readThrough(made.name, all);
    expect(shown(all)).toBe("One. Two.");
  });
});

it("R-FEED-2 batches that come at once are each answered once they are on disk, and share their writes", async () => {
  const made = await pushedRun();
  await made.start();
  const held = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  takeGate(async (at) => {
    if (at !== "flush written") return;
    written.resolve();
    await held.promise;
  });
  let answered = 0;
  const pushes = Array.from({ length: 10 }, (_, index) =>
    made.push(1, index, say(`${index} `)).then((answer) => {
      answered++;
      return answer;
    }),
  );
  await written.promise;
  expect(await made.push(1, 50, say("early"))).toMatchObject({ refused: "gap" });
  expect(answered).toBe(0);
  held.resolve();
  const answers = await Promise.all(pushes);
  expect(answers).toEqual(
    answers.map((_, index) => ({ taken: true, nextSequence: index + 1, lastSequence: 5 + index })),
  );
  const rows = await runInDurableObject(made.run(), (_, { storage }) =>
    storage.sql.exec<{ producer: string }>("SELECT producer FROM segment").toArray(),
  );
  expect(rows.map(({ producer }) => JSON.parse(producer))).toMatchObject([{ epoch: 1, next: 10, last: 14 }]);
});

describe("a producer that falls silent", () => {
  const outcomeIn = async ({ run }: Awaited<ReturnType<typeof pushedRun>>, waitMs: number): Promise<unknown> => {
    const answer = await run().outcome(waitMs);
    return answer instanceof Response ? answer.json() : undefined;
  };
  const lost = { outcome: "error", partialText: "One. ", error: { errorClass: "Unavailable", retryable: true } };

  it("R-FEED-9 is lost when its time is over, and not before", async () => {
    // Each beat comes long before the lease is over, and all of them take longer than it.
    const made = await pushedRun({ push: { leaseMs: 2000 } });
    await made.start();
    await made.push(1, 0, say("One. "));
    for (let beat = 0; beat < 6; beat++) {
      expect(await outcomeIn(made, 400)).toBeUndefined();
      expect(await made.push(1, 1)).toMatchObject({ taken: true, nextSequence: 1 });
    }
    expect(await outcomeIn(made, 10_000)).toMatchObject(lost);
    expect(await made.push(1, 1, say("late"))).toEqual({ taken: false, refused: "ended", outcome: "error" });
  });

  it("R-FEED-9 is lost by the alarm when the object is not there, and heartbeats before that are remembered", async () => {
    const leaseMs = 1500;
    const made = await pushedRun({ push: { leaseMs } });
    await made.start();
    await made.push(1, 0, say("One. "));
    const heardAt = () =>
      runInDurableObject(made.run(), (_, { storage }) => {
        const rows = storage.sql.exec<{ producer: string }>("SELECT producer FROM segment ORDER BY id DESC").toArray();
        return Number(JSON.parse(rows[0]?.producer ?? "{}").heardAt);
      });
    const first = await heardAt();
    // A heartbeat is noted once half of the lease has gone by.
    expect(await outcomeIn(made, 0.6 * leaseMs)).toBeUndefined();
    await made.push(1, 1);
    const second = await heardAt();
    expect(second).toBeGreaterThan(first + 200);
    await made.die();
    // Half of the lease is added for what a restart has forgotten.
    await expect.poll(() => Date.now()).toBeGreaterThan(second + 1.5 * leaseMs);
    expect(await runDurableObjectAlarm(made.run())).toBe(true);
    expect(await outcomeIn(made, 10_000)).toMatchObject(lost);
    expect(await view(made.name)).toMatchObject({ status: "error", recoveries: 1 });
  });

  it("R-FEED-9 R-CLOCK-2 is not lost while its lease lasts, but for the total clock", async () => {
    const made = await pushedRun({ totalMs: 700 });
    await made.start();
    await made.push(1, 0, say("One. "));
    await made.die();
    await runDurableObjectAlarm(made.run());
    expect(await outcomeIn(made, 10_000)).toMatchObject({ error: { errorClass: "Timeout" }, partialText: "One. " });
  });
});

it("R-FEED-3 R-LIFE-3 a repeat is answered when the events are gone, and no more when the run is", async () => {
  // Between the two it is asked twice, also on a slow machine.
  const kept = { ...limits, retentionEventsMs: 1000, retentionOutcomeMs: 5000 };
  const made = await pushedRun({ limits: kept });
  await made.start();
  await made.push(1, 0, say("One. "));
  const last = await made.push(1, 1, say("Two."), completed);
  const gone = async (): Promise<unknown> => {
    await runDurableObjectAlarm(made.run());
    return made.run().attach({ dialect: "inderun", framing: "ndjson", from: "start", waitMs: 0 });
  };
  await expect.poll(gone, { timeout: 10_000 }).toEqual({ refused: "gone" });
  expect(await made.push(1, 1, say("Two."), completed)).toEqual(last);
  await expect.poll(gone, { timeout: 10_000 }).toEqual({ refused: "not_found" });
  expect(await made.push(1, 1, say("Two."), completed)).toEqual({ taken: false, refused: "not_found" });
});

it("R-FEED-8 a run of a provider takes no events, and one that is not there has none", async () => {
  const name = newName();
  const batch = { epoch: 1, sequence: 0, events: [] };
  const ask = async (): Promise<PushAnswer> => env.RUN.getByName(name).push(batch);
  expect(await ask()).toEqual({ taken: false, refused: "not_found" });
  await env.RUN.getByName(name).start(planOf(name.slice("local/".length)), 100);
  expect(await ask()).toEqual({ taken: false, refused: "not_pushed" });
});

it("R-FEED-8 R-CANCEL-1 a cancel is what the producer's next batch learns", async () => {
  const made = await pushedRun();
  await made.start();
  await made.push(1, 0, say("One. "));
  expect(await made.run().cancel("user")).toBeInstanceOf(Response);
  expect(await made.push(1, 1)).toEqual({ taken: false, refused: "ended", outcome: "cancelled" });
  expect(await made.push(1, 0, say("One. "))).toEqual({ taken: true, nextSequence: 1, lastSequence: 5 });
});
