// The state of a thread inside workerd: checkpoints and forks, what is withdrawn or waits, how runs are ended, and what a deleted thread leaves.
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import { ROLLBACK, type ThreadRunRequest } from "../../schemas/thread.ts";
import {
  age,
  ai,
  ask,
  askState,
  baseOf,
  begin,
  create,
  crash,
  ended,
  history,
  human,
  ids,
  idsOf,
  newRun,
  newsOf,
  newThread,
  patch,
  records,
  recordsOf,
  removal,
  result,
  run,
  runs,
  startRun,
  starting,
  stateOf,
  turn,
  update,
  view,
  viewIf,
  waiting,
} from "./threads.ts";

afterEach(() => takeGate(undefined));

it("R-REC-2 R-THR-14 runs and states that are too large for one answer are told in part, newest first", async () => {
  const { stub } = newThread();
  const large = "я".repeat(1_900_000);
  for (let one = 0; one < 7; one++) await turn(stub(), { metadata: { large }, input: [human(`h${one}`, "Hi")] });
  const told = await runs(stub());
  expect(told.length).toBeGreaterThan(5);
  expect(told.length).toBeLessThan(7);
  const entries = (await history(stub(), 100)) ?? [];
  expect(entries.length).toBeGreaterThan(5);
  expect(entries.length).toBeLessThan(14);
  const further = (await history(stub(), 100, entries.at(-1)?.checkpointId)) ?? [];
  expect(further[0]?.checkpointId).toBe(entries.at(-1)?.parentCheckpointId);
});

it("R-THR-19 values that have grown over what an answer has room for are refused", async () => {
  const { stub } = newThread();
  await create(stub());
  expect(await update(stub(), { values: { one: "x".repeat(4_000_000) } })).toMatchObject({ updated: true });
  expect(await update(stub(), { values: { two: "x".repeat(4_000_000) } })).toEqual({ updated: false, refused: "full" });
  expect(Object.keys((await stateOf(stub())).values)).toEqual(["one"]);
});

