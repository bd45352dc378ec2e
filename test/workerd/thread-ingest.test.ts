// Records that are pushed to a thread's object: what is kept, under which numbers, what is refused, and how a recorded run ends.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { IngestRequest } from "../../schemas/thread-ingest.ts";
import type { RowsAnswer } from "../../schemas/thread-rows.ts";
import type { ThreadRecord, ThreadRunView, ThreadStateAnswer, ThreadView } from "../../schemas/thread.ts";
import {
  answer,
  call,
  event,
  human,
  newThread,
  note,
  push,
  runEnd,
  runError,
  terminal,
  toolResult,
} from "./pushing.ts";
import { crash, starting, type Stub } from "./threads.ts";

// What holds content of any kind has no type behind a stub.
const eventsOf = async (stub: Stub, runId: string): Promise<RowsAnswer<ThreadRecord>> =>
  stub.runEvents({ runId, limit: 2000 });
const stateOf = async (stub: Stub): Promise<ThreadStateAnswer> => stub.state();

async function recordsOf(stub: Stub, runId = "r1"): Promise<ThreadRecord[]> {
  const answered = await eventsOf(stub, runId);
  if ("refused" in answered) throw new Error("too large");
  return answered.rows;
}
const told = async (stub: Stub, runId = "r1"): Promise<unknown[]> =>
  (await recordsOf(stub, runId)).map(({ seq, eventType }) => [seq, eventType]);
const runOf = async (stub: Stub, runId = "r1"): Promise<ThreadRunView | undefined> => stub.run(runId);
const viewOf = async (stub: Stub): Promise<ThreadView | undefined> => stub.view();
const statusesOf = async (stub: Stub, runId = "r1"): Promise<unknown[]> => [
  (await runOf(stub, runId))?.status,
  (await viewOf(stub))?.status,
];
/** Storage as it would be had the producer been silent for so much longer. */
const age = (stub: Stub, ms: number): Promise<void> =>
  runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec("UPDATE producer SET lease_until = lease_until - ?", ms);
  });

