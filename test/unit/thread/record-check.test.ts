// Pushed records against what their types hold: what passes, what is refused, and where the fault is said to be.
import { expect, test } from "vitest";
import { wireIssues } from "../../../src/run/issues.ts";
import { recordCheck } from "../../../src/thread/record-check.ts";
import { furtherSamples, replaced, samples, without, type Sample } from "./event-samples.ts";

const check = recordCheck("t1", "r1");
const faultsOf = (record: unknown): string[] => {
  const checked = check(record);
  return checked.ok ? [] : wireIssues(checked.issues).map(({ path }) => path);
};
const recordOf = ({ event_type, category, content, metadata }: Sample): Record<string, unknown> => ({
  event_type,
  category,
  content,
  metadata,
});

const all = [...samples, ...furtherSamples].map((sample) => [sample.event_type, sample] as const);

test.each(all)("R-REC-10 %s passes as it is, with further fields anywhere", (_type, sample) => {
  const record = recordOf(sample);
  expect(check(record)).toEqual({ ok: true, record });
  const grown = [
    "metadata/more",
    ...(typeof sample.content === "object" ? ["content/more"] : []),
    "more",
  ].reduce<unknown>((one, path) => replaced(one, path, { a: 1 }), record);
  expect(faultsOf(grown)).toEqual([]);
});

test.each(all)("R-REC-10 %s is refused without any of what it requires, and the fault is named", (_type, sample) => {
  for (const path of [...sample.required, "category", "content", "metadata"]) {
    expect(faultsOf(without(recordOf(sample), path)), path).toContain(`/${path}`);
  }
});

test.each(all)("R-REC-10 %s is refused in another category", (_type, sample) => {
  expect(faultsOf({ ...recordOf(sample), category: "else" })).toEqual(["/category"]);
});

test("R-REC-10 types that nobody knows pass in any category, names of members that every object has too", () => {
  const record = { event_type: "constructor", category: "message", content: null, metadata: {} };
  expect(faultsOf(record)).toEqual([]);
  expect(faultsOf({ ...record, event_type: "😀".repeat(32), category: "😀".repeat(16) })).toEqual([]);
  expect(faultsOf({ ...record, event_type: "middlewarex", content: false })).toEqual([]);
});

test.each([
  ["event_type", ""],
  ["event_type", "x".repeat(33)],
  ["event_type", 5],
  ["event_type", "middleware:"],
  ["event_type", `middleware:${"x".repeat(22)}`],
  ["category", ""],
  ["category", "x".repeat(17)],
  ["metadata", []],
  ["metadata", null],
  ["thread_id", "t2"],
  ["run_id", "r2"],
  ["created_at", "2026-01-02"],
  ["created_at", "2026-01-02T03:04:05"],
  ["created_at", "2026-01-02T24:04:05Z"],
  ["created_at", 5],
  ["user_id", 5],
])("R-REC-10 a record whose %s is %j is refused", (key, value) => {
  const middleware = { name: "n", hook: "h", action: "a", changes: {} };
  const record = { event_type: "some.type", category: "middleware", content: middleware, metadata: {}, [key]: value };
  expect(faultsOf(record)).toEqual([`/${key}`]);
});

test.each([null, 5, "text", [], [[]]])("R-REC-10 %j is no record", (value) => {
  expect(check(value).ok).toBe(false);
});

test("R-REC-10 names, numbers and times that a record brings are taken when they fit", () => {
  const record = {
    thread_id: "t1",
    run_id: "r1",
    seq: 7,
    event_type: "a",
    category: "b",
    content: 0,
    metadata: {},
    created_at: "2026-01-02T03:04:05.123456+00:00",
    user_id: null,
  };
  expect(check(record)).toEqual({ ok: true, record });
});