describe("a state", () => {
  it("R-THR-11 takes messages in by their ids, and refuses to remove what is not there", async () => {
    const { stub } = newThread();
    await turn(stub(), { input: [human("h1"), human("h2")] }, newsOf("", [ai("a1")]));
    await turn(stub(), { input: [human("h1", "Other."), removal("h2"), human("h3")] }, newsOf("", [ai("a2")]));
    expect(await ids(stub())).toEqual(["h1", "a1", "h3", "a2"]);
    expect((await stateOf(stub())).messages[0]?.message).toEqual(human("h1", "Other."));
    const refused = await ask(stub(), starting(newRun(), { input: [human("h4"), removal("h2")] }));
    expect(refused).toMatchObject({ begun: false, refused: "invalid_message", index: 1 });
    expect(await ids(stub())).toEqual(["h1", "a1", "h3", "a2"]);
  });

  it("R-THR-13 begins anew at any checkpoint, and neither branch sees what the other has", async () => {
    const { stub } = newThread();
    await turn(stub(), { input: [human("h1")] }, newsOf("", [ai("a1")]));
    const before = (await stateOf(stub())).checkpointId;
    await turn(stub(), { input: [human("h2"), removal("h1")], values: { title: "One" } }, newsOf("", [ai("a2")]));
    const one = (await stateOf(stub())).checkpointId;
    const fork = await begin(stub(), { input: [human("h3")], checkpointId: before });
    expect(fork.messages).toHaveLength(3);
    await stub().take(newsOf(fork.runId, [ai("a3")]));
    expect(await ids(stub())).toEqual(["h1", "a1", "h3", "a3"]);
    expect((await stateOf(stub())).values).toEqual({});
    expect(await ids(stub(), one)).toEqual(["a1", "h2", "a2"]);
    await turn(stub(), { input: [human("h4")], checkpointId: one }, newsOf("", [ai("a4")]));
    expect(await ids(stub())).toEqual(["a1", "h2", "a2", "h4", "a4"]);
    expect((await stateOf(stub())).values).toEqual({ title: "One" });
    expect(await ids(stub(), before)).toEqual(["h1", "a1"]);
  });

  it("R-THR-14 has a checkpoint for each change, and a history that is read backwards", async () => {
    const { stub } = newThread();
    expect(await history(stub(), 10)).toBeUndefined();
    await create(stub());
    expect(await askState(stub())).toEqual({ found: true });
    const runId = await turn(stub(), { metadata: { topic: "rain" } }, newsOf("", [ai("a1")]));
    await turn(stub(), {}, newsOf("", [ai("a2")]));
    const whole = (await history(stub(), 10)) ?? [];
    expect(whole.map(({ metadata }) => [metadata["source"], metadata["step"]])).toEqual([
      ["loop", 2],
      ["input", 1],
      ["loop", 0],
      ["input", -1],
    ]);
    expect(whole.map(({ parentCheckpointId }) => parentCheckpointId)).toEqual([
      ...whole.slice(1).map(({ checkpointId }) => checkpointId),
      null,
    ]);
    expect(whole[3]).toMatchObject({ metadata: { topic: "rain" }, messages: [] });
    const page = (await history(stub(), 1, whole[1]?.checkpointId)) ?? [];
    expect(page).toMatchObject([{ checkpointId: whole[2]?.checkpointId }]);
    expect(page.map(idsOf)).toEqual([[`h-${runId}`, "a1"]]);
    expect(await history(stub(), 10, "no such")).toEqual([]);
    expect(await askState(stub(), "cp-000000000099")).toMatchObject({ refused: "unknown_checkpoint" });
  });

  it("R-THR-15 has nothing of what a run has withdrawn", async () => {
    const { stub } = newThread();
    const { runId } = await begin(stub());
    await stub().take({ runId, records: recordsOf([ai("a1", "Wrong")]), through: 0 });
    const news = { runId, records: recordsOf([ai("a1-r3", "Right")], 1), through: 1, withdrawn: ["a1", "a0"] };
    await stub().take(news);
    await stub().take(news);
    expect(await ids(stub())).toEqual([`h-${runId}`, "a1-r3"]);
  });

  it("R-THR-16 says what waits for a user, until a run settles it or goes on without it", async () => {
    const { stub } = newThread();
    const calls = [ai("a1", "", [{ id: "c1", name: "delete" }])];
    const interrupts = [{ id: "c1", value: { tool_call_id: "c1" } }];
    const first = await turn(stub(), {}, newsOf("", calls, ended({ status: "interrupted", interrupts })));
    expect(await view(stub())).toMatchObject({ status: "interrupted" });
    expect(Object.values((await view(stub())).interrupts)).toEqual([interrupts]);
    const settling = await begin(stub(), { input: [], continues: first });
    expect(settling.messages.at(-1)).toMatchObject({ role: "assistant" });
    expect(settling.callIds).toEqual(["c1"]);
    await stub().abandonRun(settling.runId);
    expect(Object.values((await view(stub())).interrupts)).toEqual([interrupts]);
    const other = await begin(stub());
    expect(other.messages.slice(-2)).toMatchObject([{ role: "tool", isError: true }, { role: "user" }]);
    await stub().take(newsOf(other.runId, [result("t1", "c1")], ended({ title: "Rain" })));
    expect(await view(stub())).toMatchObject({ status: "idle", interrupts: {}, title: "Rain" });
  });

  it("R-THR-16 lets a run begin that settles just what waits, left by the run that it goes on from", async () => {
    const { stub } = newThread();
    const calls = [
      ai("a1", "", [
        { id: "c1", name: "delete" },
        { id: "c2", name: "delete" },
      ]),
    ];
    const interrupts = ["c1", "c2"].map((id) => ({ id, value: { tool_call_id: id } }));
    const first = await turn(stub(), {}, newsOf("", calls, ended({ status: "interrupted", interrupts })));
    const settling = (settles: string[], fields: Partial<ThreadRunRequest> = {}) =>
      ask(stub(), starting(newRun(), { input: [], continues: first, settles, ...fields }));
    const refused = { begun: false, refused: "not_waiting" };
    expect(await settling(["c1"])).toEqual(refused);
    expect(await settling(["c1", "c2", "c3"])).toEqual(refused);
    expect(await settling(["c1", "c2"], { continues: "other" })).toEqual(refused);
    await update(stub(), { input: [result("t1", "c1")] });
    expect(await settling(["c1", "c2"])).toEqual(refused);
    expect(await waiting(stub(), newRun())).toMatchObject({
      found: true,
      waiting: { runId: first, callIds: ["c2"], settled: [{ toolCallId: "c1", output: "18" }] },
    });
    const { runId } = await begin(stub(), { input: [], continues: first, settles: ["c2"] });
    // Whoever asks again for the run that has begun is told the same.
    expect(await waiting(stub(), runId)).toMatchObject({ waiting: { runId: first, callIds: ["c2"] } });
    expect(await waiting(stub(), newRun())).toEqual({ found: true });
    expect(await waiting(stub(), newRun(), "nowhere")).toEqual({ found: false, refused: "unknown_checkpoint" });
    expect(await waiting(newThread().stub(), newRun())).toEqual({ found: false, refused: "unknown_thread" });
  });

  it("R-THR-17 is the base of a run's live frames as it was with what the run brought, its newest 2 MiB", async () => {
    const { stub } = newThread();
    const mebibyte = "é".repeat(524_288);
    await turn(stub(), { input: [human("h1", mebibyte)], values: { title: "Big" } }, newsOf("", [ai("a1", mebibyte)]));
    const runId = await turn(stub(), { input: [human("h2", mebibyte.slice(1000))] });
    expect((await baseOf(stub(), runId))?.messages.map(({ id }) => id)).toEqual(["a1", "h2"]);
    expect((await baseOf(stub(), runId))?.values).toEqual({ title: "Big" });
    const large = await turn(stub(), { input: [human("h3", mebibyte.repeat(3))] });
    expect((await baseOf(stub(), large))?.messages).toEqual([human("h3", mebibyte.repeat(3))]);
    expect(await baseOf(stub(), "unknown")).toBeUndefined();
  });

  it("R-DFH-8 is told with the newest 8 MiB of its messages, and the newest one whatever its size", async () => {
    const { stub } = newThread();
    const large = "é".repeat(1_500_000);
    await turn(stub(), { input: [human("h1", large)] }, newsOf("", [ai("a1", large)]));
    await turn(stub(), { input: [human("h2", large)] }, newsOf("", [ai("a2")]));
    expect(await ids(stub())).toEqual(["a1", "h2", "a2"]);
    await update(stub(), { input: [human("h3", large.repeat(3))] });
    expect(await ids(stub())).toEqual(["h3"]);
  });

  it("R-THR-18 is changed without a run, but not while one is active", async () => {
    const { stub } = newThread();
    expect(await update(stub(), {})).toEqual({ updated: false, refused: "unknown_thread" });
    await turn(stub(), {}, newsOf("", [ai("a1")]));
    const changed = await update(stub(), {
      input: [human("h9"), removal("a1")],
      values: { title: "New" },
      asNode: "agent",
    });
    expect(changed).toMatchObject({
      updated: true,
      state: { values: { title: "New" }, metadata: { source: "update", as_node: "agent" } },
    });
    expect((await ids(stub())).at(-1)).toBe("h9");
    expect(await update(stub(), { input: [removal("a1")] })).toMatchObject({ refused: "invalid_message", index: 0 });
    expect(await update(stub(), { checkpointId: "cp-000000000099" })).toMatchObject({ refused: "unknown_checkpoint" });
    await begin(stub());
    expect(await update(stub(), {})).toEqual({ updated: false, refused: "active_run" });
  });

  it("R-THR-19 takes nothing in that would not fit", async () => {
    const { stub } = newThread();
    const room = { maxThreadBytes: 1_048_576, input: [human("h1", "x".repeat(1_000_000))] };
    expect(await ask(stub(), starting(newRun(), room))).toMatchObject({ begun: true });
    const { runId } = (await runs(stub()))[0] ?? { runId: "" };
    await stub().take(newsOf(runId));
    expect(await ask(stub(), starting(newRun(), room))).toEqual({ begun: false, refused: "full" });
    expect(await update(stub(), room)).toEqual({ updated: false, refused: "full" });
    expect(await ids(stub())).toEqual(["h1", `a-${runId}`]);
  });
});

