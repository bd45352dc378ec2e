// What follows a failed attempt, decided by the pure machine: another try, another target, a continuation, a hedge, or the end.
import { describe, expect, test } from "vitest";
import { failureClassSchema, type FailureClass } from "../../schemas/failure.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Charter } from "../../src/run/state.ts";
import {
  begin,
  cancel,
  charter,
  cut,
  drive,
  fails,
  says,
  shown,
  stopped,
  text,
  type Act,
  type Drive,
} from "./scenarios/drive.ts";

const call: ProviderEvent = { type: "tool_call", toolCallId: "c", toolName: "t", input: {} };
const piece: ProviderEvent = { type: "tool_call_delta", toolCallId: "c", toolName: "t", inputText: "{" };
const retry: Act = { type: "retry" };
const hedge: Act = { type: "hedge" };

function of(ids: readonly string[], fields: Partial<Charter> = {}, planned: Record<string, unknown> = {}): Charter {
  const base = charter(ids, fields);
  return { ...base, chain: base.chain.map((target) => ({ ...target, ...planned })) };
}
const waits = ({ effects }: Drive) =>
  effects.flatMap((effect) => (effect.type === "wake" && effect.input === "retry" ? [effect] : []));
const opened = ({ effects }: Drive) =>
  effects.flatMap((effect) => (effect.type === "open" ? [{ id: effect.target.id, prefill: effect.prefill }] : []));
const statuses = ({ state }: Drive) => state.attempts.map(({ targetId, status }) => `${targetId} ${status}`);

