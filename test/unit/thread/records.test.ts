// The records that a run's log makes: which, of which event, with what in them, and the same wherever the run was cut off.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogEvent } from "../../../schemas/event.ts";
import type { RecordDraft, ThreadRunEnd } from "../../../schemas/thread.ts";
import { fitAnswer } from "../../../src/thread/fit-answer.ts";
import { humanMessage, type Answer, type Called } from "../../../src/thread/messages.ts";
import { recordCheck } from "../../../src/thread/record-check.ts";
import { damagedRecording, emptyRecording, record, type RecordedRun } from "../../../src/thread/records.ts";
import { plays } from "./plays.ts";

const run: RecordedRun = { runId: "run-1", models: { p1: "m1" }, chain: "default" };

type IsLost = (event: LogEvent) => boolean;

/** `isLost`: the event cannot be read. */
function recordsOf(events: readonly LogEvent[], fields: Partial<RecordedRun> = {}, isLost: IsLost = () => false) {
  let recording = emptyRecording({ ...run, ...fields });
  const records: RecordDraft[] = [];
  const ends: ThreadRunEnd[] = [];
  for (const event of events) {
    if (isLost(event)) {
      recording = damagedRecording(recording);
      continue;
    }
    const made = record(recording, event);
    ({ recording } = made);
    records.push(...made.records);
    if (made.end !== undefined) ends.push(made.end);
  }
  return { records, ends };
}

const called = (toolCallId: string, units: number): Called => ({
  toolCallId,
  toolName: "look",
  input: { of: "x".repeat(units) },
  execution: "server",
});

const answered = (fields: Pick<Answer, "text" | "reasoning" | "calls">): Answer => ({
  id: "lc_run--run-1-0",
  step: 0,
  usage: undefined,
  model: undefined,
  finishReason: "tool_calls",
  latencyMs: 1,
  callIndex: 1,
  ...fields,
});

const typesOf = (records: readonly RecordDraft[]): string[] => records.map(({ eventType }) => eventType);
const contentsOf = (records: readonly RecordDraft[], type: string): unknown[] =>
  records.filter(({ eventType }) => eventType === type).map(({ content }) => content);

