// How the end of a turn reaches its chat when the visitor's object does not answer, or the run's object dies before it was told.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { afterEach, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { VisitorObject } from "../../durable-objects/visitor-object.ts";
import type { HistoryEntry, TurnAnswer } from "../../schemas/chat.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { crashAt } from "./crashing.ts";
import { agentTarget, limits, planOf, quickTarget, quickText } from "./plan.ts";

afterEach(() => takeGate(undefined));

const detailSchema = v.object({
  activeRunId: v.optional(v.string()),
  messages: v.array(v.object({ role: v.string(), content: v.string() })),
});

function begin(visitor: DurableObjectStub<VisitorObject>, history: HistoryEntry[] = []): Promise<TurnAnswer> {
  return visitor.beginTurn({
    chatId: "chat",
    identity: "turn",
    liveOnly: false,
    display: [],
    history,
    prompt: "What is there?",
    decisions: [],
    stream: { max: 0, minutes: 1 },
    activePerVisitor: 0,
    unknownModel: false,
    maxConversationBytes: 1_000_000,
  });
}

interface TurnOptions {
  retentionEventsMs?: number;
  history?: HistoryEntry[];
  chain?: RunPlan["chain"];
}

/** A turn that has begun. */
async function turn({
  retentionEventsMs = limits.retentionEventsMs,
  history,
  chain = [quickTarget()],
}: TurnOptions = {}) {
  const visitor = crypto.randomUUID();
  const chat = () => env.VISITOR.getByName(`local/${visitor}`);
  const begun = await begin(chat(), history);
  if (!begun.begun) throw new Error("the turn has not begun");
  const name = `local/${begun.runId}`;
  const run = () => env.RUN.getByName(name);
  const start = (): Promise<unknown> =>
    run().start(
      planOf(begun.runId, {
        chain,
        chat: { visitor, chatId: "chat" },
        limits: { ...limits, retentionEventsMs },
      }),
      100,
    );
  const told = () =>
    runInDurableObject(run(), async (_, { storage }) => ({
      told: storage.sql.exec<{ told: number }>("SELECT told FROM run").one().told === 1,
      alarmIn: ((await storage.getAlarm()) ?? 0) - Date.now(),
      events: storage.sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM segment").one().count,
    }));
  const said = async (): Promise<string[]> => {
    const { messages } = v.parse(detailSchema, await chat().read("chat"));
    return messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  };
  return { name, run, chat, start, told, said };
}

it("R-CHAT-1 tells the end after two seconds when its chat does not answer, and its chat later", async () => {
  const { run, chat, start, told, said } = await turn({ retentionEventsMs: 1000 });
  await start();
  const held = Promise.withResolvers<void>();
  const holding = runInDurableObject(chat(), (_, state) => state.blockConcurrencyWhile(() => held.promise));
  const before = Date.now();
  expect(await run().outcome(20_000)).toBeInstanceOf(Response);
  expect(Date.now() - before).toBeGreaterThanOrEqual(1900);
  expect(await told()).toMatchObject({ told: false });
  // Events whose time has come stay: the chat is told from them.
  expect(await runDurableObjectAlarm(run())).toBe(true);
  const waiting = await told();
  expect(waiting).toMatchObject({ told: false });
  expect(waiting.events).toBeGreaterThan(1);
  expect(waiting.alarmIn).toBeGreaterThan(20_000);
  expect(waiting.alarmIn).toBeLessThanOrEqual(31_000);
  await expect(runInDurableObject(run(), (_, state) => state.abort("crash"))).rejects.toThrow("crash");
  held.resolve();
  await holding;
  expect(await runDurableObjectAlarm(run())).toBe(true);
  expect(await told()).toMatchObject({ told: true, events: 1 });
  expect(await said()).toEqual([quickText()]);
});

it("R-CHAT-1 a run that died before it could tell its chat tells it when it wakes, before its end is visible", async () => {
  const { name, run, start, told, said } = await turn();
  crashAt(name, "ending");
  await start();
  await expect.poll(() => run().outcome(0), { timeout: 20_000 }).toBeInstanceOf(Response);
  expect(await told()).toMatchObject({ told: true });
  expect(await said()).toEqual([quickText()]);
});

it("R-CHAT-2 sums a long conversation up beside the run, and hands the summary in", async () => {
  const history = Array.from({ length: 48 }, (_, index): HistoryEntry => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `entry ${index}`,
  }));
  // The model answers every question without tools with an aside.
  const { chat, run, start } = await turn({ history, chain: [agentTarget()] });
  await start();
  expect(await run().outcome(20_000)).toBeInstanceOf(Response);
  const summaries = () =>
    runInDurableObject(chat(), (_, { storage }) => {
      const tables = storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
        )
        .toArray();
      return JSON.stringify(tables.map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray()));
    });
  await expect.poll(summaries, { timeout: 10_000 }).toMatch(/summary[^}]*An aside/);
});
