// DeerFlow's frames: whole runs against golden files, what each mode shows, and the state that goes with it.
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import type { LangMessage, StreamMode } from "../../../schemas/thread.ts";
import { deerflowSse } from "../../../src/dialects/deerflow.ts";
import { answersIn, framesOf, messagesIn, shownBy } from "../../support/deerflow-frames.ts";
import { dialectIn, isDialectId } from "../../../src/dialects/index.ts";
import { damagedLog } from "../../../src/run/reader-faults.ts";
import { plays } from "../thread/plays.ts";
import { logOf } from "../sveda/turns.ts";
import { entriesOf, everything, inThread, wireOf } from "./wire.ts";

const golden = (name: string): string => {
  const file = `${name.replaceAll(/[^a-z]+/g, "-").replace(/-$/, "")}.sse`;
  return readFileSync(path.join(import.meta.dirname, "golden", file), "utf8");
};

const framesIn = (name: keyof typeof plays, ...modes: StreamMode[]) =>
  framesOf(wireOf(entriesOf(plays[name].events), inThread(...modes)));

const namesIn = (name: keyof typeof plays, ...modes: StreamMode[]): string[] =>
  framesIn(name, ...modes).map(({ event }) => event);

test.each(Object.keys(plays))("R-DF-6 R-DF-7 a run, byte for byte: %s", (name) => {
  const [, play] = Object.entries(plays).find(([other]) => other === name) ?? [];
  expect(wireOf(entriesOf(play?.events ?? []))).toBe(golden(name));
});

test("R-DF-6 metadata comes first and `end` last, which alone has no id; the ids of an entry's frames are counted", () => {
  for (const { events } of Object.values(plays)) {
    const frames = framesOf(wireOf(entriesOf(events)));
    expect(frames[0]).toMatchObject({ event: "metadata", data: { run_id: "run-1", thread_id: "t1" }, id: "0-0" });
    expect(frames.at(-1)).toMatchObject({ event: "end", data: null, id: undefined });
    const ids = frames.slice(1, -1).map(({ id }) => (id ?? "").split("-").map(Number));
    for (const [at, [entry = 0, frame = 0]] of ids.entries()) {
      const [before, last = -1] = ids[at - 1] ?? [];
      expect(frame).toBe(before === entry ? last + 1 : 0);
      expect(entry).toBeGreaterThanOrEqual(before ?? 1);
    }
  }
});

test("R-DF-6 SSE only; the preamble and heartbeats are single lines", () => {
  expect(isDialectId("deerflow")).toBe(true);
  expect(dialectIn("deerflow", "sse")).toBe(deerflowSse);
  expect(dialectIn("deerflow", "ndjson")).toBeUndefined();
  const { contentType, preamble, heartbeat } = deerflowSse;
  expect([contentType, preamble, heartbeat]).toEqual(["text/event-stream", "retry: 1000\n", ": hb\n"]);
});

describe("R-DF-7 modes", () => {
  test("values alone: the state after the input, after each answer and after its results", () => {
    expect(namesIn("text only", "values")).toEqual(["metadata", "values", "values", "custom", "end"]);
    const states = framesIn("tools then answer", "values").filter(({ event }) => event === "values");
    expect(states.map(({ data }) => messagesIn(data).map(({ type }) => type))).toEqual([
      ["human"],
      ["human", "ai"],
      ["human", "ai", "tool"],
      ["human", "ai", "tool", "ai"],
    ]);
  });

  test("the pieces of a step come before the state that holds its message, under the same id", () => {
    const frames = framesIn("reasoning then text", "values", "messages-tuple");
    const pieces = frames.filter(({ event }) => event === "messages");
    expect(frames.map(({ event }) => event)).toEqual([
      "metadata",
      "values",
      ...pieces.map(() => "messages"),
      "values",
      "custom",
      "end",
    ]);
    const ids = new Set(pieces.map(({ data }) => (Array.isArray(data) ? data[0].id : undefined)));
    expect([...ids]).toEqual(["lc_run--run-1-0"]);
    expect(messagesIn(frames.at(-3)?.data).at(-1)).toMatchObject({
      id: "lc_run--run-1-0",
      content: "One.",
      additional_kwargs: { reasoning_content: "Hm." },
    });
  });

  test("updates name the node; custom tells of retries; what has no frames here gives none", () => {
    const updates = framesIn("tools then answer", "updates").filter(({ event }) => event === "updates");
    expect(updates.map(({ data }) => Object.keys(data ?? {}))).toEqual([["model"], ["tools"], ["model"]]);
    const retry = framesIn("failed before it showed anything, then answered", "custom")[1];
    expect(retry?.data).toEqual({
      type: "llm_retry",
      attempt: 2,
      max_attempts: 2,
      wait_ms: 0,
      reason: "rate_limited",
      message: "Failed as rate_limited.",
    });
    expect(namesIn("tools then answer", "tasks", "checkpoints", "debug")).toEqual(["metadata", "custom", "end"]);
  });

  test("of a run that no thread has asked for everything is told, under the run's name", () => {
    const { thread: _, ...alone } = everything;
    const frames = framesOf(wireOf(entriesOf(plays["text only"].events), alone));
    expect(frames[0]?.data).toEqual({ run_id: "run-1", thread_id: "run-1" });
    expect(new Set(frames.map(({ event }) => event))).toEqual(
      new Set(["metadata", "values", "messages", "updates", "custom", "end"]),
    );
  });
});