describe("R-THR-33 a run's log becomes records", () => {
  const opening = ["run.start"];
  const ending = ["run.end", "run.terminal"];
  const expected: Partial<Record<keyof typeof plays, string[]>> = {
    "text only": [...opening, "llm.ai.response", ...ending],
    "tools then answer": [
      ...opening,
      "tool.intent",
      "llm.ai.response",
      "llm.tool.result",
      "llm.ai.response",
      ...ending,
    ],
    retraction: [...opening, "llm.error", "llm.ai.response", ...ending],
    "failed before it showed anything, then answered": [...opening, "llm.error", "llm.ai.response", ...ending],
    cancelled: [...opening, "llm.ai.response", "run.terminal"],
    "rolled back": [...opening, "llm.ai.response", "run.terminal"],
    "failure with text": [...opening, "llm.error", "llm.ai.response", "run.error", "run.terminal"],
    "failure before anything": [...opening, "llm.error", "run.error", "run.terminal"],
    // A client makes its calls itself.
    "waits for a client's result": [...opening, "llm.ai.response", "run.terminal"],
    "waits for an approval": [...opening, "tool.intent", "llm.ai.response", "run.terminal"],
    "goes on with an approved call": [...opening, "llm.tool.result", "llm.ai.response", ...ending],
    "cut off at the limit": [...opening, "middleware:safety_termination", "llm.ai.response", ...ending],
    filtered: [...opening, "llm.ai.response", "middleware:safety_termination", ...ending],
    // The text is told once, as it stood in the end.
    "recovery, then retracted": [...opening, "llm.ai.response", ...ending],
    // The restatement after the crash tells the call again.
    "recovery while a tool runs": [
      ...opening,
      "tool.intent",
      "llm.ai.response",
      "llm.tool.result",
      "llm.ai.response",
      ...ending,
    ],
  };

  test.each(Object.entries(expected))("%s", (name, types) => {
    const play = Object.entries(plays).find(([key]) => key === name)?.[1];
    expect(typesOf(recordsOf(play?.events ?? []).records)).toEqual(types);
  });

  test("in the order of their events, each with its number and its time", () => {
    for (const { events } of Object.values(plays)) {
      const { records, ends } = recordsOf(events);
      const sources = records.map(({ source }) => source);
      expect(sources).toEqual(sources.toSorted((left, right) => left - right));
      for (const { source, at } of records) expect(at).toBe(events[source]?.at);
      expect(records[0]).toMatchObject({
        source: 0,
        content: { chain: "default" },
        metadata: { caller: "lead_agent" },
      });
      expect(records.at(-1)).toMatchObject({ eventType: "run.terminal", source: events.length - 1 });
      expect(ends).toHaveLength(1);
    }
  });

  test("with what the request brought", () => {
    const human = { type: "human", content: "What is there?", id: "h1" };
    const result = { type: "tool", content: "Two.", tool_call_id: "c0", id: "r0" };
    const { records } = recordsOf(plays["text only"].events, { human, results: [result] });
    expect(records.slice(0, 3)).toMatchObject([
      { eventType: "run.start" },
      { eventType: "llm.human.input", category: "message", content: human, metadata: { caller: "lead_agent" } },
      { eventType: "llm.tool.result", category: "message", content: result, metadata: {} },
    ]);
  });

  test("an answer with its calls, its usage and how long it took", () => {
    const { records } = recordsOf(plays["tools then answer"].events);
    const usage = { input_tokens: 40, output_tokens: 2, total_tokens: 42 };
    expect(records.find(({ eventType }) => eventType === "llm.ai.response")).toMatchObject({
      category: "message",
      content: {
        type: "ai",
        id: "lc_run--run-1-0",
        content: "Let me look.",
        additional_kwargs: { reasoning_content: "I look." },
        tool_calls: [{ id: "c1", name: "look", args: { page: 1 }, type: "tool_call" }],
        response_metadata: { model_name: "m1", finish_reason: "tool_calls" },
        usage_metadata: usage,
      },
      metadata: { caller: "lead_agent", usage, latency_ms: 1000, llm_call_index: 1 },
    });
    expect(contentsOf(records, "tool.intent")).toEqual([{ tool_call_id: "c1", name: "look", args: { page: 1 } }]);
    // Whose tool it was is not told: no reader hides its rows.
    expect(records.find(({ eventType }) => eventType === "llm.tool.result")?.metadata).toEqual({});
  });

  test("its end by its word, and the truth about it last", () => {
    const terminal = (name: keyof typeof plays): unknown =>
      contentsOf(recordsOf(plays[name].events).records, "run.terminal")[0];
    const word = (status: string, outcome: string, fields: object = {}) => ({
      status,
      outcome,
      stop_reason: null,
      error: null,
      ...fields,
    });
    expect(terminal("text only")).toEqual(word("success", "completed"));
    expect(terminal("waits for a client's result")).toEqual(word("interrupted", "completed"));
    expect(terminal("cancelled")).toEqual(word("interrupted", "cancelled"));
    expect(terminal("rolled back")).toEqual(word("error", "cancelled", { error: "Rolled back by user" }));
    expect(terminal("out of time")).toEqual(word("timeout", "error", { error: expect.any(String) }));
    expect(terminal("failure with text")).toEqual(word("error", "error", { error: expect.any(String) }));
    expect(terminal("cut off at the limit")).toEqual(
      word("success", "completed", { stop_reason: "model_length_capped" }),
    );
    const [failed] = recordsOf(plays["failure with text"].events).records.filter(
      ({ category }) => category === "error",
    );
    expect(failed).toMatchObject({ content: expect.any(String), metadata: { error_type: "Internal" } });
    expect(recordsOf(plays["waits for a client's result"].events).ends).toMatchObject([
      { status: "interrupted", interrupts: [{ id: "c1" }] },
    ]);
  });

  test("each holds what its type is known to hold", () => {
    const check = recordCheck("thread-1", "run-1");
    const human = humanMessage("h1", "What is there?");
    for (const { events } of Object.values(plays)) {
      for (const { eventType, category, content, metadata } of recordsOf(events, { human }).records) {
        expect(check({ event_type: eventType, category, content, metadata })).toMatchObject({ ok: true });
      }
    }
  });

  test("an answer that is too large for one message is cut, and says so", () => {
    const answer = answered({
      text: "a".repeat(60),
      reasoning: "b".repeat(60),
      calls: [called("c1", 20), called("c2", 5)],
    });
    expect(fitAnswer(answer, 1000)).toEqual({ answer, isCut: false });
    expect(fitAnswer(answer, 100)).toEqual({
      isCut: true,
      answer: {
        ...answer,
        text: `${"a".repeat(50)}\n[cut: longer than 50 characters]`,
        reasoning: `${"b".repeat(25)}\n[cut: longer than 25 characters]`,
        calls: [{ ...called("c1", 20), input: { cut: "longer than 25 characters" } }, called("c2", 5)],
      },
    });
  });

  test("of a log whose end cannot be read whole the outcome's text is left", () => {
    const { events } = plays["tools then answer"];
    const lost = events.findIndex(({ type }) => type === "tool_result");
    const isLost = ({ sequence, type }: LogEvent): boolean => sequence >= lost && type !== "terminal";
    const { records } = recordsOf(events, {}, isLost);
    const said = contentsOf(records, "llm.ai.response");
    expect(said).toMatchObject([{ content: "Let me look." }, { content: "One." }]);
    expect(typesOf(records).slice(-2)).toEqual(ending);
  });
});

test("R-THR-33 the same log makes the same records, whatever part of it was recorded before", () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(plays)), fc.nat(60), ({ events }, at) => {
      const whole = recordsOf(events).records;
      const before = recordsOf(events.slice(0, at)).records;
      const after = whole.filter(({ source }) => source >= at);
      expect([...before, ...after]).toEqual(whole);
    }),
  );
});
