// What a thread's object gives its readers of the records: lists and pages, a run's events, feedback, changes and tokens.
import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonRecord } from "../../schemas/json.ts";
import type {
  Feedback,
  MessagePage,
  MessageRow,
  MessagesQuery,
  PageQuery,
  RowsAnswer,
  RunEventsQuery,
  RunMessagePage,
  RunMessagesQuery,
  WorkspaceChanges,
  WorkspaceQuery,
} from "../../schemas/thread-rows.ts";
import type { ThreadRecord } from "../../schemas/thread.ts";
import { workspaceChanges } from "../unit/thread/event-samples.ts";
import { answer, event, human, newThread, note, push, runEnd, runError, terminal } from "./pushing.ts";
import type { Stub } from "./threads.ts";

const ROOM = 1_000_000_000;
const asKept = (given: Feedback | "full"): Feedback => {
  if (given === "full") throw new Error("full");
  return given;
};

const spoken = (caller: string, id: string = crypto.randomUUID()): unknown =>
  event(
    "llm.ai.response",
    "message",
    { type: "ai", id, content: id, tool_calls: [], response_metadata: { model_name: "m" } },
    { caller, usage: { total_tokens: 5 }, latency_ms: 1, llm_call_index: 1 },
  );
const result = event("llm.tool.result", "message", { type: "tool", content: "22" });

function rowsIn<Row>(answered: RowsAnswer<Row>): Row[] {
  if ("refused" in answered) throw new Error("too large");
  return answered.rows;
}
const seqsIn = (rows: readonly { seq: number }[]): number[] => rows.map(({ seq }) => seq);
// What holds content of any kind has no type behind a stub.
const messages = async (stub: Stub, query: MessagesQuery): Promise<RowsAnswer<MessageRow>> => stub.messages(query);
const list = async (stub: Stub, query: MessagesQuery): Promise<MessageRow[]> => rowsIn(await messages(stub, query));
const page = async (stub: Stub, query: PageQuery): Promise<MessagePage> => stub.messagesPage(query);
const runPage = async (stub: Stub, query: RunMessagesQuery): Promise<RunMessagePage> => stub.runMessages(query);
const events = async (stub: Stub, query: RunEventsQuery): Promise<RowsAnswer<ThreadRecord>> => stub.runEvents(query);
const changes = async (stub: Stub, query: WorkspaceQuery): Promise<WorkspaceChanges> => stub.workspaceChanges(query);

/** Records of one run, pushed whole. */
async function record(stub: Stub, runId: string, records: unknown[], metadata: JsonRecord = {}): Promise<void> {
  expect(await push(stub, { runId, records, metadata })).toMatchObject({ taken: true });
}

