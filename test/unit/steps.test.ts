// The agent loop by example, on the pure machine: steps and their order, tool calls, limits, failures, restarts, carried decisions, titles.
import { describe, expect, test } from "vitest";
import type { LogEvent } from "../../schemas/event.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { CarriedCall } from "../../schemas/tool.ts";
import type { Agent, Charter } from "../../src/run/state.ts";
import { turnEnd } from "../../src/run/turn-end.ts";
import { turns } from "../../src/run/turns.ts";
import {
  agent,
  begin,
  cancel,
  charter,
  cut,
  done,
  drive,
  fails,
  gives,
  says,
  shown,
  snapshot,
  stopped,
  text,
  type Act,
  type Drive,
} from "./scenarios/drive.ts";

const TOOLS = ["look", "look_again", "ask_first"];
const of = (fields: Partial<Agent> = {}, others: Partial<Charter> = {}, targets = ["a", "b"]): Charter =>
  charter(targets, {
    asks: { promptBytes: 40, tools: true, json: false, clientTools: ["page"] },
    agent: agent(TOOLS, fields),
    ...others,
  });
const call = (toolCallId: string, toolName = "look", input: Record<string, unknown> = {}) => ({
  type: "tool_call" as const,
  toolCallId,
  toolName,
  input,
});
const piece = (toolCallId: string, inputText: string): ProviderEvent => ({
  type: "tool_call_delta",
  toolCallId,
  toolName: "look",
  inputText,
});
const thought = (value: string): ProviderEvent => ({ type: "reasoning", text: value });
const usage = (inputTokens: number, outputTokens: number): ProviderEvent => ({
  type: "usage",
  usage: { inputTokens, outputTokens },
});
const goesOn: ProviderEvent = { type: "verdict", verdict: "complete", stopReason: "continue" };
const answers: Act = says("a", text("Done."), stopped("stop"));
const crash: Act = { type: "crash" };

/** A log in short: what happened, in order. */
const story = ({ events }: Drive): string[] => events.flatMap(line);
function line(event: LogEvent): string[] {
  switch (event.type) {
    case "step":
      return [`step ${event.payload.step} ${event.payload.phase} ${event.payload.finishReason ?? ""}`.trim()];
    case "attempt":
      return [`attempt ${event.payload.attempt} ${event.payload.targetId} ${event.payload.phase}`];
    case "lifecycle":
      return [event.payload.phase];
    case "tool_call":
      return [`call ${event.payload.toolCallId}`];
    case "tool_result":
      return [`result ${event.payload.toolCallId}${event.payload.isError === true ? " error" : ""}`];
    case "content_delta":
      return [`text ${event.payload.text}`];
    case "diagnostic":
      return [`diagnostic ${event.payload.code ?? ""}`];
    case "terminal":
      return [`terminal ${event.payload.outcome}`];
    case "title":
      return [`title ${event.payload.title}`];
    case "content_snapshot":
    case "reasoning_delta":
    case "tool_call_delta":
    case "tool_progress":
    case "preparation_progress":
    case "usage":
    case "context_usage":
    case "max_steps":
    case "retrieval":
      return [event.type];
  }
}
const called = ({ effects }: Drive): string[] =>
  effects.flatMap((effect) => (effect.type === "call" ? [effect.toolCallId] : []));
const opened = ({ effects }: Drive): string[] =>
  effects.flatMap((effect) => (effect.type === "open" ? [effect.target.id] : []));
const results = ({ events }: Drive) => events.flatMap((event) => (event.type === "tool_result" ? [event.payload] : []));
const errorOf = (run: Drive, toolCallId: string): unknown =>
  results(run).find((result) => result.toolCallId === toolCallId)?.output;
const usages = ({ events }: Drive) =>
  events.flatMap((event) => (event.type === "context_usage" ? [event.payload] : []));

describe("a step", () => {
  test("R-STEP-1 R-STEP-2 R-LOG-3 two steps in full, in their order", () => {
    const run = drive(of(), [
      begin,
      says("a", thought("Hm."), text("I look."), call("c1"), usage(10, 5), stopped("tool_calls")),
      gives("c1", { sun: true }),
      says("a", text(" Sun."), usage(20, 5), stopped("stop")),
    ]);
    expect(story(run)).toEqual([
      "provider_selected",
      "step 0 started",
      "attempt 0 a started",
      "attempt 0 a committed",
      "started",
      "reasoning_delta",
      "text I look.",
      "call c1",
      "usage",
      "context_usage",
      "step 0 finished tool_calls",
      "result c1",
      "step 1 started",
      "attempt 1 a started",
      "attempt 1 a committed",
      "text  Sun.",
      "usage",
      "context_usage",
      "step 1 finished stop",
      "terminal completed",
    ]);
    expect(run.outcome).toMatchObject({
      finalText: "I look. Sun.",
      finishReason: "stop",
      stopReason: "stop",
      usage: { inputTokens: 30, outputTokens: 10 },
    });
    expect(run.outcome).not.toHaveProperty("pending");
    expect(run.state.attempts.map(({ attempt, step, status }) => ({ attempt, step, status }))).toEqual([
      { attempt: 0, step: 0, status: "completed" },
      { attempt: 1, step: 1, status: "completed" },
    ]);
  });

  test("R-STEP-1 without an agent a run logs no step, and its calls are the client's", () => {
    const run = drive(charter(["a"]), [begin, says("a", call("c1"), call("c1"), stopped("tool_calls"))]);
    expect(story(run).filter((entry) => !/attempt|call|selected|^started/.test(entry))).toEqual(["terminal completed"]);
    expect(run.outcome).toMatchObject({
      stopReason: "tool_calls",
      pending: [
        { toolCallId: "c1", toolName: "look", execution: "client" },
        { toolCallId: "c1", toolName: "look", execution: "client" },
      ],
    });
  });

  test("R-STEP-2 an answer whose reason is not known ends its step without one; its calls are made", () => {
    expect(story(drive(of(), [begin, says("a", text("x"), done())])).slice(-2)).toEqual([
      "step 0 finished",
      "terminal completed",
    ]);
    const run = drive(of(), [begin, says("a", call("c1"), done())]);
    expect(story(run).at(-1)).toBe("step 0 finished tool_calls");
    expect(called(run)).toEqual(["c1"]);
  });
});