describe("batches", () => {
  it("R-PUSH-1 make the run, and are numbered with all other records of the thread", async () => {
    const thread = newThread();
    expect(await push(thread(), { records: [human("h1"), note("a")] })).toEqual({
      taken: true,
      epoch: 0,
      next: 2,
      seqs: [1, 2],
    });
    expect(await push(thread(), { runId: "r2", records: [note("b")] })).toMatchObject({ seqs: [3] });
    expect(await push(thread(), { sequence: 2, records: [answer("a1")], userId: "u" })).toMatchObject({
      next: 3,
      seqs: [4],
    });
    expect(await recordsOf(thread())).toMatchObject([
      { seq: 1, eventType: "llm.human.input", userId: null },
      { seq: 2, eventType: "some.note", category: "notes", content: "a" },
      { seq: 4, eventType: "llm.ai.response", userId: "u" },
    ]);
    expect(await runOf(thread())).toMatchObject({ status: "running", assistantId: "lead_agent", error: null });
    expect((await viewOf(thread()))?.status).toBe("busy");
  });

  it("R-PUSH-2 are kept once, and a repeat is answered as it was, also after a death and in other cuts", async () => {
    const thread = newThread();
    const first = { records: [note("a"), note("b")] };
    const second = { sequence: 2, records: [note("c"), note("d")] };
    const answers = [await push(thread(), first), await push(thread(), second)];
    await push(thread(), { runId: "r2", records: [note("x")] });
    await crash(thread());
    expect([await push(thread(), first), await push(thread(), second)]).toEqual(answers);
    const mixed = { sequence: 1, records: [note("b"), note("c"), note("d"), note("e")] };
    expect(await push(thread(), mixed)).toEqual({ taken: true, epoch: 0, next: 5, seqs: [2, 3, 4, 6] });
    expect(await push(thread(), mixed)).toEqual({ taken: true, epoch: 0, next: 5, seqs: [2, 3, 4, 6] });
    expect((await recordsOf(thread())).map(({ content }) => content)).toEqual(["a", "b", "c", "d", "e"]);
    expect(await push(thread(), { sequence: 5, records: [note("f")] })).toMatchObject({ next: 6, seqs: [7] });
  });

  it("R-PUSH-2 that come too early are refused with the number that is expected, and nothing is kept", async () => {
    const thread = newThread();
    expect(await push(thread(), { sequence: 1, records: [note("b")] })).toEqual({
      taken: false,
      refused: "gap",
      expected: 0,
    });
    expect(await thread().view()).toBeUndefined();
    await push(thread(), { records: [note("a")] });
    expect(await push(thread(), { sequence: 2, records: [note("c")] })).toMatchObject({ refused: "gap", expected: 1 });
    expect(await told(thread())).toEqual([[1, "some.note"]]);
  });

  it("R-PUSH-3 of a producer that was replaced are refused; the one that takes over counts from 0", async () => {
    const thread = newThread();
    await push(thread(), { epoch: 3, records: [note("a")] });
    expect(await push(thread(), { epoch: 4, sequence: 1, records: [] })).toMatchObject({ refused: "gap", expected: 0 });
    expect(await push(thread(), { epoch: 4, records: [note("b")] })).toEqual({
      taken: true,
      epoch: 4,
      next: 1,
      seqs: [2],
    });
    const stale = { taken: false, refused: "fenced", epoch: 4 };
    expect(await push(thread(), { epoch: 3, sequence: 1, records: [note("c")] })).toEqual(stale);
    expect(await push(thread(), { epoch: 3, records: [note("a")] })).toEqual(stale);
    expect(await told(thread())).toHaveLength(2);
  });

  it("R-PUSH-4 with a broken record are refused whole, each fault with its path", async () => {
    const thread = newThread();
    const wrong = event("llm.ai.response", "trace", { type: "ai", content: "" }, { caller: 5 });
    const answered = await push(thread(), { records: [note("a"), wrong, 7] });
    expect(answered).toMatchObject({ taken: false, refused: "invalid" });
    const paths = "issues" in answered ? answered.issues.map(({ path }) => path) : [];
    expect(paths).toEqual(
      expect.arrayContaining([
        "/records/1/category",
        "/records/1/content/tool_calls",
        "/records/1/metadata/caller",
        "/records/1/metadata/usage",
        "/records/2",
      ]),
    );
    expect(paths.some((path) => path.startsWith("/records/0"))).toBe(false);
    expect(await thread().view()).toBeUndefined();
  });

  it("R-PUSH-4 are refused where a record is too deep, follows the end, or tells another end than the request", async () => {
    const thread = newThread();
    const deep: unknown = JSON.parse(`${"[".repeat(70)}${"]".repeat(70)}`);
    const faults = async (fields: Partial<IngestRequest>): Promise<unknown> => {
      const answered = await push(thread(), fields);
      return "issues" in answered ? answered.issues.map(({ path }) => path) : answered;
    };
    expect(await faults({ records: [note("a"), event("x", "y", deep)] })).toEqual(["/records/1"]);
    expect(await faults({ records: [terminal("success"), note("late")] })).toEqual(["/records/1"]);
    expect(
      await faults({ records: [terminal("success")], end: { status: "error", stopReason: null, error: null } }),
    ).toEqual(["/end/status"]);
    for (const created_at of [
      "2026-13-02T03:04:05Z",
      "2026-02-30T03:04:05Z",
      "2025-02-29T03:04:05+01:00",
      "0000-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59-05:00",
    ]) {
      const records = [{ ...Object(note("a")), created_at }];
      expect([created_at, await faults({ records })]).toEqual([created_at, ["/records/0/created_at"]]);
    }
    expect(await thread().view()).toBeUndefined();
  });

  it("R-PUSH-4 keep the times that records bring", async () => {
    const thread = newThread();
    await push(thread(), { records: [{ ...Object(note("a")), created_at: "2026-01-02T03:04:05.678901+01:00" }] });
    expect((await recordsOf(thread()))[0]?.at).toBe(Date.parse("2026-01-02T02:04:05.678Z") + 0.901);
  });

  it("R-PUSH-5 are refused for a thread that is not there, is full, or runs that run itself", async () => {
    const thread = newThread();
    expect(await push(thread(), { ifMissing: "refuse", records: [note("a")] })).toEqual({
      taken: false,
      refused: "unknown_thread",
    });
    await push(thread(), { records: [note("a")] });
    expect(await push(thread(), { sequence: 1, records: [note("b")], maxThreadBytes: 1 })).toEqual({
      taken: false,
      refused: "full",
    });
    expect(await push(thread(), { sequence: 1, maxThreadBytes: 1 })).toMatchObject({ taken: true, next: 1 });
    const own = newThread();
    await own().beginRun({
      threadId: "t",
      runId: "r1",
      requestHash: "h",
      ifMissing: "create",
      strategy: "reject",
      input: [],
      assistantId: null,
      metadata: {},
      kwargs: {},
      maxConversationBytes: 1000,
      maxThreadBytes: 1_000_000_000,
    });
    expect(await push(own(), { records: [note("a")] })).toEqual({ taken: false, refused: "not_pushed" });
  });
});

