// A thread's records on real storage: their numbers, what is kept of them, and which of them a reader is given.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { threadRecords, type ThreadRecords } from "../../durable-objects/thread-records.ts";
import type { RecordDraft } from "../../schemas/thread.ts";
import { MARKS } from "../../src/thread/record-marks.ts";
import { newName } from "./plan.ts";

let source = 0;
const draft = (eventType: string, fields: Partial<RecordDraft> = {}): RecordDraft => ({
  source: source++,
  eventType,
  category: "message",
  content: { type: "ai", content: eventType, tool_calls: [] },
  metadata: { caller: "lead_agent" },
  at: 1000,
  ...fields,
});
const answer = (fields: Partial<RecordDraft> = {}): RecordDraft => draft("llm.ai.response", fields);
const trace = (content: unknown): RecordDraft => draft("llm.error", { category: "trace", content, metadata: {} });

interface Kept {
  records: ThreadRecords;
  storage: DurableObjectStorage;
  /** The records as an object finds them that has just woken up. */
  again(): ThreadRecords;
}

/** Records on an object's own storage, numbered from 1. */
function withRecords<T>(body: (kept: Kept) => T | Promise<T>): Promise<T> {
  return runInDurableObject(env.RUN.getByName(newName()), (_instance, { storage }) => {
    let last = 0;
    const take = (count: number): number => {
      last += count;
      return last - count + 1;
    };
    const again = (): ThreadRecords => threadRecords(storage, take);
    return body({ records: again(), storage, again });
  });
}

const all = { limit: 1_000_000, from: "start" } as const;
const seqs = (records: ThreadRecords, ...asked: Parameters<ThreadRecords["read"]>): number[] =>
  records.read(...asked).records.map(({ seq }) => seq);