describe("messages", () => {
  it("R-ROW-1 are the newest, those before or those after a cursor, or those between two", async () => {
    const thread = newThread()();
    await record(thread, "r1", [
      human("h1"),
      note("x"),
      spoken("lead_agent"),
      spoken("middleware:title"),
      result,
      runEnd,
    ]);
    const read = async (query: object): Promise<number[]> => seqsIn(await list(thread, { limit: 2, ...query }));
    expect(await read({ limit: 50 })).toEqual([1, 3, 4, 5]);
    expect(await read({})).toEqual([4, 5]);
    expect(await read({ beforeSeq: 4 })).toEqual([1, 3]);
    expect(await read({ afterSeq: 1 })).toEqual([3, 4]);
    expect(await read({ afterSeq: 1, beforeSeq: 5 })).toEqual([3, 4]);
    expect(await read({ afterSeq: 5 })).toEqual([]);
    expect(await read({ afterSeq: 3, beforeSeq: 4 })).toEqual([]);
    expect(await messages(newThread()(), { limit: 5 })).toEqual({ rows: [] });
  });

  it("R-ROW-2 R-ROW-4 of middlewares, and answers of subagents, are on no page", async () => {
    const thread = newThread()();
    const hidden = Array.from({ length: 300 }, () => spoken("middleware:title"));
    await record(thread, "r1", [human("h1"), spoken("lead_agent"), ...hidden, spoken("subagent:a"), result, runEnd]);
    const first = await page(thread, { limit: 2 });
    expect(seqsIn(first.rows)).toEqual([2, 304]);
    expect([first.hasMore, first.nextBeforeSeq]).toEqual([true, 2]);
    const rest = await page(thread, { limit: 2, beforeSeq: 2 });
    expect([seqsIn(rest.rows), rest.hasMore, rest.nextBeforeSeq]).toEqual([[1], false, null]);
  });

  it("R-ROW-7 of a run in whose place another one succeeds are hidden from then on, but not from its own pages", async () => {
    const thread = newThread()();
    await record(thread, "r1", [human("h1"), answer("a1"), runEnd]);
    const again = { regenerate_from_run_id: "r1" };
    await record(thread, "r2", [answer("a2"), runError], again);
    expect(seqsIn(await list(thread, { limit: 50 }))).toEqual([1, 2, 4]);
    await record(thread, "r3", [answer("a3")], again);
    expect(seqsIn(await list(thread, { limit: 50 }))).toEqual([1, 2, 4, 6]);
    await push(thread, { runId: "r3", sequence: 1, records: [runEnd] });
    expect(seqsIn(await list(thread, { limit: 50 }))).toEqual([4, 6]);
    expect(seqsIn((await page(thread, { limit: 50 })).rows)).toEqual([4, 6]);
    expect(seqsIn((await runPage(thread, { runId: "r1", limit: 50 })).rows)).toEqual([1, 2]);
    expect(seqsIn(rowsIn(await events(thread, { runId: "r1", limit: 50 })))).toEqual([1, 2, 3]);
    await record(thread, "self", [answer("a4"), runEnd], { regenerate_from_run_id: "self" });
    expect(seqsIn(await list(thread, { limit: 50 }))).toEqual([4, 6, 8]);
  });

  it("R-REC-2 R-ROW-11 feedback that is too large for one answer is told in part, and cut beside a message", async () => {
    const thread = newThread()();
    await record(thread, "r1", [human("h1"), answer("a1"), runEnd]);
    const opinion = {
      runId: "r1",
      rating: 1,
      comment: `${"é".repeat(999_999)}я`,
      userId: null,
      messageId: null,
    } as const;
    for (let one = 0; one < 20; one++) await thread.addFeedback(opinion, ROOM);
    expect(await thread.feedbackStats("r1")).toMatchObject({ total: 20 });
    const shown = await thread.feedback("r1");
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.length).toBeLessThan(20);
    const [, row] = await list(thread, { limit: 50 });
    expect(row?.feedback?.comment).toMatch(/^é{10000}\n\[cut: /);
  });

  it("R-THR-19 feedback that would take a thread over its limit is not kept", async () => {
    const thread = newThread()();
    await record(thread, "r1", [human("h1"), answer("a1"), runEnd]);
    const opinion = { runId: "r1", rating: 1, comment: "x".repeat(100_000), userId: null, messageId: null } as const;
    expect(await thread.addFeedback(opinion, 100_000)).toBe("full");
    expect(await thread.putFeedback(opinion, 100_000)).toBe("full");
    expect(await thread.feedback("r1")).toEqual([]);
  });

  it("R-ROW-3 R-ROW-4 show the newest feedback of a run and how long it took", async () => {
    const thread = newThread()();
    await record(thread, "r1", [human("h1"), answer("a1"), spoken("middleware:title"), runEnd]);
    await record(thread, "r2", [answer("a2")]);
    await runInDurableObject(thread, (_instance, { storage }) => {
      storage.sql.exec("UPDATE run SET updated_at = created_at + 4999");
    });
    const opinion = { runId: "r1", rating: 1, comment: null, userId: null, messageId: null } as const;
    await thread.addFeedback({ ...opinion, rating: -1, comment: "No." }, ROOM);
    const { feedbackId } = asKept(await thread.addFeedback(opinion, ROOM));
    const shown = (rows: readonly MessageRow[]): unknown => rows.map(({ seq, feedback }) => [seq, feedback]);
    const noted = { feedbackId, rating: 1, comment: null };
    const rows = await list(thread, { limit: 50 });
    expect(shown(rows)).toEqual([
      [1, null],
      [2, null],
      [3, noted],
      [5, null],
    ]);
    expect(rows[1]?.content).toMatchObject({ additional_kwargs: { turn_duration: 4 } });
    expect(rows[3]?.content).not.toHaveProperty("additional_kwargs");
    expect(shown((await page(thread, { limit: 50 })).rows)).toEqual([
      [1, null],
      [2, noted],
      [5, null],
    ]);
    expect(shown((await page(thread, { limit: 50, beforeSeq: 2 })).rows)).toEqual([[1, null]]);
  });

  it("R-REC-2 that are too large for one answer are refused as a list, and fewer on a page", async () => {
    const thread = newThread()();
    const large = answer("a1", "x".repeat(5_000_000));
    for (let sequence = 0; sequence < 3; sequence++) await push(thread, { sequence, records: [large] });
    expect(await messages(thread, { limit: 3 })).toEqual({ refused: "too_large" });
    expect(await events(thread, { runId: "r1", limit: 3 })).toEqual({ refused: "too_large" });
    const newest = await page(thread, { limit: 3 });
    expect([seqsIn(newest.rows), newest.hasMore, newest.nextBeforeSeq]).toEqual([[2, 3], true, 2]);
    const first = await runPage(thread, { runId: "r1", limit: 3, afterSeq: 0 });
    expect([seqsIn(first.rows), first.hasMore]).toEqual([[1, 2], true]);
  });
});