describe("ends", () => {
  it.each([
    ["run.end", runEnd, "success", "idle", null],
    ["run.error", runError, "error", "error", "It failed."],
  ])("R-PUSH-6 %s ends the run, and what belongs to it may still come", async (_name, last, status, word, error) => {
    const thread = newThread();
    await push(thread(), { records: [human("h1"), answer("a1"), last] });
    expect(await statusesOf(thread())).toEqual([status, word]);
    expect((await runOf(thread()))?.error).toBe(error);
    expect(await push(thread(), { sequence: 3, records: [note("later")] })).toMatchObject({ taken: true, next: 4 });
    await age(thread(), 61_000);
    await runDurableObjectAlarm(thread());
    expect((await recordsOf(thread())).slice(-2)).toMatchObject([
      { eventType: "some.note" },
      { eventType: "run.terminal", content: { status, stop_reason: null, error } },
    ]);
    expect(await statusesOf(thread())).toEqual([status, word]);
    expect(await push(thread(), { sequence: 4, records: [note("too late")] })).toEqual({
      taken: false,
      refused: "ended",
      status,
    });
  });

  it("R-PUSH-6 run.terminal is the last word, also after run.end, and nothing follows it but repeats", async () => {
    const thread = newThread();
    await push(thread(), { records: [answer("a1"), runEnd] });
    const last = { sequence: 2, records: [note("undelivered"), terminal("error")] };
    const answered = await push(thread(), last);
    expect(await statusesOf(thread())).toEqual(["error", "error"]);
    expect(await push(thread(), last)).toEqual(answered);
    const ended = { taken: false, refused: "ended", status: "error" };
    expect(await push(thread(), { sequence: 4, records: [note("x")] })).toEqual(ended);
    expect(await push(thread(), { sequence: 4 })).toEqual(ended);
    expect(await push(thread(), { epoch: 1, records: [note("x")] })).toEqual(ended);
    expect(await told(thread())).toHaveLength(4);
  });

  it("R-PUSH-6 a request's own word ends the run, and a run.terminal is made of it", async () => {
    const thread = newThread();
    await push(thread(), { records: [answer("a1"), runEnd] });
    const end = { sequence: 2, end: { status: "timeout", stopReason: "loop_capped", error: "Too slow." } } as const;
    expect(await push(thread(), end)).toEqual({ taken: true, epoch: 0, next: 2, seqs: [] });
    expect(await push(thread(), end)).toEqual({ taken: true, epoch: 0, next: 2, seqs: [] });
    expect(await recordsOf(thread())).toMatchObject([
      {},
      {},
      {
        eventType: "run.terminal",
        category: "outputs",
        content: { status: "timeout", stop_reason: "loop_capped", error: "Too slow.", outcome: "error" },
      },
    ]);
    expect(await statusesOf(thread())).toEqual(["timeout", "error"]);
    expect(await push(thread(), { ...end, end: { ...end.end, status: "success" } })).toMatchObject({
      refused: "ended",
    });
  });

  it("R-PUSH-7 a producer that is not heard of for its lease is lost, and its run ends with an error", async () => {
    const thread = newThread();
    await push(thread(), { records: [answer("a1")], leaseMs: 30_000 });
    await age(thread(), 20_000);
    await push(thread(), { sequence: 1, leaseMs: 30_000 });
    await age(thread(), 20_000);
    await runDurableObjectAlarm(thread());
    expect(await statusesOf(thread())).toEqual(["running", "busy"]);
    await age(thread(), 11_000);
    await crash(thread());
    await runDurableObjectAlarm(thread());
    expect(await statusesOf(thread())).toEqual(["error", "error"]);
    expect(await runOf(thread())).toMatchObject({ stopReason: "orphan_recovered" });
    expect((await recordsOf(thread())).at(-1)).toMatchObject({
      seq: 2,
      eventType: "run.terminal",
      content: { status: "error", stop_reason: "orphan_recovered", outcome: "error" },
    });
    expect(await push(thread(), { sequence: 1, records: [note("x")] })).toMatchObject({ refused: "ended" });
    await runDurableObjectAlarm(thread());
    expect(await told(thread())).toHaveLength(2);
  });

  it("R-PUSH-8 a cancelled run is over for its producer, which is told so", async () => {
    const thread = newThread();
    await push(thread(), { records: [answer("a1")] });
    expect(await thread().cancelRun("r1", "interrupt", true)).toMatchObject({ cancelled: true });
    expect(await push(thread(), { sequence: 1, records: [note("x")] })).toEqual({
      taken: false,
      refused: "ended",
      status: "interrupted",
    });
    expect((await recordsOf(thread())).map(({ eventType }) => eventType)).toEqual(["llm.ai.response", "run.terminal"]);
    expect(await statusesOf(thread())).toEqual(["interrupted", "interrupted"]);
  });
});

