// What a producer's events make of a run, and which of them are refused.
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { outcomeSchema } from "../../schemas/outcome.ts";
import type { PushedEvent } from "../../schemas/push.ts";
import { transition, type Input } from "../../src/run/machine.ts";
import { checkPushedEvents, pushedFaults } from "../../src/run/pushed-check.ts";
import { initialState, type Charter, type RunState } from "../../src/run/state.ts";
import type { Step } from "../../src/run/step.ts";
import { charter, EPOCH } from "./scenarios/drive.ts";

type Raw = { type: string; payload: Record<string, unknown> };
type Logged = Step["events"][number];

const pushedCharter = (fields: Partial<Charter> = {}): Charter => ({
  ...charter(["a"], fields),
  chain: [],
  isPushed: true,
});

const say = (text: string): Raw => ({ type: "content_delta", payload: { text } });
const think = (text: string): Raw => ({ type: "reasoning_delta", payload: { text } });
const call = (toolCallId: string, fields: Record<string, unknown> = {}): Raw => ({
  type: "tool_call",
  payload: { toolCallId, toolName: "look", input: { q: 1 }, execution: "server", ...fields },
});
const result = (toolCallId: string, fields: Record<string, unknown> = {}): Raw => ({
  type: "tool_result",
  payload: { toolCallId, toolName: "look", output: { found: 1 }, ...fields },
});
const step = (number: number, phase: "started" | "finished", fields: Record<string, unknown> = {}): Raw => ({
  type: "step",
  payload: { step: number, phase, ...fields },
});
const terminal = (payload: Record<string, unknown>): Raw => ({ type: "terminal", payload });
const completed = (fields: Record<string, unknown> = {}): Raw => terminal({ outcome: "completed", ...fields });

function checked(events: readonly Raw[]): PushedEvent[] {
  const check = checkPushedEvents(events);
  if (!check.ok) throw new Error(JSON.stringify(check.issues));
  return check.events;
}

interface Run {
  state: RunState;
  events: Logged[];
}

function started(fields: Partial<Charter> = {}): Run {
  const first = transition(initialState(pushedCharter(fields)), { type: "start", at: EPOCH });
  return { state: first.state, events: first.events };
}

function given(run: Run, input: Input): Run {
  const { state, events } = transition(run.state, input);
  return { state, events: [...run.events, ...events] };
}

function pushed(run: Run, ...events: readonly Raw[]): Run {
  const batch = checked(events);
  expect(pushedFaults(run.state, batch, 0)).toEqual([]);
  return given(run, { type: "pushed", at: EPOCH + 5, events: batch });
}

const typesOf = ({ events }: Run): string[] =>
  events.map((event) => {
    if (event.type === "step" || event.type === "attempt" || event.type === "lifecycle") {
      return `${event.type} ${event.payload.phase}`;
    }
    return event.type === "other" ? event.name : event.type;
  });

const outcomeOf = ({ state }: Run) => v.parse(outcomeSchema, JSON.parse(JSON.stringify(state.outcome)));