describe("a run", () => {
  it("R-ROW-5 is paged from either end", async () => {
    const thread = newThread()();
    await record(thread, "r1", [human("h1"), note("x"), answer("a1"), answer("a2")]);
    const read = async (query: object): Promise<unknown> => {
      const { rows, hasMore } = await runPage(thread, { runId: "r1", limit: 2, ...query });
      return [seqsIn(rows), hasMore];
    };
    expect(await read({})).toEqual([[3, 4], true]);
    expect(await read({ beforeSeq: 3 })).toEqual([[1], false]);
    expect(await read({ afterSeq: 0 })).toEqual([[1, 3], true]);
    expect(await read({ afterSeq: 3 })).toEqual([[4], false]);
    expect(await read({ runId: "r2" })).toEqual([[], false]);
  });

  it("R-ROW-6 has all its records, by type and task, and shows no secrets of their metadata", async () => {
    const thread = newThread()();
    const step = (task_id: string, message_index: number): unknown =>
      event(
        "subagent.step",
        "subagent",
        { task_id, message_index, kind: "tool", text: "", truncated: false, tool_name: null },
        { task_id, message_index, api_key: "k", apiKeys: [{ note: 1 }] },
      );
    await record(thread, "r1", [human("h1"), step("t1", 0), step("t2", 0), step("t1", 1), step("t1", 2), runEnd]);
    const read = async (query: object) => rowsIn(await events(thread, { runId: "r1", limit: 50, ...query }));
    expect(seqsIn(await read({}))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seqsIn(await read({ eventTypes: ["run.end", "llm.human.input"] }))).toEqual([1, 6]);
    expect(seqsIn(await read({ eventTypes: ["subagent.step"], taskId: "t1", limit: 2 }))).toEqual([2, 4]);
    expect(seqsIn(await read({ eventTypes: ["subagent.step"], taskId: "t1", limit: 2, afterSeq: 4 }))).toEqual([5]);
    expect((await read({ taskId: "t2" }))[0]?.metadata).toEqual({
      task_id: "t2",
      message_index: 0,
      api_key: "***",
      apiKeys: "***",
    });
  });

  it("R-ROW-8 tells its newest workspace changes", async () => {
    const thread = newThread()();
    const of = (text: string, deleted: number): unknown =>
      event("workspace_changes", "workspace", text, {
        workspace_changes: { ...workspaceChanges, summary: { ...workspaceChanges.summary, deleted } },
      });
    await record(thread, "r1", [of("one", 1), of("two", 2), note("x")]);
    const wanted = { includeFiles: true, includeDiff: true };
    expect(await changes(thread, { runId: "r1", ...wanted })).toMatchObject({
      available: true,
      summary: { deleted: 2 },
    });
    expect(await changes(thread, { runId: "r2", ...wanted })).toMatchObject({ available: false });
  });

  it("R-ROW-9 R-ROW-10 adds up, and counts for its thread once it has succeeded or failed", async () => {
    const thread = newThread()();
    await record(thread, "r1", [spoken("lead_agent"), spoken("middleware:title"), runEnd]);
    await record(thread, "r2", [spoken("lead_agent"), runError]);
    await record(thread, "r3", [spoken("lead_agent"), terminal("interrupted")]);
    await record(thread, "r4", [spoken("lead_agent")]);
    expect(await thread.tokenUsage(false)).toMatchObject({
      total_tokens: 15,
      total_runs: 2,
      by_model: { m: { tokens: 15, runs: 2 } },
      by_caller: { lead_agent: 10, subagent: 0, middleware: 5 },
    });
    expect(await thread.tokenUsage(true)).toMatchObject({ total_tokens: 20, total_runs: 3 });
    expect(await thread.runTotals(["r1", "none"])).toMatchObject({
      r1: { total_tokens: 10, llm_call_count: 2, message_count: 2 },
      none: { total_tokens: 0, llm_call_count: 0 },
    });
    expect(await newThread()().tokenUsage(true)).toMatchObject({ total_runs: 0, by_model: {} });
  });
});