describe("a run that is told to end", () => {
  it("R-THR-20 ends, and keeps what it has said", async () => {
    const { stub } = newThread();
    const { runId } = await begin(stub());
    await startRun(runId);
    expect(await stub().cancelRun(runId, "interrupt", false)).toEqual({ cancelled: true, ended: false });
    expect(await env.RUN.getByName(`local/${runId}`).word()).toBe("cancelled");
    const waiting = stub().cancelRun(runId, "interrupt", true);
    await stub().take(newsOf(runId, [ai("a1", "It")], ended({ status: "interrupted" })));
    expect(await waiting).toEqual({ cancelled: true, ended: true });
    expect(await stub().cancelRun(runId, "interrupt", false)).toEqual({ cancelled: true, ended: true });
    expect(await ids(stub())).toEqual([`h-${runId}`, "a1"]);
    expect(await view(stub())).toMatchObject({ status: "interrupted" });
    const done = await turn(stub());
    expect(await stub().cancelRun(done, "interrupt", false)).toMatchObject({
      refused: "not_cancellable",
      status: "success",
    });
    expect(await stub().cancelRun("unknown", "interrupt", true)).toMatchObject({ refused: "unknown_run" });
  });

  it("R-THR-20 ends as soon as it is started, also when the thread's object dies in between", async () => {
    const { stub } = newThread();
    const first = await begin(stub());
    expect(await stub().cancelRun(first.runId, "interrupt", false)).toEqual({ cancelled: true, ended: false });
    await startRun(first.runId);
    await expect.poll(() => env.RUN.getByName(`local/${first.runId}`).word()).toBe("cancelled");
    await stub().take(newsOf(first.runId, [], ended({ status: "interrupted" })));
    const second = await begin(stub());
    await stub().cancelRun(second.runId, "interrupt", false);
    await crash(stub());
    await startRun(second.runId);
    await stub().take({ runId: second.runId, records: recordsOf([ai("a1")]), through: 0 });
    await expect.poll(() => env.RUN.getByName(`local/${second.runId}`).word()).toBe("cancelled");
  });

  it("R-THR-21 leaves the state as it was before it, with the action or the strategy `rollback`", async () => {
    const { stub } = newThread();
    await turn(stub(), { input: [human("h1")], values: { title: "Rain" } });
    const before = await stateOf(stub());
    const { runId } = await begin(stub(), { input: [human("h2"), removal("h1")], values: { title: "Sun" } });
    await startRun(runId);
    await stub().take({ runId, records: recordsOf([ai("a2")]), through: 0 });
    const next = begin(stub(), { strategy: "rollback", input: [human("h3")] });
    await expect.poll(() => env.RUN.getByName(`local/${runId}`).word()).toBe("cancelled");
    const end = ended({ status: "error", error: ROLLBACK.error });
    await stub().take({ ...newsOf(runId, [ai("a2"), ai("a3")], end), through: 9 });
    expect((await next).messages).toHaveLength(before.messages.length + 1);
    expect(await run(stub(), runId)).toMatchObject({ status: "error", error: "Rolled back by user" });
    await stub().abandonRun((await next).runId);
    expect(await stateOf(stub())).toEqual(before);
    const told = await begin(stub());
    await startRun(told.runId);
    await stub().cancelRun(told.runId, "rollback", false);
    const outcome = await env.RUN.getByName(`local/${told.runId}`).outcome(0);
    expect(outcome instanceof Response ? await outcome.json() : undefined).toMatchObject({ reason: ROLLBACK.reason });
    await stub().take(newsOf(told.runId, [ai("a4")], end));
    expect(await stateOf(stub())).toEqual(before);
    // What it recorded stays.
    expect((await records(stub())).filter((line) => line.includes(runId))).toHaveLength(3);
  });

  it("R-THR-20 ends without its news when that does not come, and what comes later is kept", async () => {
    const { stub } = newThread();
    const { runId } = await begin(stub());
    await startRun(runId);
    expect(await stub().cancelRun(runId, "interrupt", true)).toEqual({ cancelled: true, ended: true });
    expect(await run(stub(), runId)).toMatchObject({ status: "interrupted" });
    await stub().take(newsOf(runId, [ai("a1", "It")], ended({ status: "interrupted" })));
    expect(await ids(stub())).toEqual([`h-${runId}`, "a1"]);
  });
});

