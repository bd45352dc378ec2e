// Rows and pages of a thread's records: where feedback and durations stand, how a page ends, what is hidden, what adds up.
import { describe, expect, test } from "vitest";
import type { RecordDraft, ThreadRecord } from "../../../schemas/thread.ts";
import type { FeedbackNote } from "../../../schemas/thread-rows.ts";
import { isSecretKey } from "../../../src/run/secret-keys.ts";
import { MARKS, marksOf } from "../../../src/thread/record-marks.ts";
import { redacted } from "../../../src/thread/redaction.ts";
import { messagePage, messageRows, runMessagePage } from "../../../src/thread/rows.ts";
import { emptyTally, runTotals, tallied, tokenUsage, type RunTally } from "../../../src/thread/usage.ts";
import { workspaceChanges } from "../../../src/thread/workspace.ts";
import { workspaceChanges as changes } from "./event-samples.ts";

const record = (seq: number, runId: string, fields: Partial<ThreadRecord> = {}): ThreadRecord => ({
  seq,
  runId,
  eventType: "llm.ai.response",
  category: "message",
  content: { type: "ai", content: `text ${seq}`, tool_calls: [], additional_kwargs: { kept: true } },
  metadata: { caller: "lead_agent" },
  at: seq,
  userId: null,
  ...fields,
});
const by = (caller: string): Partial<ThreadRecord> => ({ metadata: { caller } });
const tool = { eventType: "llm.tool.result", content: { type: "tool", content: "22" }, metadata: {} };
const alias = { eventType: "ai_message" };

const note = (feedbackId: string): FeedbackNote => ({ feedbackId, rating: 1, comment: null });
const notes = {
  feedback: new Map([
    ["a", note("fa")],
    ["b", note("fb")],
  ]),
  durations: new Map([
    ["a", 3],
    ["b", 0],
  ]),
};

const feedbackIn = (rows: readonly { seq: number; feedback: FeedbackNote | null }[]): unknown =>
  rows.flatMap(({ seq, feedback }) => (feedback === null ? [] : [[seq, feedback.feedbackId]]));
const durationsIn = (rows: readonly ThreadRecord[]): unknown =>
  rows.flatMap(({ seq, content }) => {
    const text = JSON.stringify(content);
    const [, seconds] = /"turn_duration":(\d+)/.exec(text) ?? [];
    return seconds === undefined ? [] : [[seq, Number(seconds)]];
  });

describe("marks", () => {
  test.each([
    ["a model's answer", record(1, "a"), MARKS.page | MARKS.answer],
    ["the old name of one", record(1, "a", alias), MARKS.page | MARKS.answer],
    ["a subagent's answer", record(1, "a", by("subagent:x")), MARKS.answer],
    ["a middleware's answer", record(1, "a", by("middleware:x")), 0],
    ["a tool's result, which has no caller", record(1, "a", tool), MARKS.page],
    ["a subagent's own tool result", record(1, "a", { ...tool, ...by("subagent:x") }), MARKS.page],
    ["a middleware's message of any type", record(1, "a", { ...tool, ...by("middleware:x") }), 0],
    ["a record of another category", record(1, "a", { category: "trace" }), 0],
    ["an unknown type of the category", record(1, "a", { eventType: "new.type", metadata: { caller: 5 } }), MARKS.page],
  ])("R-ROW-2 of %s", (_name, one, marks) => {
    expect(marksOf(one)).toBe(marks);
  });
});