describe("records", () => {
  it("R-REC-1 are numbered in the order in which they come, over all runs, and no table is made before", () =>
    withRecords(({ records, storage, again }) => {
      expect(records.read({}, all)).toEqual({ records: [], cut: false });
      expect(records.lastMarked(["a"], MARKS.answer)).toEqual(new Map());
      const tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name GLOB 'record*'";
      expect(storage.sql.exec(tables).toArray()).toEqual([]);
      expect(records.append("a", [draft("one"), draft("two")])).toBe(1);
      expect(records.append("b", [draft("three", { userId: "u" })])).toBe(3);
      expect(records.append("a", [draft("four")])).toBe(4);
      const read = again().read({}, all).records;
      expect(read.map(({ seq, runId, eventType }) => [seq, runId, eventType])).toEqual([
        [1, "a", "one"],
        [2, "a", "two"],
        [3, "b", "three"],
        [4, "a", "four"],
      ]);
      expect(read[2]).toEqual({
        seq: 3,
        runId: "b",
        eventType: "three",
        category: "message",
        content: { type: "ai", content: "three", tool_calls: [] },
        metadata: { caller: "lead_agent" },
        at: 1000,
        userId: "u",
      });
    }));

  it("R-REC-1 that are forgotten leave their numbers to nobody", () =>
    withRecords(({ records, again }) => {
      records.append("a", [answer(), answer({ content: { text: "x".repeat(1_200_000) } })]);
      records.clear();
      expect(records.read({}, all).records).toEqual([]);
      expect(records.tallies.of("a").calls).toBe(0);
      expect(again().append("a", [draft("next")])).toBe(3);
    }));

  it("R-REC-2 may be larger than a row of storage", () =>
    withRecords(({ records, again }) => {
      const content = { type: "tool", content: `${"é".repeat(1_300_000)}\ud800` };
      records.append("a", [answer(), answer({ content }), answer()]);
      expect(
        again()
          .read({}, all)
          .records.map((record) => record.content),
      ).toEqual([expect.anything(), content, expect.anything()]);
    }));

  it("R-REC-2 that are too large for one answer are given in part, from the end that was asked for", () =>
    withRecords(({ records }) => {
      for (let n = 0; n < 5; n++) records.append("a", [answer({ content: "x".repeat(5_000_000) })]);
      const from = (end: "start" | "end") => records.read({}, { limit: 9, from: end });
      expect([from("start").cut, from("end").cut]).toEqual([true, true]);
      expect(from("start").records.map(({ seq }) => seq)).toEqual([1, 2]);
      expect(from("end").records.map(({ seq }) => seq)).toEqual([4, 5]);
      records.append("a", [answer({ content: "x".repeat(13_000_000) })]);
      expect(seqs(records, {}, { limit: 9, from: "end" })).toEqual([6]);
    }));

  it("R-REC-3 of category trace keep 10,240 bytes of their content, whole characters, and say what there was", () =>
    withRecords(({ records }) => {
      const long = `${"x".repeat(10_239)}é${"x".repeat(5)}`;
      const args = { tool_call_id: "c", name: "t", args: { text: "y".repeat(20_000) } };
      records.append("a", [
        trace("x".repeat(10_240)),
        trace(long),
        trace(args),
        draft("middleware:guardrail", { category: "middleware", content: long }),
        trace(`\ufeff${"x".repeat(20_000)}`),
      ]);
      const [whole, cut, json, other, marked] = records.read({}, all).records;
      expect(whole).toMatchObject({ content: "x".repeat(10_240), metadata: {} });
      expect(cut).toMatchObject({
        content: "x".repeat(10_239),
        metadata: { content_truncated: true, original_byte_length: 10_246 },
      });
      expect(json).toMatchObject({
        content: JSON.stringify(args).slice(0, 10_240),
        metadata: { content_truncated: true, original_byte_length: JSON.stringify(args).length },
      });
      expect(other).toMatchObject({ content: long, metadata: { caller: "lead_agent" } });
      expect(marked).toMatchObject({ content: `\ufeff${"x".repeat(10_237)}` });
    }));

  it("R-REC-4 are found by run, category, type, task and mark", () =>
    withRecords(({ records }) => {
      const step = (task: string): RecordDraft =>
        draft("subagent.step", { category: "subagent", metadata: { task_id: task, message_index: 0 } });
      records.append("a", [answer(), step("t1"), step("t2"), trace("no")]);
      records.append("b", [answer({ metadata: { caller: "middleware:x" } }), step("t1"), answer()]);
      expect(seqs(records, { runId: "a" }, all)).toEqual([1, 2, 3, 4]);
      expect(seqs(records, { messages: true }, all)).toEqual([1, 5, 7]);
      expect(seqs(records, { messages: true, marks: MARKS.page }, all)).toEqual([1, 7]);
      expect(seqs(records, { messages: true, without: ["a"] }, all)).toEqual([5, 7]);
      expect(seqs(records, { runId: "b", messages: true }, all)).toEqual([5, 7]);
      expect(seqs(records, { runId: "a", taskId: "t1" }, all)).toEqual([2]);
      expect(seqs(records, { runId: "a", eventTypes: ["llm.error", "subagent.step"] }, all)).toEqual([2, 3, 4]);
      expect(seqs(records, { runId: "a", eventTypes: [] }, all)).toEqual([]);
      expect(records.lastMarked(["a", "b", "c"], MARKS.answer)).toEqual(
        new Map([
          ["a", 1],
          ["b", 7],
        ]),
      );
    }));

  it("R-REC-4 are given from either end, within both bounds, in ascending order", () =>
    withRecords(({ records }) => {
      const pick = fc.record({
        filter: fc.record(
          { runId: fc.constantFrom("a", "b"), messages: fc.boolean(), without: fc.constantFrom<string[]>([], ["a"]) },
          { requiredKeys: [] },
        ),
        range: fc.record(
          {
            after: fc.integer({ min: 0, max: 45 }),
            before: fc.integer({ min: 0, max: 45 }),
            limit: fc.integer({ min: 1, max: 50 }),
            from: fc.constantFrom("start", "end"),
          },
          { requiredKeys: ["limit", "from"] },
        ),
      });
      for (let n = 0; n < 20; n++) records.append(n % 3 === 0 ? "a" : "b", [answer(), trace("x")]);
      const kept = records.read({}, all).records;
      fc.assert(
        fc.property(pick, ({ filter, range }) => {
          const { after = 0, before = Infinity, limit, from } = range;
          const fitting = kept.filter(
            ({ seq, runId, category }) =>
              seq > after &&
              seq < before &&
              (filter.runId ?? runId) === runId &&
              filter.without?.includes(runId) !== true &&
              (filter.messages !== true || category === "message"),
          );
          expect(records.read(filter, range).records).toEqual(
            from === "start" ? fitting.slice(0, limit) : fitting.slice(-limit),
          );
        }),
      );
    }));
});