describe("a deleted thread", () => {
  it("R-THR-23 is forgotten with its runs, but for its numbers, and not while a run is active", async () => {
    const { stub } = newThread();
    expect(await stub().remove()).toBe("unknown");
    const { runId } = await begin(stub());
    await startRun(runId);
    expect(await stub().remove()).toBe("busy");
    await env.RUN.getByName(`local/${runId}`).cancel("interrupted");
    await stub().take(newsOf(runId, [ai("a1")], ended({ status: "interrupted" })));
    expect(await stub().remove()).toBe("removed");
    expect(await viewIf(stub())).toBeUndefined();
    expect(await stub().take(newsOf(runId))).toEqual({ known: false });
    await expect.poll(() => env.RUN.getByName(`local/${runId}`).word()).toBeUndefined();
    await crash(stub());
    const again = await turn(stub(), {}, newsOf("", [ai("a2")]));
    expect(await records(stub())).toEqual([`3 ${again} llm.ai.response`, `4 ${again} run.terminal`]);
    expect(await ids(stub())).toEqual([`h-${again}`, "a2"]);
    expect((await runs(stub())).map((one) => one.runId)).toEqual([again]);
  });

  it("R-THR-9 is deleted though a run that was never started began in it", async () => {
    const { stub } = newThread();
    await begin(stub());
    expect(await stub().remove()).toBe("busy");
    await age(stub(), 15_000);
    expect(await stub().remove()).toBe("removed");
    expect(await patch(stub(), { a: 1 })).toBeUndefined();
  });
});