describe("retries", () => {
  const once = of(["a"], {}, { retries: 1 });
  const passing: FailureClass[] = [
    "rate_limited",
    "overloaded",
    "upstream_5xx",
    "bad_gateway_page",
    "connect",
    "reset",
  ];

  test.each(failureClassSchema.options)("R-RETRY-1 a last target that failed as %s", (failureClass) => {
    const run = drive(once, [begin, says("a", fails(failureClass)), retry]);
    expect(opened(run)).toHaveLength(passing.includes(failureClass) ? 2 : 1);
    expect(run.state.phase).toBe(passing.includes(failureClass) ? "running" : "sealed");
  });

  test("R-RETRY-1 R-FALL-2 while another target is left, a failed one is not tried again", () => {
    const run = drive(of(["a", "b"], {}, { retries: 1 }), [
      begin,
      says("a", fails("overloaded")),
      says("b", fails("overloaded")),
      retry,
      says("a", text("x"), stopped("stop")),
    ]);
    // The one that has had its moment comes first.
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "b", "a"]);
    expect(statuses(run)).toEqual(["a failed", "b failed", "a completed"]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "x" });
  });

  test.each<FailureClass>(["auth", "truncated", "overloaded"])(
    "R-RETRY-1 a target that may be tried again is, also when the last one failed as %s",
    (failureClass) => {
      const chain = of(["a", "b"], {}, { retries: 1 });
      const run = drive(chain, [begin, says("a", fails("overloaded")), says("b", fails(failureClass))]);
      expect(opened(run).map(({ id }) => id)).toEqual(["a", "b", "a"]);
    },
  );

  test("R-RETRY-1 tries are counted: two retries are three attempts, and then the end", () => {
    const fail = says("a", fails("overloaded"));
    const run = drive(of(["a"], {}, { retries: 2 }), [begin, fail, retry, fail, retry, fail, retry]);
    expect(opened(run)).toHaveLength(3);
    expect(run.outcome).toMatchObject({ outcome: "error", error: { errorClass: "Unavailable", retryable: true } });
  });

  test("R-RETRY-2 without a word of the provider the wait doubles, half of it chance, up to eight seconds", () => {
    const fail = says("a", fails("overloaded"));
    const patient = of(["a"], { retryBudgetMs: 3_600_000 }, { retries: 5 });
    const run = drive(patient, [begin, fail, retry, fail, retry, fail, retry, fail, retry, fail]);
    expect(waits(run).map(({ ms, spreadMs }) => [ms, spreadMs])).toEqual([
      [250, 250],
      [500, 500],
      [1000, 1000],
      [2000, 2000],
      [4000, 4000],
    ]);
  });

  test("R-RETRY-2 a hint is waited for, exactly", () => {
    const run = drive(once, [begin, says("a", fails("rate_limited", { retryAfterMs: 1234 }))]);
    expect(waits(run)).toMatchObject([{ ms: 1234, spreadMs: 0 }]);
    expect(run.outcome).toBeUndefined();
  });

  test.each<[string, Partial<Charter>]>([
    ["the retry budget", { retryBudgetMs: 4999 }],
    ["the total clock", { totalMs: 6000 }],
  ])("R-RETRY-2 a hint beyond %s ends the run with the hint", (_what, fields) => {
    const limited = of(["a"], fields, { retries: 1 });
    const run = drive(limited, [begin, says("a", fails("rate_limited", { retryAfterMs: 5000 }))]);
    expect(waits(run)).toEqual([]);
    expect(run.outcome).toMatchObject({ outcome: "error", error: { retryable: true, retryAfterMs: 5000 } });
  });

  test("R-RETRY-2 all waits of a run share one budget", () => {
    const limited = of(["a"], { retryBudgetMs: 1500 }, { retries: 5 });
    const fail = says("a", fails("rate_limited", { retryAfterMs: 1000 }));
    const run = drive(limited, [begin, fail, retry, fail, retry]);
    expect(opened(run)).toHaveLength(2);
    expect(run.outcome).toMatchObject({ outcome: "error" });
  });

  test("R-RETRY-3 a cancel during the wait ends the run, and the retry that comes late does nothing", () => {
    const run = drive(once, [begin, says("a", fails("overloaded")), cancel("enough"), retry]);
    expect(run.outcome).toMatchObject({ outcome: "cancelled", reason: "enough" });
    expect(opened(run)).toHaveLength(1);
  });

  test("R-RETRY-2 R-RETRY-3 R-DUR-7 after a restart the rest of the wait is waited for, and all of it counts", () => {
    const hint = fails("rate_limited", { retryAfterMs: 5000 });
    const patient = of(["a"], { retryBudgetMs: 8000 }, { retries: 3 });
    const run = drive(patient, [begin, says("a", hint), { type: "crash" }, retry]);
    expect(waits(run).map(({ ms }) => ms)).toEqual([5000, 4000]);
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "a"]);
    const again = drive(patient, [begin, says("a", hint), { type: "crash" }, retry, says("a", hint)]);
    // Two seconds were waited; five more fit, five after that would not.
    expect(again.state.waitedMs).toBe(2000);
    expect(again.outcome).toBeUndefined();
  });

  test.each(["retract", "continue"] as const)("R-RETRY-1 R-FALL-6 after the commit point with %s, too", (policy) => {
    const run = drive(of(["a"], { onMidStreamFailure: policy }, { retries: 1 }), [
      begin,
      says("a", text("Once upon a "), fails("reset")),
      retry,
      says("a", text(policy === "retract" ? "Once upon a time" : "time"), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Once upon a time" });
    expect(shown(run.events).text).toBe("Once upon a time");
  });
});

describe("continuation", () => {
  const going = (fields: Partial<Charter> = {}, planned: Record<string, unknown> = {}): Charter =>
    of(["a", "b", "c"], { onMidStreamFailure: "continue", ...fields }, planned);
  const broken = says("a", text("Once upon a time"), fails("timeout_idle"));

  test("R-CONT-1 the next target goes on from the shown text, which stays", () => {
    const run = drive(going(), [begin, broken, says("b", text(" there was"), text(" a king."), stopped("stop"))]);
    expect(opened(run)).toEqual([
      { id: "a", prefill: undefined },
      { id: "b", prefill: "Once upon a time" },
    ]);
    expect(run.events.filter(({ type }) => type === "content_snapshot")).toEqual([]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Once upon a time there was a king." });
    const started = run.events.filter(
      ({ type, payload }) => type === "attempt" && Reflect.get(payload, "phase") === "started",
    );
    expect(started.map(({ payload }) => Reflect.get(payload, "continues"))).toEqual([undefined, true]);
  });

  test("R-CONT-2 what the continuation repeats is shown once", () => {
    const run = drive(going(), [
      begin,
      broken,
      says("b", text("upon"), text(" a ti"), text("me there was"), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was" });
  });

  test("R-CONT-2 a continuation that is held back to the end is not lost", () => {
    const run = drive(going(), [begin, broken, says("b", text(" "), stopped("stop"))]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Once upon a time " });
    const repeated = drive(going(), [begin, broken, says("b", text("a time"), stopped("stop"))]);
    expect(repeated.outcome).toMatchObject({ outcome: "completed", finalText: "Once upon a time" });
  });

  test("R-CONT-2 R-OUT-6 a stated final text that was joined changes nothing, with or without a restart before", () => {
    const says2 = (stated: string): ProviderEvent[] => [
      text(stated),
      { type: "verdict", verdict: "complete", stopReason: "stop", finalText: stated },
    ];
    const fence = drive(going(), [
      begin,
      says("a", text("x\n```js\nlet a = 1"), fails("reset")),
      says("b", ...says2("```js\nlet b = 2")),
    ]);
    expect(fence.outcome).toMatchObject({ finalText: "x\n```js\nlet a = 1let b = 2" });
    const restart = drive(going(), [
      begin,
      says("a", text("The first half")),
      { type: "crash" },
      says("a", ...says2(" and the second.")),
    ]);
    expect(restart.outcome).toMatchObject({ outcome: "completed", finalText: "The first half and the second." });
  });

  test.each<[string, string, string, string]>([
    ["all of it", "Hello, big ", "Hello, big world, all new", "world, all new"],
    ["its end", "Hello, big ", "big world, all new", "world, all new"],
    ["nothing", "Hello, big ", "ld, all new", "world, all new"],
  ])(
    "R-CONT-1 R-CONT-2 of text that the conversation ends in, a continuation that repeats %s shows what is new",
    (_what, begun, said, whole) => {
      const run = drive(going({ begun }), [
        begin,
        says("a", text("wor"), fails("reset")),
        says("b", text(said), stopped("stop")),
      ]);
      expect(opened(run)[1]).toEqual({ id: "b", prefill: "wor" });
      expect(run.outcome).toMatchObject({ finalText: whole });
      const done: ProviderEvent = { type: "verdict", verdict: "complete", stopReason: "stop", finalText: said };
      const stated = drive(going({ begun }), [
        begin,
        says("a", text("wor"), fails("reset")),
        says("b", text(said), done),
      ]);
      expect(stated.outcome).toMatchObject({ finalText: whole });
      expect(stated.events.filter(({ type }) => type === "content_snapshot")).toEqual([]);
    },
  );

  test("R-CONT-2 an answer begun anew in other words replaces what this run has shown, and does not repeat what stood before", () => {
    const begun = "The lighthouse keeper wrote everything down, because ";
    const run = drive(going({ begun }), [
      begin,
      says("a", text("the sea"), fails("reset")),
      says("b", text(`${begun}nobody believed him.`), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ finalText: "nobody believed him." });
  });

  test("R-CONT-2 reasoning before the continuation settles nothing about its text", () => {
    const thinks: ProviderEvent = { type: "reasoning", text: "hm" };
    const run = drive(going(), [
      begin,
      broken,
      says("b", thinks, text("upon a time"), text(" there was"), stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was" });
  });

  test("R-CONT-2 R-OUT-6 a stated final text of the second part changes nothing", () => {
    const done: ProviderEvent = {
      type: "verdict",
      verdict: "complete",
      stopReason: "stop",
      finalText: "a time there was",
    };
    const run = drive(going(), [begin, broken, says("b", text("a time there was"), done)]);
    expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was" });
    expect(run.events.filter(({ type }) => type === "content_snapshot")).toEqual([]);
  });

  test("R-CONT-3 an unfinished character is withdrawn before the next target goes on", () => {
    const run = drive(going(), [
      begin,
      says("a", text("family: 👨\u200D"), fails("reset")),
      says("b", text("👨\u200D👩\u200D👧"), stopped("stop")),
    ]);
    expect(opened(run)[1]).toEqual({ id: "b", prefill: "family:" });
    expect(run.events.filter(({ type }) => type === "content_snapshot")).toMatchObject([
      { payload: { text: "family: " } },
    ]);
    expect(run.outcome).toMatchObject({ finalText: "family: 👨\u200D👩\u200D👧" });
  });

  test.each<[string, Charter, ProviderEvent[]]>([
    ["a target that does not go on", going({}, { continues: false }), [text("x")]],
    ["a request with tools", going({ asks: { promptBytes: 4, tools: true, json: false } }), [text("x")]],
    ["part of a tool call", going(), [text("x"), piece]],
    ["reasoning without text", going(), [{ type: "reasoning", text: "hm" }]],
    ["white space alone", going(), [text(" \n")]],
  ])("R-CONT-4 %s makes it a retraction", (_what, charterOf, events) => {
    const run = drive(charterOf, [
      begin,
      says("a", ...events, fails("reset")),
      says("b", text("whole"), stopped("stop")),
    ]);
    expect(opened(run)[1]).toEqual({ id: "b", prefill: undefined });
    expect(shown(run.events)).toEqual({ text: "whole", reasoning: "" });
  });

  test("R-CONT-4 a target that refuses the continuation is asked again from the beginning", () => {
    const run = drive(going(), [
      begin,
      broken,
      says("b", fails("invalid_request")),
      says("b", text("A king was."), stopped("stop")),
    ]);
    expect(opened(run)).toEqual([
      { id: "a", prefill: undefined },
      { id: "b", prefill: "Once upon a time" },
      { id: "b", prefill: undefined },
    ]);
    expect(shown(run.events).text).toBe("A king was.");
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "A king was." });
  });

  test("R-CONT-5 when all fail, the failure that broke the answer first is the run's, not a refusal of the continuation", () => {
    const refuse = fails("invalid_request", { httpStatus: 400 });
    const run = drive(going(), [
      begin,
      broken,
      says("b", refuse),
      says("b", fails("auth")),
      says("c", fails("overloaded")),
    ]);
    expect(run.outcome).toMatchObject({
      outcome: "error",
      partialText: "",
      error: { errorClass: "Timeout", details: { failureClass: "timeout_idle" } },
    });
    const kept = drive(going(), [begin, broken, says("b", fails("overloaded")), says("c", fails("auth"))]);
    expect(kept.outcome).toMatchObject({
      outcome: "error",
      partialText: "Once upon a time",
      error: { errorClass: "Timeout" },
    });
  });

  test("R-CONT-5 R-DUR-7 a restart does not hide the first failure", () => {
    const run = drive(going(), [begin, broken, { type: "crash" }, says("b", fails("auth")), says("c", fails("auth"))]);
    expect(run.outcome).toMatchObject({ error: { errorClass: "Timeout", details: { failureClass: "timeout_idle" } } });
  });

  test("R-CONT-1 a second break goes on from all that is shown", () => {
    const run = drive(going(), [
      begin,
      broken,
      says("b", text(" there was"), cut),
      says("c", text(" a king."), stopped("stop")),
    ]);
    expect(opened(run)[2]).toEqual({ id: "c", prefill: "Once upon a time there was" });
    expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was a king." });
  });

  test("R-CONT-4 R-FALL-6 never past a delivered tool call", () => {
    const run = drive(going(), [begin, says("a", text("x"), call, fails("reset"))]);
    expect(run.outcome).toMatchObject({ outcome: "error", partialText: "x" });
    expect(opened(run)).toHaveLength(1);
  });

  test("R-DUR-7 R-CONT-1 after a restart of ours the same target goes on", () => {
    const run = drive(going(), [
      begin,
      says("a", text("Once upon")),
      { type: "crash", lost: 3 },
      says("a", text(" a time"), stopped("stop")),
    ]);
    expect(opened(run)[1]).toEqual({ id: "a", prefill: "Once upon" });
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Once upon a time" });
    expect(shown(run.events).text).toBe("Once upon a time");
  });

  test("R-DUR-7 R-CONT-1 nor does a restart while another target goes on lose the text, or double it", () => {
    const run = drive(going(), [begin, broken, { type: "crash" }, says("b", text(" there was"), stopped("stop"))]);
    expect(opened(run).at(-1)).toEqual({ id: "b", prefill: "Once upon a time" });
    expect(run.outcome).toMatchObject({ finalText: "Once upon a time there was" });
  });
});

describe("hedging", () => {
  const hedged = of(["a", "b", "c"], { hedgeAfterMs: 700 });
  const asked = (run: Drive) => run.effects.filter(({ type }) => type === "wake");

  test("R-HEDGE-1 the machine asks to be woken, once, and only where the run may hedge", () => {
    expect(asked(drive(hedged, [begin]))).toEqual([{ type: "wake", input: "hedge", ms: 700, spreadMs: 0 }]);
    expect(asked(drive(of(["a"], { hedgeAfterMs: 700 }), [begin]))).toEqual([]);
    expect(asked(drive(of(["a", "b"]), [begin]))).toEqual([]);
    expect(opened(drive(of(["a", "b"]), [begin, hedge]))).toHaveLength(1);
  });

  test.each([
    ["a", "b"],
    ["b", "a"],
  ])("R-HEDGE-2 %s shows something first: %s is superseded, closed and charged for its request", (winner, loser) => {
    const run = drive(hedged, [
      begin,
      hedge,
      says(winner, text("x")),
      says(loser, text("y")),
      says(winner, stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "x", provenance: { targetId: winner } });
    expect(run.aborted).toEqual([loser]);
    expect(statuses(run).toSorted()).toEqual([`${winner} completed`, `${loser} superseded`].toSorted());
    const record = run.state.attempts.find(({ targetId }) => targetId === loser);
    expect(record?.usage).toEqual({ inputTokens: 10, outputTokens: 0, totalTokens: 10, estimated: true });
    expect(run.outcome?.provenance?.fallbackOccurred).toBe(winner === "b");
  });

  test("R-HEDGE-2 one fails while the other is asked: the run goes on with that one alone", () => {
    const run = drive(hedged, [begin, hedge, says("a", fails("overloaded")), says("b", text("x"), stopped("stop"))]);
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "x" });
  });

  test.each(["invalid_request", "content_policy"] as const)(
    "R-FALL-3 R-HEDGE-2 one is refused as %s and the other fails: the refusal ends the run, unchanged",
    (failureClass) => {
      const run = drive(hedged, [begin, hedge, says("a", fails(failureClass)), says("b", fails("overloaded"))]);
      expect(opened(run).map(({ id }) => id)).toEqual(["a", "b"]);
      expect(run.outcome).toMatchObject({ outcome: "error", error: { details: { failureClass } } });
      const saved = drive(hedged, [
        begin,
        hedge,
        says("a", fails(failureClass)),
        says("b", text("x"), stopped("stop")),
      ]);
      expect(saved.outcome).toMatchObject({ outcome: "completed", finalText: "x" });
    },
  );

  test("R-HEDGE-2 R-FALL-2 both fail: the next target, none twice", () => {
    const run = drive(hedged, [
      begin,
      hedge,
      says("b", fails("overloaded")),
      says("a", fails("overloaded")),
      says("c", text("x"), stopped("stop")),
    ]);
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(run.outcome).toMatchObject({ outcome: "completed", provenance: { targetId: "c" } });
  });

  test.each<[string, Act[]]>([
    ["after the first output", [begin, says("a", text("x")), hedge]],
    ["after a fallback", [begin, says("a", fails("overloaded")), hedge]],
    ["twice", [begin, hedge, hedge]],
    ["after the end", [begin, cancel(), hedge]],
  ])("R-HEDGE-1 no further target is asked %s", (_what, acts) => {
    const before = opened(drive(hedged, acts.slice(0, -1)));
    expect(opened(drive(hedged, acts))).toEqual(before);
  });

  test("R-CANCEL-2 R-HEDGE-2 a cancel closes both", () => {
    const run = drive(hedged, [begin, hedge, cancel()]);
    expect(run.aborted).toEqual(["a", "b"]);
    expect(statuses(run)).toEqual(["a cancelled", "b cancelled"]);
  });

  test("R-HEDGE-2 R-FALL-2 when the winner breaks off, a target that was never asked comes before one that lost", () => {
    const run = drive(of(["a", "b", "c"], { hedgeAfterMs: 700, onMidStreamFailure: "retract" }), [
      begin,
      hedge,
      says("b", text("x"), fails("reset")),
      says("c", fails("overloaded")),
    ]);
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "b", "c", "a"]);
  });

  test("R-HEDGE-2 a target that lost is still there when the winner breaks off", () => {
    const run = drive(of(["a", "b"], { hedgeAfterMs: 700, onMidStreamFailure: "retract" }), [
      begin,
      hedge,
      says("b", text("x"), fails("reset")),
      says("a", text("y"), stopped("stop")),
    ]);
    expect(opened(run).map(({ id }) => id)).toEqual(["a", "b", "a"]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "y" });
  });

  test("R-DUR-7 R-HEDGE-2 a restart gives both up and asks one", () => {
    const run = drive(hedged, [begin, hedge, { type: "crash" }]);
    expect(statuses(run).slice(0, 2)).toEqual(["a superseded", "b superseded"]);
    expect(opened(run)).toHaveLength(3);
    // That one may be slow as well.
    expect(asked(run)).toHaveLength(2);
    expect(opened(drive(hedged, [begin, hedge, { type: "crash" }, hedge]))).toHaveLength(4);
  });
});

describe("what is charged", () => {
  test("R-USAGE-1 an attempt cut off after its first output is charged by an estimate, and the sum says so", () => {
    const run = drive(of(["a", "b"], { onMidStreamFailure: "retract" }), [
      begin,
      says("a", text("x".repeat(41)), fails("reset")),
      says("b", text("y"), { type: "usage", usage: { inputTokens: 7, outputTokens: 1 } }, stopped("stop")),
    ]);
    expect(run.state.attempts.map(({ usage }) => usage)).toEqual([
      { inputTokens: 10, outputTokens: 11, totalTokens: 21, estimated: true },
      { inputTokens: 7, outputTokens: 1 },
    ]);
    // A total of some attempts would be none.
    expect(run.outcome?.usage).toEqual({ inputTokens: 17, outputTokens: 12, estimated: true });
  });

  test("R-USAGE-1 what the provider had reported by then is taken instead", () => {
    const usage = { inputTokens: 9, outputTokens: 2, totalTokens: 11 };
    const run = drive(of(["a"]), [begin, says("a", text("x"), { type: "usage", usage }, fails("reset"))]);
    expect(run.outcome?.usage).toEqual(usage);
  });

  test("R-USAGE-1 a restart charges what it gave up; a continuation is charged for the text it was sent", () => {
    const restarted = drive(of(["a"], { onMidStreamFailure: "retract" }), [
      begin,
      says("a", text("x".repeat(40))),
      { type: "crash" },
    ]);
    expect(restarted.state.attempts[0]?.usage).toMatchObject({ inputTokens: 10, outputTokens: 10, estimated: true });
    const continued = drive(of(["a", "b"], { onMidStreamFailure: "continue" }), [
      begin,
      says("a", text("x".repeat(400)), fails("reset")),
      says("b", text("yyyy"), cut),
    ]);
    expect(continued.state.attempts[1]?.usage).toMatchObject({ inputTokens: 110, outputTokens: 1 });
  });

  test("R-USAGE-1 an answer begun anew is charged for what is new of it", () => {
    const story = "The lighthouse keeper wrote everything down, because the sea forgets. ";
    const run = drive(of(["a", "b"], { onMidStreamFailure: "continue" }), [
      begin,
      says("a", text(`${story}Every`), fails("reset")),
      says("b", text(`${story.slice(0, 60)}${"another ".repeat(10)}`), cut),
    ]);
    expect(run.state.attempts[1]?.usage?.["outputTokens"]).toBe(20);
  });

  test("R-USAGE-2 a failure before any output, and a complete answer without a report, are not estimated", () => {
    const run = drive(of(["a", "b"]), [begin, says("a", fails("overloaded")), says("b", text("x"), stopped("stop"))]);
    expect(run.outcome).not.toHaveProperty("usage");
  });

  test("R-USAGE-1 a cancel in the middle of an answer is charged", () => {
    const run = drive(of(["a"]), [begin, says("a", text("four")), cancel()]);
    expect(run.outcome?.usage).toEqual({ inputTokens: 10, outputTokens: 1, totalTokens: 11, estimated: true });
  });
});