describe("R-DF-8 what is taken back", () => {
  test("is gone from the state before anything is said under the new id", () => {
    const frames = framesIn("retraction", "messages-tuple");
    const at = frames.findIndex(({ event }) => event === "values");
    expect(answersIn(shownBy(frames.slice(0, at)))).toEqual(["Wrong"]);
    expect(answersIn(shownBy(frames.slice(0, at + 1)))).toEqual([]);
    expect(answersIn(shownBy(frames))).toEqual(["Right."]);
  });

  test("leaves what was said before", () => {
    expect(answersIn(shownBy(framesIn("retraction in a later step", "values", "messages-tuple")))).toEqual([
      "Let me look.",
      "Right.",
    ]);
  });

  test("was never in a stream of states alone", () => {
    expect(namesIn("retraction", "values")).toEqual(["metadata", "values", "values", "custom", "end"]);
  });
});

describe("R-DF-9 the end", () => {
  test.each([
    ["text only", "success", null],
    ["cancelled", "interrupted", null],
    ["rolled back", "error", "Rolled back by user"],
    ["failure with text", "error", expect.any(String)],
    ["out of time", "timeout", expect.any(String)],
    ["waits for an approval", "interrupted", null],
  ] as const)("%s: the last frame before `end` says %s", (name, status, error) => {
    expect(framesIn(name, "values").at(-2)).toMatchObject({
      event: "custom",
      data: { type: "run_terminal", status, error },
    });
  });

  test("a failed run has an error frame with message and name; a cancelled or rolled back one has none", () => {
    const errors = (name: keyof typeof plays) => framesIn(name, "values").filter(({ event }) => event === "error");
    expect(errors("failure before anything").map(({ data }) => data)).toEqual([
      { message: "Failed as invalid_request.", name: "Internal" },
    ]);
    expect([...errors("cancelled"), ...errors("rolled back")]).toEqual([]);
  });

  test("the last state of a run that waits says what for", () => {
    const states = framesIn("waits for a client's result", "values").filter(({ event }) => event === "values");
    expect(states.slice(0, -1).filter(({ text }) => text.includes("__interrupt__"))).toEqual([]);
    expect(states.at(-1)?.data).toMatchObject({
      __interrupt__: [
        {
          id: "c1",
          value: { type: "tool_call", needs: "result", tool_call_id: "c1", name: "here", args: { page: 1 } },
        },
      ],
    });
  });
});

describe("R-DF-10 a state", () => {
  const statesOf = (messages: LangMessage[], values: Record<string, unknown> = {}) =>
    framesOf(
      wireOf(entriesOf(plays["text only"].events), {
        ...everything,
        thread: { threadId: "t1", modes: ["values"], base: { messages, values } },
      }),
    ).filter(({ event }) => event === "values");
  const human = (id: string, content: unknown, fields = {}): LangMessage => ({ type: "human", id, content, ...fields });

  test("has the thread's channels and title; the run's own title replaces that", () => {
    const [first, last] = statesOf([], { title: "Old", todos: [1], __pregel_tasks: [], artifacts: ["a.md"] });
    expect(first?.data).toEqual({ messages: [], title: "Old", artifacts: ["a.md"], todos: [1] });
    expect(last?.data).toMatchObject({ title: "Courses", todos: [1] });
  });

  test("holds the newest 2 MiB of messages, and the newest one whatever its size", () => {
    const large = "é".repeat(512 * 1024);
    const [first, last] = statesOf(["h1", "h2", "h3"].map((id) => human(id, large)));
    expect(messagesIn(first?.data).map(({ id }) => id)).toEqual(["h3"]);
    expect(messagesIn(last?.data).map(({ id }) => id)).toEqual(["h3", "lc_run--run-1-0"]);
    const [huge] = statesOf([human("h1", "x".repeat(3 * 1024 * 1024))]);
    expect(messagesIn(huge?.data)).toHaveLength(1);
  });

  test("has no embedded images of messages that are hidden", () => {
    const image = (url: string) => ({ type: "image_url", image_url: { url } });
    const blocks = [{ type: "text", text: "See." }, image("data:image/png;base64,AA"), image("https://a.test/i.png")];
    const [first] = statesOf([human("h1", blocks), human("h2", blocks, { additional_kwargs: { hide_from_ui: true } })]);
    expect(messagesIn(first?.data).map(({ content }) => content)).toEqual([blocks, [blocks[0], blocks[2]]]);
  });
});

describe("R-DF-11 of a log that is damaged", () => {
  test("nothing is told after the failure but how the run ended", () => {
    const entries = plays["text only"].events.map(entryOf).filter(({ sequence }) => sequence !== 6);
    const { encode } = deerflowSse.follow(everything, { id: "7-0" }, entries.length, entries.slice(0, 5));
    const wire = deerflowSse.failure(damagedLog("run-1")) + entries.slice(6).map(encode).join("");
    expect(framesOf(wire)).toMatchObject([
      { event: "error", data: { name: "Internal", message: damagedLog("run-1").message }, id: undefined },
      { event: "custom", data: { type: "run_terminal", status: "success" } },
      { event: "end" },
    ]);
  });

  test("an entry of a type that nobody knows is none that is missing", () => {
    const [first, second] = logOf([
      { type: "lifecycle", payload: { phase: "provider_selected" } },
      { type: "content_delta", payload: { text: "One." } },
    ]);
    if (first === undefined || second === undefined) throw new Error("two entries");
    const strange = { sequence: 1, at: 0, type: "of_tomorrow", payload: "{}" };
    const wire = wireOf([first, strange, { ...second, sequence: 2 }]);
    expect(answersIn(shownBy(framesOf(wire)))).toEqual(["One."]);
  });
});