describe("tool calls", () => {
  test("R-STEP-3 calls are made at once when the model has ended, and their results may come in any order", () => {
    const during = [begin, says("a", text("I look."), call("c1"), call("c2"))];
    expect(called(drive(of(), during))).toEqual([]);
    const waiting = drive(of(), [...during, says("a", stopped("tool_calls")), gives("c2", 2)]);
    expect(called(waiting)).toEqual(["c1", "c2"]);
    expect(opened(waiting)).toEqual(["a"]);
    const run = drive(of(), [...during, says("a", stopped("tool_calls")), gives("c2", 2), gives("c1", 1), answers]);
    expect(opened(run)).toEqual(["a", "a"]);
    expect(turns(run.state)).toEqual([
      {
        role: "assistant",
        content: "I look.",
        toolCalls: [
          { toolCallId: "c1", toolName: "look", input: {} },
          { toolCallId: "c2", toolName: "look", input: {} },
        ],
      },
      { role: "tool", toolCallId: "c1", output: 1 },
      { role: "tool", toolCallId: "c2", output: 2 },
      { role: "assistant", content: "Done." },
    ]);
  });

  test("R-STEP-3 the effect has the call's input as the provider gave it, whatever its keys are named", () => {
    const input: Record<string, unknown> = JSON.parse('{"token":"t","constructor":{"__proto__":1}}');
    const run = drive(of(), [begin, says("a", call("c1", "look_again", input), stopped("stop")), crash]);
    const calls = run.effects.filter(({ type }) => type === "call");
    expect(calls).toHaveLength(2);
    for (const made of calls) expect(JSON.stringify(made)).toContain(JSON.stringify(input));
  });

  test("R-STEP-3 R-PROV-25 what a provider wants back with its call goes back with it, also after a restart", () => {
    const echo = { signature: "s" };
    const secret = { token: "t" };
    const run = drive(of(), [
      begin,
      says("a", { ...call("c1"), echo }, { ...call("c2"), echo: secret }, stopped("stop")),
      gives("c1", 1),
      gives("c2", 2),
      crash,
    ]);
    expect(turns(run.state)[0]).toEqual({
      role: "assistant",
      toolCalls: [
        { toolCallId: "c1", toolName: "look", input: {}, echo },
        { toolCallId: "c2", toolName: "look", input: {}, echo: secret },
      ],
    });
  });

  test("R-STEP-3 a failed tool's error goes to the model as one", () => {
    const run = drive(of(), [
      begin,
      says("a", call("c1"), stopped("tool_calls")),
      gives("c1", { success: false, error: "No." }, { isError: true }),
    ]);
    expect(turns(run.state).at(-1)).toEqual({
      role: "tool",
      toolCallId: "c1",
      output: { success: false, error: "No." },
      isError: true,
    });
  });

  test("R-STEP-3 white space alone is no turn, nor is a step that said nothing", () => {
    const blank = drive(of(), [begin, says("a", text("\n"), call("c1"), stopped("stop")), gives("c1", 1)]);
    expect(turns(blank.state)[0]).not.toHaveProperty("content");
    expect(turns(drive(of(), [begin, says("a", text(" "), goesOn)]).state)).toEqual([]);
  });

  test("R-STEP-3 a result for no running call changes nothing, and so does a second one", () => {
    const acts = [begin, says("a", call("c1"), call("p1", "page"), stopped("tool_calls"))];
    const before = drive(of(), acts);
    expect(story(drive(of(), [...acts, gives("nope", 1), gives("p1", 1)]))).toEqual(story(before));
    const twice = drive(of(), [
      begin,
      says("a", call("c1"), call("c2"), stopped("stop")),
      gives("c1", 1),
      gives("c1", 2),
    ]);
    expect(results(twice)).toHaveLength(1);
    expect(results(drive(of(), [begin, says("a", call("c1")), gives("c1", 1)]))).toEqual([]);
  });

  test("R-STEP-3 progress is told while a tool runs, with the fields that it has", () => {
    const task = { type: "tool_progress", label: "On it" } as const;
    const run = drive(of(), [begin, task, says("a", call("c1"), stopped("stop")), task, gives("c1", 1), task]);
    expect(run.events.filter(({ type }) => type === "tool_progress").map(({ payload }) => payload)).toEqual([
      { tasks: [{ id: "task-1", label: "On it", status: "running" }] },
    ]);
  });

  test.each(["length", "content_filter"] as const)(
    "R-STEP-3 of an answer that ends for %s no call is made",
    (reason) => {
      const run = drive(of(), [begin, says("a", text("x"), call("c1"), call("c2", "ask_first"), stopped(reason))]);
      expect(called(run)).toEqual([]);
      const error = "The answer was cut off before this call could be made.";
      for (const id of ["c1", "c2"]) expect(errorOf(run, id)).toEqual({ success: false, error });
      expect(run.outcome).toMatchObject({ outcome: "completed", stopReason: reason });
      expect(story(run).slice(-4)).toEqual([
        `step 0 finished ${reason}`,
        "result c1 error",
        "result c2 error",
        "terminal completed",
      ]);
    },
  );

  test("R-STEP-3 R-OUT-7 the output limit cuts an answer off like that", () => {
    const run = drive(of({}, { maxOutputBytes: 8 }), [begin, says("a", call("c1"), text("Hello there"))]);
    expect(story(run).slice(-6)).toEqual([
      "usage",
      "diagnostic output_limit",
      "context_usage",
      "step 0 finished length",
      "result c1 error",
      "terminal completed",
    ]);
    expect(run.outcome).toMatchObject({ finalText: "Hello ", stopReason: "length" });
    expect(run.aborted).toEqual(["a"]);
  });

  test("R-STEP-3 an output that is nested too deeply for what reads it is an error", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 70; level++) deep = [deep];
    const run = drive(of(), [begin, says("a", call("c1"), stopped("stop")), gives("c1", deep)]);
    expect(results(run)[0]).toMatchObject({ isError: true, output: { success: false } });
  });

  test("R-LOG-6 what looks like a secret in an output travels as JSON text, and is given to the model as it was", () => {
    const renderData = { apiKey: "k" };
    const run = drive(of(), [
      begin,
      says("a", call("c1"), stopped("stop")),
      gives("c1", [{ secret: 1 }], { renderHint: "custom", renderData }),
    ]);
    expect(results(run)[0]).toEqual({
      toolCallId: "c1",
      toolName: "look",
      outputJson: '[{"secret":1}]',
      renderHint: "custom",
      renderDataJson: '{"apiKey":"k"}',
    });
    expect(turns(run.state).at(-1)).toEqual({ role: "tool", toolCallId: "c1", output: [{ secret: 1 }] });
    expect(run.state.finished[0]?.calls[0]?.result).toEqual({
      output: [{ secret: 1 }],
      renderHint: "custom",
      renderData,
    });
  });

  test("R-STEP-7 R-STEP-2 a tool that nobody has gets its result after the step like any other, and the loop goes on", () => {
    const run = drive(of(), [
      begin,
      says("a", call("c1", "nobody"), text("?"), call("c2", "nobody"), usage(10, 5), stopped("tool_calls")),
      answers,
    ]);
    const unknown = { toolName: "nobody", output: { success: false, error: "Unknown tool nobody." }, isError: true };
    expect(results(run)).toEqual([
      { toolCallId: "c1", ...unknown },
      { toolCallId: "c2", ...unknown },
    ]);
    expect(story(run).slice(story(run).indexOf("call c1"), -6)).toEqual([
      "call c1",
      "text ?",
      "call c2",
      "usage",
      "context_usage",
      "step 0 finished tool_calls",
      "result c1 error",
      "result c2 error",
      "step 1 started",
    ]);
    expect(called(run)).toEqual([]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "?Done.", stopReason: "stop" });
  });

  test("R-STEP-7 R-STEP-11 a restart before that result gives it once, as if nothing had been", () => {
    const asked: Act[] = [begin, says("a", call("c1", "nobody"), stopped("tool_calls"))];
    const whole = drive(of(), [...asked, answers]);
    // Lost are the result, the next step's beginning and its attempt; then the latter two; then nothing.
    for (const lost of [3, 2, 0]) {
      const run = drive(of(), [...asked, { type: "crash", lost }, answers]);
      expect(results(run)).toEqual(results(whole));
      expect(turns(run.state)).toEqual(turns(whole.state));
      expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
    }
  });

  test("R-STEP-8 an id that was used before gets a number, in pieces and whole", () => {
    const run = drive(of({ callIds: ["c9", "c9_2"] }), [
      begin,
      says("a", piece("c1", "{"), call("c1"), piece("c1", "{"), piece("c9", "{"), piece("c1", "}"), call("c1")),
      says("a", call("c9"), call("c1"), stopped("stop")),
    ]);
    const ids = run.events.flatMap((event) =>
      event.type === "tool_call" || event.type === "tool_call_delta" ? [event.payload.toolCallId] : [],
    );
    expect(ids).toEqual(["c1", "c1", "c1_2", "c9_3", "c1_2", "c1_2", "c9_3", "c1_3"]);
    expect(run.state.openInputs).toEqual([]);
    const later = drive(of(), [
      begin,
      says("a", call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", call("c1_2"), call("c1"), stopped("stop")),
    ]);
    expect(called(later)).toEqual(["c1", "c1_2", "c1_3"]);
  });

  test("R-STEP-8 ids and names are whole texts, and ids that differ stay different", () => {
    const made = [piece("c\ud800", "{"), piece("c\udbff", "{"), call("c\udbff", "look\ud800"), call("c\ud800")];
    for (const charter of [of(), { ...of(), agent: undefined }]) {
      const run = drive(charter, [begin, says("a", ...made)]);
      expect(run.state.calls.map(({ toolCallId, toolName }) => [toolCallId, toolName])).toEqual([
        ["c\ufffd_2", "look\ufffd"],
        ["c\ufffd", "look"],
      ]);
    }
  });

  test("R-STEP-8 a number is not taken by another call while the pieces of the first still come", () => {
    const run = drive(of({ callIds: ["c1"] }), [begin, says("a", piece("c1", "{"), call("c1_2"), call("c1"))]);
    expect(story(run).filter((entry) => entry.startsWith("call"))).toEqual(["call c1_2_2", "call c1_2"]);
  });
});