describe("feedback", () => {
  it("R-ROW-11 is one per user when it is put, one more when it is added, and goes by run, user and name", async () => {
    const thread = newThread()();
    await record(thread, "r1", [answer("a1"), runEnd]);
    await record(thread, "r2", [answer("a2"), runEnd]);
    const by = (userId: string | null) => ({ runId: "r1", rating: 1, comment: null, userId, messageId: null }) as const;
    const first = asKept(await thread.putFeedback(by(null), ROOM));
    const long = "é".repeat(1_200_000);
    expect(await thread.putFeedback({ ...by(null), rating: -1, comment: long }, ROOM)).toMatchObject({
      feedbackId: first.feedbackId,
      rating: -1,
    });
    await thread.putFeedback(by("u"), ROOM);
    const added = asKept(await thread.addFeedback({ ...by(null), comment: "", messageId: "a1" }, ROOM));
    expect(added.feedbackId).not.toBe(first.feedbackId);
    const kept = await thread.feedback("r1");
    expect(
      kept.map(({ userId, rating, comment, messageId }) => [userId, rating, comment === long || comment, messageId]),
    ).toEqual([
      [null, -1, true, null],
      ["u", 1, null, null],
      [null, 1, "", "a1"],
    ]);
    expect(await thread.feedbackStats("r1")).toEqual({ total: 3, positive: 2, negative: 1 });
    expect(await thread.deleteOneFeedback({ runId: "r2", feedbackId: added.feedbackId })).toBe("other_run");
    expect(await thread.deleteOneFeedback({ runId: "r1", feedbackId: added.feedbackId })).toBe("deleted");
    expect(await thread.deleteOneFeedback({ runId: "r1", feedbackId: added.feedbackId })).toBe("unknown");
    expect(await thread.deleteFeedback({ runId: "r1", userId: null })).toBe(true);
    expect(await thread.deleteFeedback({ runId: "r1", userId: null })).toBe(false);
    expect((await thread.feedback("r1")).map(({ userId }) => userId)).toEqual(["u"]);
    expect(await thread.feedbackStats("r2")).toEqual({ total: 0, positive: 0, negative: 0 });
  });

  it("R-ROW-11 on a run that is not there is kept nowhere", async () => {
    const thread = newThread()();
    const opinion = { runId: "r1", rating: 1, comment: null, userId: null, messageId: null } as const;
    expect(await thread.putFeedback(opinion, ROOM)).toMatchObject({ rating: 1 });
    expect(await thread.feedback("r1")).toEqual([]);
    await record(thread, "r1", [answer("a1"), runEnd]);
    await thread.putFeedback(opinion, ROOM);
    await thread.remove();
    expect(await thread.feedback("r1")).toEqual([]);
  });
});