describe("the log of a pushed run", () => {
  test("R-FEED-1 R-FEED-6 has a producer's text in one step, which is an attempt at the target `push`", () => {
    const run = pushed(started(), say("Hel"), say("lo."), completed());
    expect(typesOf(run)).toEqual([
      "lifecycle provider_selected",
      "step started",
      "attempt started",
      "attempt committed",
      "lifecycle started",
      "content_delta",
      "content_delta",
      "step finished",
      "terminal",
    ]);
    expect(run.events[0]).toMatchObject({ sequence: 0, payload: { providerId: "push" } });
    expect(run.events[1]).toMatchObject({ payload: { step: 0, implied: true } });
    expect(outcomeOf(run)).toMatchObject({
      outcome: "completed",
      finalText: "Hello.",
      telemetry: { providerUsed: "push" },
      provenance: { targetId: "push", fallbackOccurred: false, attemptedProviderIds: ["push"] },
    });
    expect(outcomeOf(run)).not.toHaveProperty("finishReason");
  });

  test("R-FEED-6 has steps between a producer's calls and its next words, where it tells none", () => {
    const run = pushed(
      started(),
      think("Hm."),
      say("A. "),
      call("c1"),
      call("c2"),
      result("c2"),
      result("c1"),
      say("B."),
    );
    const ended = pushed(run, completed({ stopReason: "stop" }));
    expect(typesOf(ended).slice(2)).toEqual([
      "attempt started",
      "attempt committed",
      "lifecycle started",
      "reasoning_delta",
      "content_delta",
      "tool_call",
      "tool_call",
      "step finished",
      "tool_result",
      "tool_result",
      "step started",
      "attempt started",
      "attempt committed",
      "content_delta",
      "step finished",
      "terminal",
    ]);
    expect(ended.state.finished).toMatchObject([{ text: "A. ", calls: [{ toolCallId: "c1" }, { toolCallId: "c2" }] }]);
    expect(outcomeOf(ended)).toMatchObject({ finalText: "A. B.", stopReason: "stop", finishReason: "stop" });
  });

  test("R-FEED-6 has a producer's own steps as it tells them", () => {
    const run = pushed(
      started(),
      step(0, "started", { model: "m-1", mark: true }),
      say("A."),
      { type: "usage", payload: { inputTokens: 3, outputTokens: 1 } },
      { type: "usage", payload: { inputTokens: 3, outputTokens: 2 } },
      call("c1"),
      step(0, "finished", { finishReason: "tool_calls" }),
      result("c1"),
      step(1, "started"),
      say("B."),
      { type: "usage", payload: { inputTokens: 5, outputTokens: 4 } },
      step(1, "finished"),
      completed(),
    );
    expect(run.events.filter(({ type }) => type === "step").map(({ payload }) => payload)).toEqual([
      { step: 0, phase: "started", model: "m-1", mark: true },
      { step: 0, phase: "finished", finishReason: "tool_calls" },
      { step: 1, phase: "started" },
      { step: 1, phase: "finished" },
    ]);
    expect(run.events.find(({ payload }) => payload["phase"] === "committed")?.payload).toMatchObject({
      reportedModel: "m-1",
    });
    expect(outcomeOf(run).usage).toEqual({ inputTokens: 8, outputTokens: 6 });
  });

  test("R-FEED-5 R-LOG-6 lets types and fields pass that are not known, and writes secret-looking material as text", () => {
    const run = pushed(
      started(),
      { type: "subagent.progress", payload: { deep: [{ n: 1 }] } },
      { type: "content_delta", payload: { text: "A", lang: "en" } },
      call("c1", { input: { apiKey: "x" }, execution: "client" }),
      result("c1", { output: { nextToken: "y" } }),
      { type: "retrieval", payload: { hits: [{ apiKey: "z" }], trace: { ms: 1 } } },
    );
    expect(run.events[1]).toMatchObject({ type: "other", name: "subagent.progress", payload: { deep: [{ n: 1 }] } });
    expect(run.events.find(({ type }) => type === "content_delta")?.payload).toEqual({ text: "A", lang: "en" });
    const of = (name: string) => run.events.find(({ type }) => type === name)?.payload;
    expect(of("tool_call")).toEqual({
      toolCallId: "c1",
      toolName: "look",
      execution: "client",
      inputJson: '{"apiKey":"x"}',
    });
    expect(of("retrieval")).toEqual({ hitsJson: '[{"apiKey":"z"}]', trace: { ms: 1 } });
    expect(of("tool_result")).toEqual({ toolCallId: "c1", toolName: "look", outputJson: '{"nextToken":"y"}' });
  });

  test("R-FEED-12 progress of work before an answer is no output, and has a name and a fraction", () => {
    const progress = (payload: Record<string, unknown>): Raw => ({ type: "preparation_progress", payload });
    const run = pushed(started(), progress({ providerId: "p", task: "scan", fractionCompleted: 1, more: [1] }));
    expect(typesOf(run)).toEqual(["lifecycle provider_selected", "preparation_progress"]);
    expect(run.state).toMatchObject({ committed: false, text: "" });
    for (const wrong of [
      { providerId: "", task: "scan" },
      { providerId: "p" },
      { providerId: "p", task: "scan", fractionCompleted: 1.1 },
    ]) {
      expect(checkPushedEvents([progress(wrong)]).ok).toBe(false);
    }
  });

  test("R-FEED-10 stops at the limit of output, and drops what comes behind it", () => {
    const run = pushed(started({ maxOutputBytes: 4 }), say("abc"), say("dé"), say("never"), completed());
    expect(typesOf(run).slice(-4)).toEqual(["content_delta", "diagnostic", "step finished", "terminal"]);
    expect(outcomeOf(run)).toMatchObject({ outcome: "completed", finalText: "abcd", finishReason: "length" });
  });
});