describe("rows", () => {
  const records = [
    record(1, "a", { eventType: "llm.human.input", content: { type: "human", content: "Hi" } }),
    record(2, "a"),
    record(3, "b", tool),
    record(4, "a", alias),
    record(5, "b"),
    record(6, "b", by("middleware:title")),
    record(7, "c"),
  ];

  test("R-ROW-3 of the list have their run's feedback on its last llm.ai.response, and its duration on its last answer", () => {
    const rows = messageRows(records, notes);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(feedbackIn(rows)).toEqual([
      [2, "fa"],
      [6, "fb"],
    ]);
    expect(durationsIn(rows)).toEqual([
      [4, 3],
      [5, 0],
    ]);
    expect(rows[3]?.content).toMatchObject({ content: "text 4", additional_kwargs: { kept: true, turn_duration: 3 } });
    expect(records[3]?.content).toMatchObject({ additional_kwargs: { kept: true } });
  });

  test("R-ROW-4 of a page have feedback only on the last answer of the whole run, wherever that is", () => {
    const page = messagePage(records.slice(0, 3), false, 50, new Map([["a", 4]]), notes);
    expect(feedbackIn(page.rows)).toEqual([]);
    expect(durationsIn(page.rows)).toEqual([[2, 3]]);
    const newer = messagePage(records.slice(3), false, 50, new Map([["a", 4]]), notes);
    expect(feedbackIn(newer.rows)).toEqual([[4, "fa"]]);
  });

  test.each([
    ["the records go further", 4, false, [3, 4, 5, 6, 7], [4, 5, 6, 7], true, 4],
    ["all are here", 5, false, [3, 4, 5, 6, 7], [3, 4, 5, 6, 7], false, null],
    ["they were too large", 50, true, [6, 7], [6, 7], true, 6],
    ["there are none", 50, false, [], [], false, null],
  ])("R-ROW-4 a page tells the cursor before it when %s", (_name, limit, cut, given, rows, hasMore, next) => {
    const page = messagePage(
      given.map((seq) => record(seq, "a")),
      cut,
      limit,
      new Map(),
      notes,
    );
    expect([page.rows.map(({ seq }) => seq), page.hasMore, page.nextBeforeSeq]).toEqual([rows, hasMore, next]);
  });

  test("R-ROW-5 of a run are cut at the end that the reader goes to, without feedback", () => {
    const of = (from: "start" | "end", limit: number) =>
      runMessagePage([record(1, "a"), record(2, "a"), record(3, "a")], false, limit, from, notes.durations);
    expect([of("start", 2).rows.map(({ seq }) => seq), of("start", 2).hasMore]).toEqual([[1, 2], true]);
    expect([of("end", 2).rows.map(({ seq }) => seq), of("end", 2).hasMore]).toEqual([[2, 3], true]);
    expect([of("end", 3).rows.length, of("end", 3).hasMore]).toEqual([3, false]);
    expect(durationsIn(of("start", 2).rows)).toEqual([[2, 3]]);
    expect(of("end", 3).rows.some((row) => "feedback" in row)).toBe(false);
  });
});

describe("workspace changes", () => {
  const kept = record(1, "a", { eventType: "workspace_changes", metadata: { workspace_changes: changes } });
  const all = { includeFiles: true, includeDiff: true };

  test("R-ROW-8 are those of the record, with or without files and diffs", () => {
    expect(workspaceChanges(kept, all)).toEqual({ available: true, ...changes });
    const bare = workspaceChanges(kept, { ...all, includeDiff: false });
    expect(bare.files).toEqual(changes.files.map((file) => ({ ...file, diff: "" })));
    expect(workspaceChanges(kept, { ...all, includeFiles: false })).toEqual({ available: true, ...changes, files: [] });
  });

  test("R-ROW-8 that nobody recorded are none", () => {
    expect(workspaceChanges(undefined, all)).toEqual({
      available: false,
      version: 1,
      summary: {
        created: 0,
        modified: 0,
        deleted: 0,
        symlink_created: 0,
        additions: 0,
        deletions: 0,
        truncated: false,
      },
      files: [],
      limits: {},
    });
  });
});

test("R-ROW-6 metadata of events is shown without what its names say is secret, at any depth", () => {
  const metadata = {
    apiKey: "k",
    usage: { total_tokens: 3 },
    list: [{ client_secret: { a: 1 }, fine: 1 }],
    token: null,
  };
  expect(redacted(metadata, isSecretKey)).toEqual({
    apiKey: "***",
    usage: { total_tokens: 3 },
    list: [{ client_secret: "***", fine: 1 }],
    token: "***",
  });
  expect(metadata.apiKey).toBe("k");
});

