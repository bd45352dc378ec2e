// What a run's events tell a thread: messages with their ids, results, what was withdrawn, and how it ended.
import { describe, expect, test } from "vitest";
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import type { LogEvent } from "../../../schemas/event.ts";
import { endingOf } from "../../../src/thread/ending.ts";
import { follow } from "../../../src/thread/follow.ts";
import { followed, type FollowedRun, type Told } from "../../../src/thread/followed.ts";
import { answerMessage, resultMessage, type Answer } from "../../../src/thread/messages.ts";
import { eventOf } from "../../../src/wire/log-entry.ts";
import { statedText } from "../scenarios/drive.ts";
import { call, piece, playIn, plays } from "./plays.ts";
import { cut, gives, says, stopped, text } from "../scenarios/drive.ts";

type Of<T extends Told["type"]> = Extract<Told, { type: T }>;

function toldOf(events: readonly LogEvent[], run: Partial<FollowedRun> = {}): Told[] {
  let state = followed({ runId: "run-1", models: { p1: "m1", p2: "m2" }, ...run });
  return events.flatMap((event) => {
    const step = follow(state, event);
    ({ state } = step);
    return step.told;
  });
}

const all = <T extends Told["type"]>(told: readonly Told[], type: T): Of<T>[] =>
  told.filter((one): one is Of<T> => one.type === type);

const answersOf = (told: readonly Told[]): Answer[] => all(told, "answered").map(({ answer }) => answer);

/** The texts that a reader has put together, by message, without those that were withdrawn. */
function shownBy(told: readonly Told[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const one of told) {
    if (one.type === "text") texts.set(one.id, (texts.get(one.id) ?? "") + one.text);
    if (one.type === "withdrawn") texts.delete(one.id);
  }
  return texts;
}

describe("R-DF-1 an answer is one message", () => {
  test("with text, reasoning, calls, usage, model, latency and its place among the run's calls of a model", () => {
    const told = toldOf(plays["tools then answer"].events);
    expect(answersOf(told)).toEqual([
      {
        id: "lc_run--run-1-0",
        step: 0,
        text: "Let me look.",
        reasoning: "I look.",
        calls: [{ toolCallId: "c1", toolName: "look", input: { page: 1 }, execution: "server" }],
        usage: { inputTokens: 40, outputTokens: 2, totalTokens: 42 },
        model: "m1",
        finishReason: "tool_calls",
        latencyMs: 1000,
        callIndex: 1,
        context: { usedTokens: 42, maxTokens: 128_000, percent: 0 },
      },
      {
        id: "lc_run--run-1-1",
        step: 1,
        text: "One.",
        reasoning: "",
        calls: [],
        usage: { inputTokens: 50, outputTokens: 3, totalTokens: 53 },
        model: "m1",
        finishReason: "stop",
        latencyMs: 1000,
        callIndex: 2,
        context: { usedTokens: 53, maxTokens: 128_000, percent: 0 },
      },
    ]);
    const kinds = told.map(({ type }) => type).filter((type) => ["answered", "result", "ended"].includes(type));
    expect(kinds).toEqual(["answered", "result", "answered", "ended"]);
  });

  test("its usage is that of every attempt it took, and its latency that of the attempt that answered", () => {
    const [answer] = answersOf(toldOf(plays["retraction"].events));
    expect(answer).toMatchObject({ text: "Right.", reasoning: "", model: "m2", latencyMs: 1000, callIndex: 1 });
    expect(answer?.usage).toEqual(plays["retraction"].outcome?.usage);
  });

  test("one that was cut off by the run's end is told with what it had shown, and none when that was nothing", () => {
    const cancelled = toldOf(plays["cancelled"].events);
    expect(all(cancelled, "answered")).toMatchObject([
      { isWhole: false, answer: { text: "On", finishReason: "cancelled" } },
    ]);
    expect(answersOf(toldOf(plays["failure with text"].events))).toMatchObject([{ text: "On", finishReason: "error" }]);
    expect(answersOf(toldOf(plays["failure before anything"].events))).toEqual([]);
  });

  test("one that no model was asked for is told as the server said it", () => {
    const told = toldOf(plays["too little found"].events);
    expect(answersOf(told)).toMatchObject([
      { id: "lc_run--run-1-0", text: "Not enough.", calls: [], finishReason: "stop", latencyMs: null, callIndex: 1 },
    ]);
    expect(answersOf(told)[0]).toMatchObject({ usage: undefined, model: undefined });
  });

  test("a run without steps has one", () => {
    expect(answersOf(toldOf(plays["without an agent"].events))).toMatchObject([
      { id: "lc_run--run-1-0", text: "One.", calls: [{ toolCallId: "c1" }], finishReason: "tool_calls" },
    ]);
  });

  test("one that was cut off by the end of its run stands before the results of its calls", () => {
    const { events } = playIn({}, says("p1", text("On"), call("c1"), cut));
    const kinds = toldOf(events).map(({ type }) => type);
    expect(kinds.filter((type) => type !== "text" && type !== "title")).toEqual([
      "begun",
      "step",
      "call",
      "attempt failed",
      "answered",
      "result",
      "ended",
    ]);
  });
});