test("R-FEED-10 what is no output counts as its JSON, and voided numbers do not", () => {
  const limited = started({ maxOutputBytes: 100 });
  const mark = { type: "mark", payload: { of: "x".repeat(20) } };
  const kept = pushed(limited, mark, mark);
  expect(kept.state.phase).toBe("running");
  const recovered = given(kept, { type: "recover", at: EPOCH + 6, reservedTo: 30, damaged: false });
  expect(recovered.state.outputBytes).toBe(kept.state.outputBytes);
  const ended = pushed(recovered, mark, mark, say("never"));
  expect(typesOf(ended).slice(-3)).toEqual(["mark", "diagnostic", "terminal"]);
  expect(outcomeOf(ended)).toMatchObject({ outcome: "completed", finalText: "", finishReason: "length" });
});

describe("the end of a pushed run", () => {
  test("R-FEED-7 R-OUT-6 a text that differs from what was shown is logged before it", () => {
    const run = pushed(
      started(),
      say("Hallo"),
      completed({ finalText: "Hello.", mood: "good", usage: { totalTokens: 7 } }),
    );
    expect(typesOf(run).slice(-3)).toEqual(["content_snapshot", "step finished", "terminal"]);
    expect(outcomeOf(run)).toMatchObject({ finalText: "Hello.", mood: "good", usage: { totalTokens: 7 } });
    const whole = pushed(started(), completed({ finalText: "All." }));
    expect(typesOf(whole)).toContain("content_snapshot");
    expect(outcomeOf(whole)).toMatchObject({ finalText: "All." });
  });

  test("R-FEED-7 calls that are open are the outcome's, or get a result", () => {
    const open = pushed(started(), call("c1", { execution: "client" }), completed());
    expect(outcomeOf(open)).toMatchObject({
      stopReason: "tool_calls",
      finishReason: "stop",
      pending: [{ toolCallId: "c1", toolName: "look", execution: "client" }],
    });
    const error = { errorClass: "RateLimited", message: "Slow down.", details: { of: "mine" } };
    const failed = pushed(started(), say("A"), call("c1"), terminal({ outcome: "error", error }));
    expect(failed.events.at(-2)).toMatchObject({ type: "tool_result", payload: { toolCallId: "c1", isError: true } });
    expect(outcomeOf(failed)).toMatchObject({
      outcome: "error",
      partialText: "A",
      error: { schemaVersion: "1.0", runId: "run-1", retryable: false, ...error },
    });
    const left = pushed(started(), say("A"), terminal({ outcome: "cancelled", reason: "bored", partialText: "A" }));
    expect(outcomeOf(left)).toMatchObject({ outcome: "cancelled", partialText: "A", reason: "bored" });
  });

  test("R-FEED-9 a lost producer, the total clock and a cancel end it, and nothing is charged", () => {
    const run = pushed(started(), say("Par"));
    const lost = outcomeOf(given(run, { type: "producer_lost", at: EPOCH + 40_000 }));
    expect(lost).toMatchObject({ outcome: "error", partialText: "Par" });
    expect(lost).toMatchObject({
      error: { errorClass: "Unavailable", retryable: true, details: { code: "producer_lost" } },
    });
    expect(lost).not.toHaveProperty("usage");
    const late = outcomeOf(given(run, { type: "deadline", at: EPOCH + 40_000 }));
    expect(late).toMatchObject({ outcome: "error", error: { errorClass: "Timeout" }, partialText: "Par" });
    const cancelled = given(run, { type: "cancel", at: EPOCH + 40_000, reason: "user" });
    expect(outcomeOf(cancelled)).toMatchObject({ outcome: "cancelled", partialText: "Par", reason: "user" });
    expect(given(cancelled, { type: "producer_lost", at: EPOCH + 50_000 })).toEqual(cancelled);
  });

  test("R-FEED-11 R-DUR-5 a restart voids what was lost, and the run goes on however often that happens", () => {
    let run = pushed(started(), say("Par"));
    for (let recoveries = 1; recoveries < 9; recoveries++) {
      const reservedTo = run.state.nextSequence + 2;
      run = given(run, { type: "recover", at: EPOCH + 10, reservedTo, damaged: false });
      run = given(run, { type: "resume", at: EPOCH + 10, recoveries });
      expect(run.events.at(-1)).toMatchObject({ type: "content_snapshot", payload: { text: "Par" } });
    }
    expect(outcomeOf(pushed(run, say("tial"), completed()))).toMatchObject({ finalText: "Partial" });
  });
});