describe("pages", () => {
  const kinds: Record<string, unknown> = {
    human: human("h"),
    answer: spoken("lead_agent"),
    middleware: spoken("middleware:x"),
    subagent: spoken("subagent:x"),
    tool: result,
    note: note("x"),
  };
  const written = fc.array(fc.tuple(fc.constantFrom("r1", "r2", "r3"), fc.constantFrom(...Object.keys(kinds))), {
    minLength: 1,
    maxLength: 40,
  });
  const plan = fc.record({ before: written, between: written, limit: fc.integer({ min: 1, max: 7 }) });

  /** Pushes records of runs; further ones go on where the run is. */
  function writer(thread: Stub): (records: readonly (readonly [string, string])[]) => Promise<void> {
    const next = new Map<string, number>();
    return async (records) => {
      for (const [runId, kind] of records) {
        const sequence = next.get(runId) ?? 0;
        next.set(runId, sequence + 1);
        expect(await push(thread, { runId, sequence, records: [kinds[kind]] })).toMatchObject({ taken: true });
      }
    };
  }

  it("R-ROW-12 backwards, one after the other, are the list as it was at the first, whatever is appended meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ before, between, limit }) => {
        const thread = newThread()();
        const write = writer(thread);
        await write(before);
        const whole = (await page(thread, { limit: 200 })).rows;
        const listed = await list(thread, { limit: 200 });
        const [pages, lists]: [MessageRow[], MessageRow[]] = [[], []];
        const later = [...between];
        let cursor: number | undefined = listed.length === 0 ? undefined : 1 + Math.max(...seqsIn(listed));
        for (let before = cursor; before !== undefined;) {
          const first = await page(thread, { limit, beforeSeq: before });
          pages.unshift(...first.rows);
          before = first.nextBeforeSeq ?? undefined;
          if (first.hasMore) expect(first.rows).toHaveLength(limit);
          await write(later.splice(0, 2));
        }
        while (cursor !== undefined) {
          const rows = await list(thread, { limit, beforeSeq: cursor });
          lists.unshift(...rows);
          cursor = rows[0]?.seq;
        }
        expect(seqsIn(pages)).toEqual(seqsIn(whole));
        expect(seqsIn(lists)).toEqual(seqsIn(listed));
      }),
      { numRuns: 15 },
    );
  });

  it("R-ROW-12 forwards, one after the other, are the list with all that is appended meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ before, between, limit }) => {
        const thread = newThread()();
        const write = writer(thread);
        await write(before);
        const later = [...between];
        const lists: number[] = [];
        for (let rows = await list(thread, { limit, afterSeq: 0 }); rows.length > 0 || later.length > 0;) {
          lists.push(...seqsIn(rows));
          await write(later.splice(0, 2));
          rows = await list(thread, { limit, afterSeq: lists.at(-1) ?? 0 });
        }
        expect(lists).toEqual(seqsIn(await list(thread, { limit: 200 })));
        const run: number[] = [];
        for (let hasMore = true; hasMore;) {
          const read = await runPage(thread, { runId: "r1", limit, afterSeq: run.at(-1) ?? 0 });
          run.push(...seqsIn(read.rows));
          hasMore = read.hasMore;
        }
        expect(run).toEqual(seqsIn((await runPage(thread, { runId: "r1", limit: 200 })).rows));
      }),
      { numRuns: 15 },
    );
  });
});