describe("R-DF-2 what is shown and taken back", () => {
  test("loses its message; what follows has an id that nothing else has", () => {
    const { events } = plays["retraction"];
    const told = toldOf(events);
    const at = events.find(({ type }) => type === "content_snapshot")?.sequence;
    expect(all(told, "withdrawn")).toEqual([{ type: "withdrawn", id: "lc_run--run-1-0" }]);
    expect(answersOf(told).map(({ id }) => id)).toEqual([`lc_run--run-1-0-r${at}`]);
    expect([...shownBy(told)]).toEqual([[`lc_run--run-1-0-r${at}`, "Right."]]);
  });

  test("in a later step leaves the messages of the steps before", () => {
    const told = toldOf(plays["retraction in a later step"].events);
    expect(all(told, "withdrawn")).toEqual([{ type: "withdrawn", id: "lc_run--run-1-1" }]);
    expect(answersOf(told).map((answer) => answer.text)).toEqual(["Let me look.", "Right."]);
  });

  test("after a crash everything that stands is told again under a new id, whether it was seen or not", () => {
    const { events } = plays["recovery, then the end"];
    const told = toldOf(events);
    const restatedAt = events.find(({ type }) => type === "content_snapshot")?.sequence;
    expect(all(told, "withdrawn")).toEqual([{ type: "withdrawn", id: "lc_run--run-1-0" }]);
    expect(answersOf(told)).toMatchObject([{ id: `lc_run--run-1-0-r${restatedAt}`, text: "One " }]);
  });

  test("a crash between two answers withdraws none", () => {
    const { events } = plays["recovery while a tool runs"];
    expect(events.some(({ type }) => type === "content_snapshot")).toBe(true);
    const told = toldOf(events);
    expect(all(told, "withdrawn")).toEqual([]);
    expect(answersOf(told).map(({ id }) => id)).toEqual(["lc_run--run-1-0", "lc_run--run-1-1"]);
  });

  test("a text that goes on from what is shown withdraws nothing; one that differs does", () => {
    expect(all(toldOf(plays["final text alone"].events), "withdrawn")).toEqual([]);
    expect([...shownBy(toldOf(plays["final text that differs"].events)).values()]).toEqual(["One."]);
  });

  test("pieces of a call that never came, or came otherwise, are withdrawn", () => {
    const { events } = playIn(
      { onMidStreamFailure: "retract" },
      says("p1", piece("c1", '{"pa', "look"), cut),
      says("p2", piece("c2", '{"page":2}', "look"), call("c2"), stopped("tool_calls")),
      gives("c2", 1),
      says("p2", text("One."), stopped("stop")),
    );
    const told = toldOf(events);
    expect(all(told, "withdrawn")).toHaveLength(2);
    expect(all(told, "call")).toMatchObject([{ index: 0, isPieced: false, call: { input: { page: 1 } } }]);
  });

  test("pieces that say the whole call stand for it", () => {
    const told = toldOf(plays["two tools, one in pieces"].events);
    expect(all(told, "withdrawn")).toEqual([]);
    expect(all(told, "call piece")).toMatchObject([
      { index: 0, isFirst: true, toolName: "look", text: '{"pa' },
      { index: 0, isFirst: false, text: 'ge":1}' },
    ]);
    expect(all(told, "call")).toMatchObject([
      { index: 0, isPieced: true },
      { index: 1, isPieced: false },
    ]);
  });
});