describe("ends of the loop", () => {
  test("R-STEP-4 R-OUT-5 a step with calls of the client is the last, once the server's have their results", () => {
    const acts = [begin, says("a", call("c1"), call("p1", "page"), stopped("tool_calls"))];
    expect(drive(of(), acts).outcome).toBeUndefined();
    const run = drive(of(), [...acts, gives("c1", 1)]);
    expect(run.outcome).toMatchObject({
      outcome: "completed",
      finishReason: "stop",
      stopReason: "tool_calls",
      pending: [{ toolCallId: "p1", toolName: "page", execution: "client" }],
    });
    expect(opened(run)).toEqual(["a"]);
  });

  test("R-STEP-4 so is one with a call that needs an approval: nothing runs without it", () => {
    const run = drive(of(), [begin, says("a", call("c1", "ask_first"), call("c2"), stopped("stop")), gives("c2", 1)]);
    expect(called(run)).toEqual(["c2"]);
    expect(run.outcome).toMatchObject({
      stopReason: "tool_calls",
      pending: [{ toolCallId: "c1", toolName: "ask_first", execution: "server", confirmation: "required" }],
    });
  });

  test("R-STEP-5 the last step's calls are made, then the limit is told", () => {
    const run = drive(of({ maxSteps: 1 }), [begin, says("a", text("x"), call("c1"), stopped("stop")), gives("c1", 1)]);
    expect(story(run).slice(-4)).toEqual([
      "step 0 finished tool_calls",
      "result c1",
      "max_steps",
      "terminal completed",
    ]);
    expect(run.events.at(-2)?.payload).toEqual({ maxSteps: 1, canContinue: true });
    expect(run.outcome).toMatchObject({ finishReason: "stop", stopReason: "max_steps" });
  });

  test("R-STEP-5 an answer within the limit knows nothing of it; open calls go before it", () => {
    expect(story(drive(of({ maxSteps: 1 }), [begin, answers]))).not.toContain("max_steps");
    const open = drive(of({ maxSteps: 1 }), [begin, says("a", call("p1", "page"), stopped("stop"))]);
    expect(open.outcome).toMatchObject({ stopReason: "tool_calls" });
    expect(story(open)).not.toContain("max_steps");
  });

  test("R-STEP-5 a model that pauses is asked to go on, within the limit", () => {
    const run = drive(of({ maxSteps: 2 }), [begin, says("a", text("One"), goesOn), says("a", text(", two"), goesOn)]);
    expect(opened(run)).toEqual(["a", "a"]);
    expect(run.outcome).toMatchObject({ finalText: "One, two", stopReason: "max_steps" });
    expect(turns(run.state)[0]).toEqual({ role: "assistant", content: "One" });
  });
});