describe("the thread", () => {
  it("R-PUSH-9 has the messages of a recorded run in its state, and a run beside it only in its records", async () => {
    const thread = newThread();
    await push(thread(), { records: [human("h1"), answer("a1")] });
    await push(thread(), { runId: "r2", records: [human("h2"), answer("a2"), runEnd] });
    await push(thread(), { sequence: 2, records: [answer("a3"), runEnd] });
    const state = await stateOf(thread());
    if (!state.found || state.state === undefined) return expect.fail("no state");
    expect(state.state.messages.map(({ message, runId }) => [message.id, runId])).toEqual([
      ["h1", "r1"],
      ["a1", "r1"],
      ["a3", "r1"],
    ]);
    expect(await told(thread(), "r2")).toHaveLength(3);
    expect((await viewOf(thread()))?.status).toBe("idle");
  });

  it("R-PUSH-9 has a pushed message without an id under one of its own, in the record as in the state", async () => {
    const thread = newThread();
    const said = [
      event("llm.human.input", "message", { type: "human", id: null, content: "Why?" }, { caller: "lead_agent" }),
      answer("a1", "", [call("c1")]),
      event("llm.tool.result", "message", { type: "tool", content: "18", tool_call_id: "c1" }),
      answer(undefined, "So."),
    ];
    await push(thread(), { records: said.slice(0, 2) });
    await push(thread(), { sequence: 2, records: [...said.slice(2), runEnd] });
    const state = await stateOf(thread());
    if (!state.found || state.state === undefined) return expect.fail("no state");
    const messages = state.state.messages.map(({ message }) => message);
    expect(messages.map(({ content }) => content)).toEqual(["Why?", "", "18", "So."]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
    const ids = (await recordsOf(thread())).slice(0, 4).map(({ content }) => Object(content).id);
    expect(ids).toEqual(messages.map(({ id }) => id));
    const next = await thread().beginRun(starting("r2", { input: [] }));
    expect(next).toMatchObject({
      messages: [
        { role: "user", content: "Why?" },
        { role: "assistant", toolCalls: [{ toolCallId: "c1" }] },
        { role: "tool", toolCallId: "c1", output: "18" },
        { role: "assistant", content: "So." },
      ],
    });
  });

  it("R-PUSH-9 has no results of calls that a subagent made", async () => {
    const thread = newThread();
    await push(thread(), {
      records: [human("h1"), answer("s1", "", [call("c1")], "subagent:x"), toolResult("t1", "c1"), answer("a1")],
    });
    const asked = [answer("a2", "", [call("c2")]), answer("s2", "", [call("c3")], "subagent:x")];
    await push(thread(), { sequence: 4, records: asked });
    await push(thread(), { sequence: 6, records: [toolResult("t3", "c3"), toolResult("t2", "c2"), runEnd] });
    const state = await stateOf(thread());
    if (!state.found || state.state === undefined) return expect.fail("no state");
    expect(state.state.messages.map(({ message }) => message.id)).toEqual(["h1", "a1", "a2", "t2"]);
  });

  it("R-PUSH-9 forgets producers with everything else, and goes on with its numbers", async () => {
    const thread = newThread();
    await push(thread(), { records: [note("a"), runEnd] });
    expect(await thread().remove()).toBe("removed");
    expect(await push(thread(), { sequence: 2, records: [note("b")] })).toMatchObject({ refused: "gap", expected: 0 });
    expect(await push(thread(), { records: [note("b")] })).toMatchObject({ seqs: [3] });
  });
});