test("R-DF-3 a result tells what was given back, also where a secret-looking key hides it in JSON text", () => {
  const results = all(toldOf(plays["two tools, one in pieces"].events), "result").map(({ result }) => result);
  expect(results).toEqual([
    { id: "tool-run-1-c2", toolCallId: "c2", toolName: "look", output: "Two.", isError: false },
    { id: "tool-run-1-c1", toolCallId: "c1", toolName: "look", output: { apiKey: "k" }, isError: true },
  ]);
  const carried = toldOf(plays["goes on with an approved call"].events);
  expect(all(carried, "result")).toMatchObject([{ result: { toolCallId: "c1", decision: "approve" } }]);
  expect(carried.findIndex(({ type }) => type === "result")).toBeLessThan(
    carried.findIndex(({ type }) => type === "answered"),
  );
});

test("R-DF-4 another attempt is told with why the last one failed", () => {
  const told = toldOf(plays["failed before it showed anything, then answered"].events);
  expect(all(told, "tried again")).toMatchObject([
    { number: 2, waitedMs: 0, failure: { targetId: "p1", failureClass: "rate_limited" } },
  ]);
  expect(all(told, "attempt failed")).toHaveLength(1);
});

test("R-DF-3 numbers that a JavaScript number cannot hold keep their digits: in calls beside the arguments, in results", () => {
  const json = '{"id":9007199254740993}';
  const told = toldOf([
    { sequence: 0, at: 0, type: "tool_call_delta", payload: { toolCallId: "c1", toolName: "look", inputText: json } },
    {
      sequence: 1,
      at: 0,
      type: "tool_call",
      payload: { toolCallId: "c1", toolName: "look", inputJson: json, execution: "server" },
    },
    { sequence: 2, at: 0, type: "tool_result", payload: { toolCallId: "c1", toolName: "look", outputJson: json } },
  ]);
  expect(all(told, "call")).toMatchObject([{ isPieced: true, call: { inputJson: json } }]);
  const [answer] = answersOf(told);
  const [result] = all(told, "result");
  if (answer === undefined || result === undefined) throw new Error("an answer and its result");
  expect(answerMessage(answer)).toMatchObject({ tool_calls: [{ id: "c1", args_json: json }] });
  expect(resultMessage(result.result)).toMatchObject({ content: json });
});

describe("R-DF-5 how a run ended, in a thread's words", () => {
  test.each([
    ["text only", "success", null, null],
    ["cancelled", "interrupted", null, null],
    ["rolled back", "error", null, "Rolled back by user"],
    ["failure before anything", "error", null, "Failed as invalid_request."],
    ["out of time", "timeout", null, expect.stringMatching(/./)],
    ["waits for a client's result", "interrupted", null, null],
    ["cut off at the limit", "success", "model_length_capped", null],
    ["filtered", "success", "safety_capped", null],
    ["recovery, then the end", "error", "orphan_recovered", expect.stringMatching(/./)],
  ] as const)("%s: %s", (name, status, stopReason, error) => {
    const [ended] = all(toldOf(plays[name].events), "ended");
    if (ended === undefined) throw new Error("the run has no end");
    expect(endingOf(ended.outcome, ended.pending)).toMatchObject({ status, stopReason, error, title: "Courses" });
  });

  test("with the calls that wait, their inputs, and what they need", () => {
    const interruptsOf = (name: "waits for a client's result" | "waits for an approval") =>
      all(toldOf(plays[name].events), "ended").flatMap(({ outcome, pending }) => endingOf(outcome, pending).interrupts);
    const value = { type: "tool_call", tool_call_id: "c1", args: { page: 1 } };
    expect(interruptsOf("waits for a client's result")).toEqual([
      { id: "c1", value: { ...value, needs: "result", name: "here" } },
    ]);
    expect(interruptsOf("waits for an approval")).toEqual([
      { id: "c1", value: { ...value, needs: "decision", name: "ask_delete" } },
    ]);
  });
});

test.each(Object.entries(plays))(
  "R-DF-1 R-DF-2 what stands at the end is the run's text: %s",
  (_, { events, outcome }) => {
    if (outcome === undefined) throw new Error("the run has not ended");
    const told = toldOf(events.map((event) => eventOf(entryOf(event))).flatMap((event) => event ?? []));
    expect([...shownBy(told).values()].join("")).toBe(statedText(outcome));
    expect(
      answersOf(told)
        .map((answer) => answer.text)
        .join(""),
    ).toBe(statedText(outcome));
    const ids = answersOf(told).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  },
);