describe("R-FEED-5 a batch is refused, with the path of each fault:", () => {
  const deep = (depth: number): Record<string, unknown> => (depth === 0 ? {} : { a: deep(depth - 1) });
  test.each<[path: string, event: Raw]>([
    ["/events/0/type", { type: "lifecycle", payload: { phase: "started" } }],
    ["/events/0/type", { type: "attempt", payload: {} }],
    ["/events/0/payload/text", { type: "content_delta", payload: {} }],
    ["/events/0/payload/text", { type: "reasoning_delta", payload: { text: 7 } }],
    ["/events/0/payload/releasedFrom", { type: "content_snapshot", payload: { text: "", releasedFrom: 0 } }],
    ["/events/0/payload/covers", { type: "content_snapshot", payload: { text: "", covers: 0 } }],
    ["/events/0/payload/code", { type: "diagnostic", payload: { code: "sequence_released" } }],
    ["/events/0/payload/code", { type: "diagnostic", payload: { code: "output_limit" } }],
    ["/events/0/payload/implied", step(0, "started", { implied: true })],
    ["/events/0/payload/phase", { type: "step", payload: { step: 0, phase: "begun" } }],
    ["/events/0/payload/execution", { type: "tool_call", payload: { toolCallId: "a", toolName: "b", input: {} } }],
    ["/events/0/payload/input", call("a", { input: undefined })],
    ["/events/0/payload/inputJson", call("a", { inputJson: "[]" })],
    ["/events/0/payload/inputJson", call("a", { inputJson: "{" })],
    ["/events/0/payload/toolCallId", call("")],
    ["/events/0/payload/toolCallId", call("\ud800")],
    ["/events/0/payload/outputJson", result("a", { outputJson: "nothing" })],
    ["/events/0/payload/apiKey", { type: "content_delta", payload: { text: "", apiKey: "x" } }],
    ["/events/0/payload/deep/client_secret", { type: "x", payload: { deep: { client_secret: "x" } } }],
    ["/events/0/payload", { type: "x", payload: deep(65) }],
    ["/events/0/payload/inputTokens", { type: "usage", payload: { inputTokens: -1 } }],
    ["/events/0/payload/outcome", terminal({ outcome: "finished" })],
    ["/events/0/payload/finalText", completed({ finalText: 1 })],
    ["/events/0/payload/error/errorClass", terminal({ outcome: "error", error: { message: "x" } })],
    ["/events/0/payload/error", terminal({ outcome: "error" })],
  ])("%s", (path, event) => {
    const check = checkPushedEvents([event]);
    expect(check.ok ? [] : check.issues.map((issue) => issue.path)).toEqual([path]);
  });

  test("R-FEED-5 events after the terminal", () => {
    const check = checkPushedEvents([say("a"), completed(), say("b")]);
    expect(check.ok ? [] : check.issues).toMatchObject([{ path: "/events/2", keyword: "terminal" }]);
  });

  test.each<[path: string, before: Raw[], events: Raw[]]>([
    ["/events/0/payload/toolCallId", [call("a")], [call("a")]],
    ["/events/2/payload/toolCallId", [], [call("a"), call("b"), call("a")]],
    ["/events/1/payload/toolCallId", [], [call("a"), result("b")]],
    ["/events/0/payload/toolCallId", [call("a"), result("a")], [result("a")]],
    ["/events/0/payload/toolCallId", [call("a"), result("a"), say("x")], [call("a")]],
    ["/events/0/payload/step", [], [step(1, "started")]],
    ["/events/0/payload/step", [], [step(0, "finished")]],
    ["/events/1/payload/step", [], [step(0, "started"), step(0, "started")]],
    ["/events/0/payload/step", [say("x")], [step(0, "started")]],
    ["/events/1/payload/step", [step(0, "started")], [step(1, "started"), step(0, "finished")]],
  ])("R-FEED-5 %s, for what the run has come to", (path, before, events) => {
    const run = before.length > 0 ? pushed(started(), ...before) : started();
    expect(pushedFaults(run.state, checked(events), 0).map((issue) => issue.path)).toEqual([path]);
  });
});
