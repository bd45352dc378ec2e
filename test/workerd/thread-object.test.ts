// The thread's object inside workerd: which run begins, what a model is given, what stays of it, and what a death in between changes.
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import {
  age,
  ai,
  ask,
  begin,
  ended,
  human,
  ids,
  newRun,
  newsOf,
  newThread,
  records,
  recordsOf,
  startRun,
  starting,
  stateOf,
  turn,
  view,
  viewIf,
  create,
  patch,
  run,
  runs,
} from "./threads.ts";

afterEach(() => takeGate(undefined));

const outcomeOf = async (runId: string): Promise<unknown> => {
  const answer = await env.RUN.getByName(`local/${runId}`).outcome(0);
  return answer instanceof Response ? answer.json() : undefined;
};

describe("a thread", () => {
  it("R-THR-1 is made once, and stays as it is when it is made again", async () => {
    const { threadId, stub } = newThread();
    expect(await viewIf(stub())).toBeUndefined();
    const made = await create(stub(), { topic: "rain" });
    expect(made).toMatchObject({ threadId, status: "idle", metadata: { topic: "rain" }, interrupts: {} });
    expect(await create(stub(), { topic: "sun" })).toEqual(made);
  });

  it("R-THR-2 takes metadata in key by key, and to be pinned is no change of it", async () => {
    const { stub } = newThread();
    const made = await create(stub(), { a: 1, b: 2 });
    expect(await patch(stub(), { deerflow_pinned: true })).toMatchObject({ updatedAt: made.updatedAt });
    await patch(stub(), { deerflow_pinned: false, b: 3 });
    expect((await view(stub())).metadata).toEqual({ a: 1, b: 3, deerflow_pinned: false });
    expect(await patch(newThread().stub(), { a: 1 })).toBeUndefined();
    const before = await view(stub());
    expect(await patch(stub(), { a: "x".repeat(100_000) }, 100_000)).toBe("full");
    expect(await patch(stub(), { a: "x".repeat(6_000_000) })).toBe("full");
    expect(await view(stub())).toEqual(before);
    expect(await patch(stub(), { deerflow_pinned: true }, 1)).toMatchObject({ updatedAt: before.updatedAt });
  });
});

describe("a start", () => {
  it("R-THR-3 gives the conversation with what it brings, and makes the thread busy", async () => {
    const { stub } = newThread();
    const first = await turn(stub(), { input: [human("h1", "How warm?")] }, newsOf("", [ai("a1", "18 degrees.")]));
    const second = await begin(stub(), { input: [human("h2", "And tomorrow?")] });
    expect(second.messages).toEqual([
      { role: "user", content: "How warm?" },
      { role: "assistant", content: "18 degrees." },
      { role: "user", content: "And tomorrow?" },
    ]);
    expect(second.human).toEqual(human("h2", "And tomorrow?"));
    expect(await view(stub())).toMatchObject({ status: "busy" });
    expect(await runs(stub())).toMatchObject([
      { runId: second.runId, status: "pending" },
      { runId: first, status: "success" },
    ]);
  });

  it("R-THR-4 begins alone: of starts at the same moment exactly one does", async () => {
    const { stub } = newThread();
    const answers = await Promise.all([1, 2, 3].map(() => ask(stub(), starting(newRun()))));
    expect(answers.filter(({ begun }) => begun)).toHaveLength(1);
    expect(answers.filter((answer) => !answer.begun && answer.refused === "active_run")).toHaveLength(2);
  });

  it("R-THR-5 is known again by its name and its request", async () => {
    const { stub } = newThread();
    const { runId } = await begin(stub());
    expect(await ask(stub(), starting(runId))).toMatchObject({ begun: true, repeat: true });
    expect(await ask(stub(), starting(runId, { requestHash: "other" }))).toEqual({ begun: false, refused: "conflict" });
  });

  it("R-THR-6 ends the run before it, where it is told to, and waits for what that run has to say", async () => {
    const { stub } = newThread();
    const first = await begin(stub(), { input: [human("h1")] });
    await startRun(first.runId);
    const second = begin(stub(), { strategy: "interrupt", input: [human("h2")] });
    await expect.poll(() => outcomeOf(first.runId)).toMatchObject({ outcome: "cancelled" });
    await stub().take(newsOf(first.runId, [ai("a1", "It")], ended({ status: "interrupted" })));
    expect((await second).messages).toMatchObject([{ role: "user" }, { content: "It" }, { role: "user" }]);
    expect(await run(stub(), first.runId)).toMatchObject({ status: "interrupted" });
  });

  it("R-THR-7 changes nothing when it is refused, and ends no run", async () => {
    const { stub } = newThread();
    expect(await ask(stub(), starting(newRun(), { ifMissing: "refuse" }))).toMatchObject({ refused: "unknown_thread" });
    const lost = { checkpointId: "cp-000000000099" };
    expect(await ask(stub(), starting(newRun(), lost))).toMatchObject({ refused: "unknown_checkpoint" });
    expect(await viewIf(stub())).toBeUndefined();
    const { runId } = await begin(stub());
    await startRun(runId);
    expect(await ask(stub(), starting(newRun(), { ...lost, strategy: "interrupt" }))).toMatchObject({
      refused: "unknown_checkpoint",
    });
    expect(await env.RUN.getByName(`local/${runId}`).word()).toBe("running");
  });

  it("R-THR-8 that could not be carried out is taken back, with the thread that it made", async () => {
    const { stub } = newThread();
    const first = await begin(stub());
    await stub().abandonRun(first.runId);
    expect(await viewIf(stub())).toBeUndefined();
    await turn(stub(), { input: [human("h1")] });
    const before = [await view(stub()), await stateOf(stub())];
    const second = await begin(stub(), { values: { title: "Rain" } });
    await stub().abandonRun(second.runId);
    expect([await view(stub()), await stateOf(stub())]).toEqual(before);
    expect(await run(stub(), second.runId)).toBeUndefined();
  });

  it("R-THR-9 whose edge has died does not block the thread", async () => {
    const { stub } = newThread();
    const first = await begin(stub(), { input: [human("h1")] });
    expect(await ask(stub(), starting(newRun()))).toMatchObject({ refused: "active_run" });
    await age(stub(), 15_000);
    expect(await view(stub())).toMatchObject({ status: "idle" });
    const second = await begin(stub(), { input: [human("h2")] });
    expect(await ids(stub())).toEqual(["h2"]);
    // It was only late.
    await stub().take(newsOf(first.runId));
    expect(await ids(stub())).toEqual(["h2"]);
    expect(await run(stub(), first.runId)).toMatchObject({ status: "success" });
    expect(await run(stub(), second.runId)).toMatchObject({ status: "pending" });
  });
});

describe("news", () => {
  it("R-THR-10 that is told twice is kept once, in the order of the thread", async () => {
    const { stub } = newThread();
    const { runId } = await begin(stub());
    const step = { runId, records: recordsOf([ai("a1")]), through: 0 };
    await stub().take(step);
    await stub().take(step);
    await stub().take(newsOf(runId, [ai("a1"), ai("a2")]));
    await stub().take(newsOf(runId, [ai("a1"), ai("a2")]));
    expect(await records(stub())).toEqual([
      `1 ${runId} llm.ai.response`,
      `2 ${runId} llm.ai.response`,
      `3 ${runId} run.terminal`,
    ]);
    expect(await ids(stub())).toEqual([`h-${runId}`, "a1", "a2"]);
    expect(await stub().take(newsOf("somebody-else"))).toEqual({ known: false });
  });
});