describe("usage", () => {
  const draft = (fields: Partial<RecordDraft>): RecordDraft => ({
    source: 0,
    eventType: "llm.ai.response",
    category: "message",
    content: {},
    metadata: {},
    at: 0,
    ...fields,
  });
  const answer = (caller: string, usage: unknown, model?: string, id?: string): RecordDraft =>
    draft({
      content: { type: "ai", ...(id !== undefined && { id }), response_metadata: { model_name: model } },
      metadata: { caller, usage },
    });
  const tallyOf = (...drafts: RecordDraft[]): RunTally => tallied(emptyTally(), drafts) ?? emptyTally();
  const taskEnd = draft({
    eventType: "subagent.end",
    category: "subagent",
    content: { task_id: "t", status: "completed", usage: { input_tokens: 5, output_tokens: 5 }, model_name: "small" },
  });

  test("R-ROW-9 of a run is the sum of its answers, by caller, and of the tasks whose answers nobody recorded", () => {
    const tally = tallyOf(
      draft({ eventType: "llm.human.input" }),
      answer("lead_agent", { input_tokens: 10, output_tokens: 2, total_tokens: 13 }, "big"),
      answer("middleware:title", { input_tokens: 1, output_tokens: 1 }),
      answer("lead_agent", { input_tokens: -1, output_tokens: "2" }, "big"),
      taskEnd,
    );
    expect(runTotals(tally)).toEqual({
      total_input_tokens: 16,
      total_output_tokens: 8,
      total_tokens: 25,
      llm_call_count: 3,
      lead_agent_tokens: 13,
      subagent_tokens: 10,
      middleware_tokens: 2,
      message_count: 4,
    });
    const recorded = tallyOf(taskEnd, answer("subagent:a", { total_tokens: 7 }, "small"));
    expect(runTotals(recorded)).toMatchObject({ subagent_tokens: 7, total_tokens: 7 });
  });

  test("R-ROW-9 of an answer that is recorded twice counts once", () => {
    const one = answer("lead_agent", { total_tokens: 5 }, "big", "m1");
    const tally = tallyOf(one, one, answer("lead_agent", { total_tokens: 5 }, "big", "m2"));
    expect(runTotals(tally)).toMatchObject({ total_tokens: 10, llm_call_count: 2, message_count: 3 });
  });

  test("R-ROW-9 records that add nothing change nothing", () => {
    expect(tallied(emptyTally(), [draft({ eventType: "llm.error", category: "trace" })])).toBeUndefined();
  });

  test("R-ROW-10 the context is as full as the leading agent's latest answer says that tells it", () => {
    const told = (caller: string, token_count: unknown): RecordDraft =>
      draft({
        eventType: "llm.ai.response",
        content: {},
        metadata: { caller, context_usage: { token_count, max_context_tokens: 200, percentage: 12.34 } },
      });
    const used = tokenUsage([
      tallyOf(told("lead_agent", 10), told("lead_agent", 25), told("subagent:a", 90)),
      tallyOf(told("lead_agent", "many"), answer("lead_agent", {})),
    ]);
    expect(used.context_usage).toEqual({ token_count: 25, max_context_tokens: 200, percentage: 12.3 });
  });

  test("R-ROW-10 of a thread counts a run once for each of its models, whatever they are called", () => {
    const used = tokenUsage([
      tallyOf(answer("lead_agent", { total_tokens: 5 }, "big"), answer("lead_agent", { total_tokens: 1 }, "big")),
      tallyOf(answer("lead_agent", { total_tokens: 2 }, "big"), answer("subagent:x", { total_tokens: 3 }, "__proto__")),
      tallyOf(answer("middleware:x", { input_tokens: 1, output_tokens: 3 })),
    ]);
    expect(used).toMatchObject({
      total_tokens: 15,
      total_input_tokens: 1,
      total_output_tokens: 3,
      total_runs: 3,
      by_caller: { lead_agent: 8, subagent: 3, middleware: 4 },
      context_usage: null,
    });
    expect(Object.entries(used.by_model)).toEqual([
      ["big", { tokens: 8, runs: 2 }],
      ["__proto__", { tokens: 3, runs: 1 }],
      ["unknown", { tokens: 4, runs: 1 }],
    ]);
  });
});