describe("attempts of a step", () => {
  const twoSteps = (...acts: Act[]): Act[] => [
    begin,
    says("a", fails("overloaded")),
    says("b", text("One."), call("c1"), stopped("tool_calls")),
    gives("c1", 1),
    ...acts,
  ];

  test("R-STEP-6 a step begins with the target that answered the last one, and has the whole chain", () => {
    const run = drive(of({}, {}, ["a", "b", "c"]), twoSteps(says("b", fails("auth")), says("a", fails("auth"))));
    expect(opened(run)).toEqual(["a", "b", "b", "a", "c"]);
    expect(run.state.attempts.map(({ attempt, step }) => `${attempt} ${step}`)).toEqual([
      "0 0",
      "1 0",
      "2 1",
      "3 1",
      "4 1",
    ]);
  });

  test("R-STEP-6 R-FALL-4 an exhausted later step ends the run as the first would", () => {
    const run = drive(of(), twoSteps(says("b", fails("auth")), says("a", fails("auth"))));
    expect(run.outcome).toMatchObject({
      outcome: "error",
      error: { errorClass: "Unavailable", retryable: false },
      partialText: "One.",
    });
    expect(story(run)).not.toContain("step 1 finished");
  });

  test("R-STEP-6 retries begin anew, their budget does not", () => {
    const planned = (fields: Partial<Charter>): Charter => {
      const base = of({}, fields, ["a"]);
      return { ...base, chain: base.chain.map((target) => ({ ...target, retries: 1 })) };
    };
    const limited = says("a", fails("rate_limited", { retryAfterMs: 2000 }));
    const acts: Act[] = [
      begin,
      limited,
      { type: "retry" },
      says("a", call("c1"), stopped("stop")),
      gives("c1", 1),
      limited,
    ];
    expect(drive(planned({}), [...acts, { type: "retry" }, answers]).outcome).toMatchObject({ finalText: "Done." });
    expect(drive(planned({ retryBudgetMs: 2500 }), acts).outcome).toMatchObject({ outcome: "error" });
    // What lies between the steps is no wait.
    expect(drive(planned({}), acts).state.waitedMs).toBe(1000);
  });

  test("R-STEP-6 a later step may be hedged, but not by the clock of an earlier one", () => {
    const run = drive(of({}, { hedgeAfterMs: 500 }), [begin, says("a", call("c1"), stopped("stop")), gives("c1", 1)]);
    const wakes = run.effects.flatMap((effect) => (effect.type === "wake" ? [effect.step] : []));
    expect(wakes).toEqual([0, 1]);
    const hedged = (step: number): string[] =>
      opened(
        drive(of({}, { hedgeAfterMs: 500 }), [
          begin,
          says("a", call("c1"), stopped("stop")),
          gives("c1", 1),
          { type: "hedge", step },
        ]),
      );
    expect(hedged(0)).toEqual(["a", "a"]);
    expect(hedged(1)).toEqual(["a", "a", "b"]);
  });

  const hedgedStep: Act[] = [begin, { type: "hedge" }, says("b", fails("invalid_request"))];
  const hedged = of({}, { hedgeAfterMs: 500 }, ["a", "b", "c"]);

  test("R-STEP-6 R-HEDGE-2 what a target has refused in one step does not end the next", () => {
    const run = drive(hedged, [
      ...hedgedStep,
      says("a", call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", fails("overloaded")),
      says("b", text("Hi"), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Hi" });
  });

  test("R-STEP-6 the time between two steps is no wait, whatever failed in the first", () => {
    const run = drive(hedged, [...hedgedStep, says("a", call("c1"), stopped("stop")), gives("c1", 1)]);
    expect(run.state.waitedMs).toBe(0);
  });

  test("R-STEP-6 R-CONT-5 why an earlier step's first answer broke off does not end a later one", () => {
    const base = of({}, { onMidStreamFailure: "continue", asks: { promptBytes: 1, tools: false, json: false } });
    const plain = { ...base, agent: agent([]), chain: base.chain.map((planned) => ({ ...planned, continues: true })) };
    const run = drive(plain, [
      begin,
      says("a", text("One, "), fails("timeout_idle")),
      says("b", text("two"), goesOn),
      says("b", fails("auth")),
      says("a", fails("auth")),
    ]);
    expect(run.outcome).toMatchObject({
      partialText: "One, two",
      error: { message: "All eligible streaming providers failed." },
    });
  });

  test("R-CONT-4 a run that may call the server's tools begins an answer anew", () => {
    const base = of({}, { onMidStreamFailure: "continue", asks: { promptBytes: 1, tools: false, json: false } });
    const able = { ...base, chain: base.chain.map((planned) => ({ ...planned, continues: true })) };
    const run = drive(able, [begin, says("a", text("One"), cut)]);
    expect(run.effects.filter(({ type }) => type === "open").at(-1)).not.toHaveProperty("prefill");
    expect(run.state.text).toBe("");
  });

  test("R-STEP-10 R-FALL-6 a retraction in a later step keeps the finished ones", () => {
    const run = drive(of({}, { onMidStreamFailure: "retract" }), [
      begin,
      says("a", thought("Hm."), text("One."), call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", thought("Oh."), text("Two"), cut),
      says("b", text("Three."), stopped("stop")),
    ]);
    expect(run.events.find(({ type }) => type === "content_snapshot")?.payload).toEqual({
      text: "One.",
      reasoning: "Hm.",
    });
    expect(shown(run.events)).toEqual({ text: "One.Three.", reasoning: "Hm." });
    expect(run.outcome).toMatchObject({ finalText: "One.Three." });
  });

  test("R-STEP-10 R-FALL-5 a failure in a later step keeps the text of the earlier ones", () => {
    const run = drive(of(), [
      begin,
      says("a", text("One."), call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", text("Two"), cut),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "error", partialText: "One.Two" });
    expect(turnEnd(run.state, { chatId: "chat" })?.steps.map((step) => step.text)).toEqual(["One.", "Two"]);
  });

  test("R-STEP-10 a provider's own statement of its text is that of its step", () => {
    const run = drive(of(), [
      begin,
      says("a", text("One."), call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", snapshot("Tw"), text("o"), done("Two.")),
    ]);
    expect(run.outcome).toMatchObject({ finalText: "One.Two." });
  });
});

describe("context usage", () => {
  const small = (contextTokens: number): Charter => {
    const base = of();
    return {
      ...base,
      chain: base.chain.map((planned) => ({ ...planned, target: { ...planned.target, contextTokens } })),
    };
  };

  test("R-STEP-9 what the provider reports, of the target's window", () => {
    expect(usages(drive(small(3000), [begin, says("a", usage(100, 101), stopped("stop"))]))).toEqual([
      { usedTokens: 201, maxTokens: 3000, percent: 6.7 },
    ]);
    expect(usages(drive(small(100), [begin, says("a", usage(100, 101), stopped("stop"))]))[0]?.percent).toBe(100);
    expect(usages(drive(of(), [begin, says("a", usage(64_000, 0), stopped("stop"))]))).toEqual([
      { usedTokens: 64_000, maxTokens: 128_000, percent: 50 },
    ]);
    const total: ProviderEvent = { type: "usage", usage: { totalTokens: 50 } };
    expect(usages(drive(small(100), [begin, says("a", total, stopped("stop"))]))[0]?.usedTokens).toBe(50);
  });

  test("R-STEP-9 input that is reported apart counts by its latest report, and only beside input and output", () => {
    const counts = { inputTokens: 5, outputTokens: 1 };
    const apart = (tokens: number): ProviderEvent => ({ type: "usage", usage: counts, apart: tokens });
    const used = (...said: ProviderEvent[]) =>
      usages(drive(of(), [begin, says("a", ...said, stopped("stop"))])).map(({ usedTokens }) => usedTokens);
    expect(used(apart(40))).toEqual([46]);
    expect(used(apart(40), apart(30))).toEqual([36]);
    expect(used(apart(40), usage(5, 1))).toEqual([6]);
    expect(used({ type: "usage", usage: { totalTokens: 50 }, apart: 40 })).toEqual([50]);
  });

  test("R-STEP-9 R-USAGE-1 else an estimate, which grows by the turns that are sent again", () => {
    const sent = [begin, says("a", text("12345678"), call("c1"), stopped("stop")), gives("c1", "x".repeat(400))];
    const [first, second] = usages(drive(of(), [...sent, says("a", text("1234"), stopped("stop"))]));
    // 40 bytes of prompt; 8 of text and 2 of input.
    expect(first).toEqual({ usedTokens: 10 + 3, maxTokens: 128_000, percent: 0, estimated: true });
    const again = JSON.stringify(turns(drive(of(), sent).state)).length;
    expect(again).toBeGreaterThan(400);
    expect(second?.usedTokens).toBe(Math.ceil((40 + again) / 4) + 1);
  });

  test("R-STEP-9 R-STEP-1 a step whose attempts failed has none, and is not finished", () => {
    const run = drive(of(), [begin, says("a", text("x"), cut)]);
    expect(usages(run)).toEqual([]);
    expect(story(run).slice(-2)).toEqual(["attempt 0 a failed", "terminal error"]);
  });
});

describe("restarts", () => {
  const calls: Act[] = [begin, says("a", text("I look."), call("c1"), call("c2", "look_again"), stopped("stop"))];
  const interrupted = "The run was interrupted while this tool ran; whether it took effect is not known.";

  test("R-STEP-11 only a call that may be made twice is made again; of another nobody knows", () => {
    const run = drive(of(), [...calls, crash, gives("c2", 2), answers]);
    expect(called(run)).toEqual(["c1", "c2", "c2"]);
    expect(errorOf(run, "c1")).toEqual({ success: false, error: interrupted });
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "I look.Done." });
    // The tool of the dead object had its say: it is not heard twice.
    expect(results(run)).toHaveLength(2);
  });

  test("R-STEP-11 a result that was stored stands", () => {
    const run = drive(of(), [...calls, gives("c1", 1), gives("c2", 2), crash]);
    expect(results(run)).toHaveLength(2);
    expect(opened(run)).toEqual(["a", "a", "a"]);
  });

  test("R-STEP-11 R-DUR-7 too many restarts end the run, and its calls with it", () => {
    const run = drive(of(), [...calls, { type: "crash", recoveries: 4 }]);
    expect(run.outcome).toMatchObject({ outcome: "error", error: { details: { code: "interrupted" } } });
    expect(called(run)).toEqual(["c1", "c2"]);
    expect(results(run)).toHaveLength(2);
  });

  test("R-STEP-11 a run that only has to end completes, however often it was restarted", () => {
    const titled = { title: { provisional: "Words", generate: true } };
    const run = drive(of(titled), [begin, answers, { type: "crash", recoveries: 9 }]);
    expect(run.outcome).toMatchObject({ outcome: "completed", stopReason: "stop", titles: ["Words"] });
  });

  test("R-STEP-11 R-DUR-7 it is the step's own target that is asked again, not the one of the step before", () => {
    const run = drive(of(), [
      begin,
      says("a", call("c1"), stopped("stop")),
      gives("c1", 1),
      says("a", fails("overloaded")),
      crash,
    ]);
    expect(opened(run)).toEqual(["a", "a", "b", "b"]);
  });

  test("R-STEP-11 R-DUR-7 a later step is begun again at its target; the steps before it stand", () => {
    const run = drive(of({}, { onMidStreamFailure: "retract" }), [
      begin,
      says("a", fails("overloaded")),
      says("b", text("One."), call("c1"), stopped("stop")),
      gives("c1", 1),
      says("b", text("Tw")),
      { type: "crash", lost: 2 },
      says("b", text("Two."), stopped("stop")),
    ]);
    expect(opened(run)).toEqual(["a", "b", "b", "b"]);
    expect(run.outcome).toMatchObject({ finalText: "One.Two." });
    expect(run.state.attempts.map(({ step, status }) => `${step} ${status}`)).toEqual([
      "0 failed",
      "0 completed",
      "1 superseded",
      "1 completed",
    ]);
  });
});

describe("ends from outside", () => {
  const running: Act[] = [begin, says("a", call("c1"), call("c2", "ask_first"), call("p1", "page"), stopped("stop"))];
  const unknown = "The run ended while this tool ran; whether it took effect is not known.";
  const undecided = "The run ended before anybody decided on this call; it was not made.";

  test.each<[string, Act]>([
    ["a cancel", cancel("user stopped")],
    ["the total clock", { type: "deadline" }],
  ])("R-STEP-12 R-CANCEL-1 %s while a tool runs gives its call a result first", (_what, act) => {
    const run = drive(of(), [...running, act, gives("c1", 1)]);
    expect(errorOf(run, "c1")).toEqual({ success: false, error: unknown });
    expect(errorOf(run, "c2")).toEqual({ success: false, error: undecided });
    expect(results(run).map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c2"]);
    expect(story(run).slice(-3)).toEqual([
      "result c1 error",
      "result c2 error",
      act.type === "cancel" ? "terminal cancelled" : "terminal error",
    ]);
  });

  test("R-STEP-12 a call that was never made says so", () => {
    const run = drive(of(), [begin, says("a", call("c1"), cut)]);
    expect(errorOf(run, "c1")).toEqual({ success: false, error: "The run ended before this call could be made." });
    expect(run.outcome).toMatchObject({ outcome: "error" });
  });

  test("R-STEP-12 R-CANCEL-4 a call that had come only in part leaves nothing", () => {
    const run = drive(of(), [begin, says("a", piece("c1", "{")), cancel()]);
    expect(results(run)).toEqual([]);
    expect(turnEnd(run.state, { chatId: "chat" })?.steps).toEqual([]);
  });
});

test("R-CONT-2 R-STEP-10 in a step after a paused one a continuation repeats nothing of either", () => {
  const run = drive(
    of(
      { tools: [] },
      { onMidStreamFailure: "continue", begun: "Well: ", asks: { promptBytes: 4, tools: false, json: false } },
    ),
    [
      begin,
      says("a", text("Once upon "), goesOn),
      says("a", text("a ti"), fails("reset")),
      says("b", text("Well: Once upon a time there was a king."), stopped("stop")),
    ],
  );
  expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was a king." });
});

describe("carried calls", () => {
  const carried = (toolCallId: string, decision: CarriedCall["decision"], toolName = "ask_first"): CarriedCall => ({
    toolCallId,
    toolName,
    input: { id: toolCallId },
    execution: "server",
    confirmation: "required",
    decision,
  });

  test("R-STEP-13 decisions are carried out before any model is asked", () => {
    const acts = [begin, gives("c1", { ok: true })];
    const charterOf = of({ carried: [carried("c1", "approve"), carried("c2", "deny")] });
    expect(opened(drive(charterOf, [begin]))).toEqual([]);
    const run = drive(charterOf, [...acts, answers]);
    expect(run.effects).toContainEqual({
      type: "call",
      toolCallId: "c1",
      toolName: "ask_first",
      input: { id: "c1" },
    });
    expect(results(run)).toEqual([
      {
        toolCallId: "c2",
        toolName: "ask_first",
        output: {
          success: false,
          denied: true,
          error: "The user denied this action and it was not executed.",
        },
        decision: "deny",
      },
      { toolCallId: "c1", toolName: "ask_first", output: { ok: true }, decision: "approve" },
    ]);
    expect(story(run).slice(0, 5)).toEqual([
      "provider_selected",
      "result c2",
      "result c1",
      "step 0 started",
      "attempt 0 a started",
    ]);
    expect(turns(drive(charterOf, acts).state)).toEqual([
      { role: "tool", toolCallId: "c1", output: { ok: true } },
      { role: "tool", toolCallId: "c2", output: expect.objectContaining({ denied: true }) },
    ]);
  });

  test("R-STEP-13 progress of their calls says that it is of an earlier run", () => {
    const task = { type: "tool_progress", label: "On it" } as const;
    const acts: Act[] = [begin, task, gives("c1", 1), says("a", call("c2"), stopped("stop")), task];
    const run = drive(of({ carried: [carried("c1", "approve")] }), acts);
    const progress = run.events.flatMap(({ type, payload }) => (type === "tool_progress" ? [payload.carried] : []));
    expect(progress).toEqual([true, undefined]);
  });

  test("R-STEP-13 while some are undecided no model is asked", () => {
    const run = drive(of({ carried: [carried("c1", "approve"), carried("c2", "undecided")] }), [begin, gives("c1", 1)]);
    expect(opened(run)).toEqual([]);
    expect(run.outcome).toMatchObject({
      outcome: "completed",
      finalText: "",
      stopReason: "tool_calls",
      pending: [{ toolCallId: "c2", toolName: "ask_first", execution: "server", confirmation: "required" }],
    });
    expect(run.outcome).not.toHaveProperty("usage");
    expect(turnEnd(run.state, { chatId: "chat" })).toMatchObject({ steps: [], carried: [{ toolCallId: "c1" }, {}] });
  });

  test("R-STEP-13 R-STEP-7 an approved call whose tool is gone gets an error, and the model hears of it", () => {
    const run = drive(of({ carried: [carried("c1", "approve", "gone")] }), [begin, answers]);
    expect(errorOf(run, "c1")).toEqual({ success: false, error: "Unknown tool gone." });
    expect(run.outcome).toMatchObject({ finalText: "Done." });
  });

  test("R-STEP-13 R-STEP-11 R-STEP-12 progress, a restart and a cancel meanwhile", () => {
    const charterOf = of({ carried: [carried("c1", "approve")] });
    const restarted = drive(charterOf, [begin, crash, answers]);
    expect(called(restarted)).toEqual(["c1"]);
    expect(results(restarted)).toMatchObject([{ isError: true, decision: "approve" }]);
    expect(restarted.outcome).toMatchObject({ finalText: "Done." });
    const told = drive(charterOf, [begin, { type: "tool_progress", label: "On it" }]);
    expect(told.events.at(-1)?.payload).toMatchObject({ carried: true });
    const cancelled = drive(charterOf, [begin, cancel()]);
    expect(results(cancelled)).toMatchObject([{ isError: true, decision: "approve" }]);
    const both = of({ carried: [carried("c1", "approve"), carried("c2", "undecided")] });
    expect(results(drive(both, [begin, cancel()])).map(({ toolCallId }) => toolCallId)).toEqual(["c1"]);
  });

  test("R-STEP-13 R-STEP-8 a new call does not take the id of a carried one", () => {
    const run = drive(of({ carried: [carried("c1", "deny")] }), [begin, says("a", call("c1"), stopped("stop"))]);
    expect(called(run)).toEqual(["c1_2"]);
  });
});

describe("titles", () => {
  const titled = (provisional = "Words"): Charter => of({ title: { provisional, generate: true } });
  const asked = ({ effects }: Drive): number => effects.filter(({ type }) => type === "title").length;
  const waits = ({ effects }: Drive): boolean =>
    effects.some((effect) => effect.type === "wake" && effect.input === "title" && effect.ms === 3000);

  test("R-TITLE-1 the provisional one comes first, a better one is asked for at the first output", () => {
    expect(asked(drive(titled(), [begin]))).toBe(0);
    const run = drive(titled(), [begin, says("a", text("x")), { type: "title", title: "Better" }, answers]);
    expect(story(run)[1]).toBe("title Words");
    expect(asked(run)).toBe(1);
    expect(waits(run)).toBe(false);
    expect(run.outcome).toMatchObject({ titles: ["Words", "Better"] });
  });

  test("R-TITLE-1 a completed answer waits for it", () => {
    const waiting = drive(titled(), [begin, answers]);
    expect(waiting.outcome).toBeUndefined();
    expect(waits(waiting)).toBe(true);
    const named = drive(titled(), [begin, answers, { type: "title", title: "Better" }]);
    expect(story(named).slice(-3)).toEqual(["step 0 finished stop", "title Better", "terminal completed"]);
    const unnamed = drive(titled(), [begin, answers, { type: "title" }, { type: "title", title: "Late" }]);
    expect(unnamed.outcome).toMatchObject({ outcome: "completed", titles: ["Words"] });
  });

  test("R-TITLE-1 one that says nothing new is not logged", () => {
    for (const title of ["Words", ""]) {
      const run = drive(titled(), [begin, answers, { type: "title", title }]);
      expect(run.outcome).toMatchObject({ outcome: "completed", titles: ["Words"] });
    }
  });

  test("R-TITLE-1 a failure and a cancel do not wait; the total clock completes what only waits", () => {
    const failed = drive(titled(), [begin, says("a", text("x")), says("a", cut)]);
    expect(failed.outcome).toMatchObject({ outcome: "error", titles: ["Words"] });
    const cancelled = drive(titled(), [begin, answers, cancel("stop")]);
    expect(cancelled.outcome).toMatchObject({ outcome: "cancelled", titles: ["Words"] });
    const late = drive(titled(), [begin, answers, { type: "deadline" }]);
    expect(late.outcome).toMatchObject({ outcome: "completed", finalText: "Done." });
  });

  test("R-TITLE-1 a run that fails with its first words asks for none", () => {
    expect(asked(drive(titled(), [begin, says("a", text("x"), cut)]))).toBe(0);
  });

  test("R-TITLE-1 a chat that has its title asks for none, and a title that is unasked for changes nothing", () => {
    const run = drive(of({ title: { provisional: "Known", generate: false } }), [
      begin,
      says("a", text("x")),
      { type: "title", title: "Other" },
      answers,
    ]);
    expect(asked(run)).toBe(0);
    expect(run.outcome).toMatchObject({ titles: ["Known"] });
    expect(drive(of(), [begin, answers]).outcome).not.toHaveProperty("titles");
  });
});

describe("a reader that cannot replace text", () => {
  const fixed = (onMidStreamFailure: Charter["onMidStreamFailure"]): Charter => {
    const base = of(
      {},
      { replaces: false, onMidStreamFailure, agent: agent([]), asks: { promptBytes: 1, tools: false, json: false } },
    );
    return { ...base, chain: base.chain.map((planned) => ({ ...planned, continues: true })) };
  };

  test.each(["retract", "continue"] as const)("R-DIAL-1 %s acts as fail, also after a restart", (policy) => {
    const run = drive(fixed(policy), [begin, says("a", text("Hello"), cut)]);
    expect(opened(run)).toEqual(["a"]);
    expect(run.outcome).toMatchObject({ outcome: "error", partialText: "Hello" });
    const restarted = drive(fixed(policy), [begin, says("a", text("Hello")), crash]);
    expect(restarted.outcome).toMatchObject({ outcome: "error", error: { details: { code: "interrupted" } } });
  });

  test("R-DIAL-1 a failure before the first output still falls back", () => {
    const run = drive(fixed("retract"), [
      begin,
      says("a", fails("overloaded")),
      says("b", text("Hi"), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Hi" });
  });

  test("R-DIAL-1 R-OUT-6 a final text only goes on from what is shown", () => {
    const longer = drive(fixed("fail"), [begin, says("a", text("Hel"), snapshot("Hell"), done("Hello"))]);
    expect(story(longer).filter((entry) => entry.startsWith("text"))).toEqual(["text Hel", "text l", "text o"]);
    expect(longer.outcome).toMatchObject({ finalText: "Hello" });
    const other = drive(fixed("fail"), [begin, says("a", text("Hel"), done("Bye"))]);
    expect(story(other)).toContain("diagnostic final_text_differs");
    expect(story(other)).not.toContain("content_snapshot");
    expect(other.outcome).toMatchObject({ outcome: "completed", finalText: "Hel" });
  });
});

test("R-LOG-3 servers whose tools cannot be had are told of before anything is asked", () => {
  const run = drive(of({ title: { provisional: "Words", generate: false } }), [
    { type: "start", unavailable: ["mcp"] },
  ]);
  expect(story(run).slice(0, 4)).toEqual([
    "provider_selected",
    "title Words",
    "diagnostic tools_unavailable",
    "step 0 started",
  ]);
  expect(run.events[2]?.payload).toEqual({ code: "tools_unavailable", server: "mcp" });
});
