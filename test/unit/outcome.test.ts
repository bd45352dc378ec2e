// The one outcome of a run: texts, accounts, reasons, the exhausted chain, the output limit. On the pure machine, by example.
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { failureClassSchema } from "../../schemas/failure.ts";
import type { Outcome } from "../../schemas/outcome.ts";
import type { ProviderEvent, ProviderOutput } from "../../schemas/provider.ts";
import { failurePolicies } from "../../src/run/fallback.ts";
import { totalUsage } from "../../src/run/outcome.ts";
import {
  begin,
  cancel,
  charter,
  cut,
  done,
  drive,
  EPOCH,
  fails,
  says,
  shown,
  snapshot,
  statedText,
  stopped,
  target,
  text,
} from "./scenarios/drive.ts";

const usage = (inputTokens: number, outputTokens: number): ProviderEvent => ({
  type: "usage",
  usage: { inputTokens, outputTokens },
});
const call = (toolCallId: string, input: Record<string, unknown> = {}): ProviderOutput & { type: "tool_call" } => ({
  type: "tool_call",
  toolCallId,
  toolName: "weather",
  input,
});
const piece = (toolCallId: string, inputText: string): ProviderEvent => ({
  type: "tool_call_delta",
  toolCallId,
  toolName: "weather",
  inputText,
});
const errorOf = (outcome: Outcome | undefined) => (outcome?.outcome === "error" ? outcome.error : undefined);

describe("texts", () => {
  test("R-OUT-6 a final text that differs from the deltas is logged as one snapshot before the terminal", () => {
    const run = drive(charter(["p1"]), [begin, says("p1", text("Hel"), text("lo"), done("Hello!"))]);
    expect(run.events.slice(-2).map(({ type, payload }) => [type, Reflect.get(payload, "text")])).toEqual([
      ["content_snapshot", "Hello!"],
      ["terminal", undefined],
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "Hello!" });
  });

  test("R-OUT-6 R-FALL-1 a final text without any deltas is an output: committed, started, one snapshot, terminal", () => {
    const run = drive(charter(["p1"]), [begin, says("p1", done("Hello"))]);
    expect(run.events.map(({ type, payload }) => `${type} ${String(Reflect.get(payload, "phase"))}`)).toEqual([
      "lifecycle provider_selected",
      "attempt started",
      "attempt committed",
      "lifecycle started",
      "content_snapshot undefined",
      "terminal undefined",
    ]);
  });

  test("R-OUT-6 a final text that equals the deltas, and an empty one without deltas, add nothing", () => {
    const equal = drive(charter(["p1"]), [begin, says("p1", text("Hello"), done("Hello"))]);
    expect(equal.events.filter(({ type }) => type === "content_snapshot")).toEqual([]);
    const empty = drive(charter(["p1"]), [begin, says("p1", done(""))]);
    expect(empty.events.map(({ type }) => type)).toEqual(["lifecycle", "attempt", "terminal"]);
    expect(empty.outcome).toMatchObject({ outcome: "completed", finalText: "" });
  });

  test("R-OUT-6 an empty final text after deltas withdraws them", () => {
    const run = drive(charter(["p1"]), [begin, says("p1", text("Hello"), done(""))]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "" });
    expect(shown(run.events).text).toBe("");
  });

  test.each([
    ["completed", [says("p1", text("a"), text("b"), stopped("stop"))], "finalText"],
    ["error", [says("p1", text("a"), text("b"), cut)], "partialText"],
    ["error before any output", [says("p1", fails("invalid_request"))], "partialText"],
    ["cancelled", [says("p1", text("a"), text("b")), cancel()], "partialText"],
    ["cancelled before any output", [cancel()], "partialText"],
    ["error by the total clock", [says("p1", text("a")), { type: "deadline" as const }], "partialText"],
    ["error by a restart", [says("p1", text("a")), { type: "crash" as const }], "partialText"],
  ])("R-OUT-3 %s: the outcome states the shown text", (_what, acts, field) => {
    const { outcome, events } = drive(charter(["p1"]), [begin, ...acts]);
    expect(outcome).toHaveProperty(field, shown(events).text);
  });

  test("R-OUT-3 reasoning is no part of the text", () => {
    const run = drive(charter(["p1"]), [begin, says("p1", { type: "reasoning", text: "Hm." }, text("Yes."), cut)]);
    expect(run.outcome).toMatchObject({ partialText: "Yes." });
    expect(shown(run.events)).toEqual({ text: "Yes.", reasoning: "Hm." });
  });
});

describe("reasons", () => {
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["tool_calls", "stop"],
    ["content_filter", "error"],
  ] as const)("R-OUT-5 stopReason %s has finishReason %s", (stopReason, finishReason) => {
    const calls = stopReason === "tool_calls" ? [call("c1")] : [];
    const run = drive(charter(["p1"]), [begin, says("p1", text("x"), ...calls, stopped(stopReason))]);
    expect(run.outcome).toMatchObject({ outcome: "completed", stopReason, finishReason });
  });

  test("R-OUT-4 finishReason, stopReason and usage are absent, not null, when no provider reported them", () => {
    const { outcome } = drive(charter(["p1"]), [begin, says("p1", text("x"), done())]);
    for (const key of ["finishReason", "stopReason", "usage", "pending"]) expect(outcome).not.toHaveProperty(key);
  });

  test.each(["tool_calls", "stop"] as const)("R-OUT-5 tool calls that end with %s are pending, in order", (word) => {
    const run = drive(charter(["p1"]), [begin, says("p1", call("c1"), call("c2"), stopped(word))]);
    expect(run.outcome).toMatchObject({
      stopReason: "tool_calls",
      finishReason: "stop",
      pending: [
        { toolCallId: "c1", toolName: "weather", execution: "client" },
        { toolCallId: "c2", toolName: "weather", execution: "client" },
      ],
    });
  });

  test("R-FALL-3 a content filter without any output is the failure content_policy, and the chain ends", () => {
    const run = drive(charter(["p1", "p2"]), [begin, says("p1", stopped("content_filter"))]);
    expect(errorOf(run.outcome)).toMatchObject({
      errorClass: "CapabilityMismatch",
      retryable: false,
      details: { failureClass: "content_policy" },
    });
    expect(run.calls).toEqual({ p1: 1, p2: 0 });
  });

  test("R-OUT-5 a content filter after reasoning only is after the commit point: completed, not a failure", () => {
    const run = drive(charter(["p1"]), [
      begin,
      says("p1", { type: "reasoning", text: "x" }, stopped("content_filter")),
    ]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finishReason: "error", stopReason: "content_filter" });
  });
});

describe("accounts", () => {
  test("R-FALL-10 usage of failed, retracted and completed attempts adds up, field by field", () => {
    const run = drive(charter(["p1", "p2", "p3"], { onMidStreamFailure: "retract" }), [
      begin,
      says("p1", usage(10, 0), fails("overloaded")),
      says("p2", usage(1, 1), text("half"), usage(10, 5), cut),
      says("p3", text("whole"), { type: "usage", usage: { inputTokens: 10, reasoningTokens: 7 } }, stopped("stop")),
    ]);
    expect(run.outcome?.usage).toEqual({ inputTokens: 30, outputTokens: 5, reasoningTokens: 7 });
    expect(run.outcome?.provenance?.attempts.map((attempt) => attempt.usage)).toEqual([
      { inputTokens: 10, outputTokens: 0 },
      { inputTokens: 10, outputTokens: 5 },
      { inputTokens: 10, reasoningTokens: 7 },
    ]);
  });

  test.each([
    ["a cancel", [cancel()]],
    ["the total clock", [{ type: "deadline" as const }]],
    ["a failure", [says("p1", cut)]],
  ])("R-FALL-10 usage seen before %s counts", (_what, acts) => {
    const run = drive(charter(["p1"]), [begin, says("p1", text("x"), usage(3, 2)), ...acts]);
    expect(run.outcome?.usage).toEqual({ inputTokens: 3, outputTokens: 2 });
    expect(run.events.filter(({ type }) => type === "usage").map(({ payload }) => payload)).toEqual([
      { inputTokens: 3, outputTokens: 2, attempt: 0 },
    ]);
  });

  test("R-FALL-10 no report is no usage, and totals are never derived", () => {
    expect(totalUsage([])).toBeUndefined();
    const record = { attempt: 0, step: 0, targetId: "p1", status: "completed", startedAt: EPOCH } as const;
    expect(totalUsage([record])).toBeUndefined();
    expect(totalUsage([{ ...record, usage: { inputTokens: 1, outputTokens: 2 } }])).toEqual({
      inputTokens: 1,
      outputTokens: 2,
    });
  });

  test("R-OUT-4 telemetry and provenance of a run that fell back", () => {
    const chain = [target("near", { locality: "local" }), target("far")];
    const run = drive(charter(["near", "far"], { chain }), [
      begin,
      says("near", fails("rate_limited", { httpStatus: 429, retryAfterMs: 1500, providerCode: "rate_limit_exceeded" })),
      says("far", { type: "model", model: "far-2026" }, text("Hi")),
      says("far", stopped("stop")),
    ]);
    expect(run.outcome).toMatchObject({
      telemetry: { providerUsed: "far", totalMs: 3000 },
      provenance: {
        targetId: "far",
        locality: "cloud",
        configuredModel: "far-model",
        reportedModel: "far-2026",
        fallbackOccurred: true,
        attemptedProviderIds: ["near", "far"],
        attempts: [
          {
            attempt: 0,
            step: 0,
            targetId: "near",
            status: "failed",
            errorClass: "RateLimited",
            failureClass: "rate_limited",
            httpStatus: 429,
            providerCode: "rate_limit_exceeded",
            retryAfterMs: 1500,
            startedAt: EPOCH,
          },
          { attempt: 1, targetId: "far", status: "completed", startedAt: EPOCH + 1000, firstOutputMs: 1000 },
        ],
      },
    });
  });

  test("R-OUT-4 a run that ends before it began names its selected target", () => {
    const { outcome } = drive(charter(["p1", "p2"]), [cancel("early")]);
    expect(outcome).toMatchObject({
      telemetry: { providerUsed: "p1" },
      provenance: { targetId: "p1", fallbackOccurred: false, attemptedProviderIds: [], attempts: [] },
    });
  });

  test("R-OUT-4 a model that is reported late, or without any output, is in the outcome and in the folded state", () => {
    const model: ProviderEvent = { type: "model", model: "late" };
    for (const events of [
      [model, done()],
      [text("x"), model, done()],
    ]) {
      const run = drive(charter(["p1"]), [begin, says("p1", ...events)]);
      expect(run.outcome?.provenance?.reportedModel).toBe("late");
      expect(run.state.reportedModel).toBe("late");
    }
  });

  test("R-OUT-4 the model of a failed attempt is not the next one's", () => {
    const run = drive(charter(["p1", "p2"]), [
      begin,
      says("p1", { type: "model", model: "first" }, fails("overloaded")),
      says("p2", text("x"), done()),
    ]);
    expect(run.outcome?.provenance).not.toHaveProperty("reportedModel");
  });
});

describe("the exhausted chain", () => {
  test("R-FALL-4 one Unavailable with every attempt's class and the smallest known delay", () => {
    const run = drive(charter(["p1", "p2", "p3"]), [
      begin,
      says("p1", fails("rate_limited", { retryAfterMs: 9000 })),
      says("p2", fails("auth")),
      says("p3", fails("overloaded", { retryAfterMs: 2000 })),
    ]);
    const error = errorOf(run.outcome);
    expect(error).toMatchObject({ errorClass: "Unavailable", providerId: "p3", retryable: true, retryAfterMs: 2000 });
    expect(error?.details).toMatchObject({
      failureClass: "overloaded",
      attemptedProviderIds: ["p1", "p2", "p3"],
      attempts: [
        { targetId: "p1", status: "failed", failureClass: "rate_limited", errorClass: "RateLimited" },
        { targetId: "p2", status: "failed", failureClass: "auth", errorClass: "AuthError" },
        { targetId: "p3", status: "failed", failureClass: "overloaded", errorClass: "Unavailable" },
      ],
    });
    expect(run.calls).toEqual({ p1: 1, p2: 1, p3: 1 });
    expect(run.events.some(({ type }) => type.startsWith("content") || type === "tool_call")).toBe(false);
  });

  test("R-FALL-4 the delay of an attempt that no retry can help does not count", () => {
    const run = drive(charter(["p1", "p2"]), [
      begin,
      says("p1", fails("quota", { retryAfterMs: 500 })),
      says("p2", fails("rate_limited", { retryAfterMs: 9000 })),
    ]);
    expect(run.outcome).toMatchObject({ error: { retryable: true, retryAfterMs: 9000 } });
  });

  test("R-FALL-4 names the target that may answer next time, else the last", () => {
    const passing = drive(charter(["p1", "p2"]), [begin, says("p1", fails("connect")), says("p2", fails("auth"))]);
    expect(passing.outcome).toMatchObject({ error: { providerId: "p1", details: { failureClass: "connect" } } });
    const lasting = drive(charter(["p1", "p2"]), [begin, says("p1", fails("quota")), says("p2", fails("auth"))]);
    expect(lasting.outcome).toMatchObject({ error: { providerId: "p2", details: { failureClass: "auth" } } });
  });

  test("R-FALL-4 is not retryable when no attempt was, and knows no delay when none was given", () => {
    const run = drive(charter(["p1", "p2"]), [begin, says("p1", fails("auth")), says("p2", fails("quota"))]);
    expect(errorOf(run.outcome)).toMatchObject({ errorClass: "Unavailable", retryable: false });
    expect(errorOf(run.outcome)).not.toHaveProperty("retryAfterMs");
  });

  test("R-FALL-4 a single target that fails is an exhausted chain too", () => {
    const run = drive(charter(["p1"]), [begin, says("p1", fails("rate_limited", { retryAfterMs: 0 }))]);
    expect(errorOf(run.outcome)).toMatchObject({ errorClass: "Unavailable", retryable: true, retryAfterMs: 0 });
  });

  test.each(["invalid_request", "context_length", "content_policy"] as const)(
    "R-FALL-3 %s ends the run unchanged, also from a later target",
    (failureClass) => {
      const policy = failurePolicies[failureClass];
      for (const [acts, calls] of [
        [[says("p1", fails(failureClass, { httpStatus: 400 }))], { p1: 1, p2: 0, p3: 0 }],
        [[says("p1", fails("connect")), says("p2", fails(failureClass, { httpStatus: 400 }))], { p1: 1, p2: 1, p3: 0 }],
      ] as const) {
        const run = drive(charter(["p1", "p2", "p3"]), [begin, ...acts]);
        expect(errorOf(run.outcome)).toMatchObject({
          errorClass: policy.errorClass,
          message: `Failed as ${failureClass}.`,
          retryable: false,
          details: { failureClass, httpStatus: 400 },
        });
        expect(run.calls).toEqual(calls);
      }
    },
  );
});

describe("failures", () => {
  test("R-FALL-9 the classes are those of PROTOCOL.md's table", () => {
    const protocol = readFileSync(path.resolve(import.meta.dirname, "../../PROTOCOL.md"), "utf8");
    const table = protocol.slice(protocol.indexOf("## Failure classes"));
    const written = new Map<string, string>();
    for (const line of table.split("\n").filter((row) => row.startsWith("| `"))) {
      const [classes = "", , errorClass = "", retryable = "", fallsBack = ""] = line
        .split("|")
        .slice(1)
        .map((cell) => cell.trim());
      for (const [, name = ""] of classes.matchAll(/`([a-z0-9_]+)`/g)) {
        written.set(name, [errorClass, retryable, fallsBack].join(" "));
      }
    }
    const yes = (value: boolean) => (value ? "yes" : "no");
    const held = failureClassSchema.options.map((name): [string, string] => {
      const { errorClass, retryable, fallsBack } = failurePolicies[name];
      const word = name === "truncated" ? `${errorClass}; Internal after the commit point` : errorClass;
      return [name, `${word} ${yes(retryable)} ${yes(fallsBack)}`];
    });
    expect(Object.fromEntries(held)).toEqual(Object.fromEntries(written));
  });

  test.each(failureClassSchema.options.filter((name) => name !== "truncated"))(
    "R-FALL-2 R-FALL-3 %s before the commit point goes on exactly when its class falls back",
    (name) => {
      const run = drive(charter(["p1", "p2"]), [begin, says("p1", fails(name))]);
      const { fallsBack } = failurePolicies[name];
      expect(run.calls).toEqual({ p1: 1, p2: fallsBack ? 1 : 0 });
      expect(run.state.phase).toBe(fallsBack ? "running" : "sealed");
      expect(run.events.at(-2)).toMatchObject({
        type: "attempt",
        payload: { attempt: 0, phase: "failed", failureClass: name, message: `Failed as ${name}.` },
      });
    },
  );

  test.each<[string, ProviderEvent]>([
    ["text", text("x")],
    ["an empty text", text("")],
    ["a snapshot", snapshot("x")],
    ["reasoning", { type: "reasoning", text: "x" }],
    ["a whole tool call", call("c")],
    ["a piece of a tool call", piece("c", "{")],
  ])("R-FALL-1 R-FALL-5 %s is the commit point", (_what, output) => {
    const run = drive(charter(["p1", "p2"]), [begin, says("p1", output), says("p1", fails("overloaded"))]);
    expect(run.calls).toEqual({ p1: 1, p2: 0 });
    expect(run.state.committed).toBe(true);
    expect(errorOf(run.outcome)).toMatchObject({ errorClass: "Unavailable", providerId: "p1" });
    expect(run.telemetry.map(({ type }) => type)).toContain("stream_attempt_succeeded");
  });

  test.each<[string, ProviderEvent]>([
    ["the model", { type: "model", model: "m" }],
    ["usage", usage(1, 1)],
    ["a diagnostic", { type: "diagnostic", code: "parameter_unsupported", parameter: "seed" }],
    ["the end of the answer", { type: "finishing" }],
  ])("R-FALL-1 R-FALL-2 %s is not: the next target goes on", (_what, note) => {
    const run = drive(charter(["p1", "p2"]), [begin, says("p1", note, fails("overloaded")), says("p2", done("ok"))]);
    expect(run.calls).toEqual({ p1: 1, p2: 1 });
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "ok" });
  });

  test("R-FALL-6 retract withdraws text and reasoning, then the next target starts from nothing", () => {
    const run = drive(charter(["p1", "p2"], { onMidStreamFailure: "retract" }), [
      begin,
      says("p1", { type: "reasoning", text: "Hm" }, text("wrong "), piece("c", '{"a"'), cut),
      says("p2", text("right"), stopped("stop")),
    ]);
    const retraction = run.events.findIndex(({ type }) => type === "content_snapshot");
    expect(run.events[retraction]).toMatchObject({ payload: { text: "", reasoning: "" } });
    expect(run.events[retraction + 1]).toMatchObject({ type: "attempt", payload: { attempt: 1, phase: "started" } });
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "right" });
    expect(
      run.events.filter(({ type, payload }) => type === "lifecycle" && Reflect.get(payload, "phase") === "started"),
    ).toHaveLength(1);
  });

  test.each<[string, string[], ProviderEvent[]]>([
    ["past a delivered tool call", ["p1", "p2"], [text("x"), call("c"), cut]],
    ["with a class that does not fall back", ["p1", "p2"], [text("x"), fails("content_policy")]],
    ["without a next target", ["p1"], [text("x"), cut]],
  ])("R-FALL-6 R-FALL-5 retract never goes on %s", (_what, chain, events) => {
    const run = drive(charter(chain, { onMidStreamFailure: "retract" }), [begin, says("p1", ...events)]);
    expect(run.outcome).toMatchObject({ outcome: "error", partialText: "x" });
    expect(run.events.some(({ type }) => type === "content_snapshot")).toBe(false);
  });

  test("R-FALL-8 after a withdrawal by the provider the commit stands: no other target", () => {
    const run = drive(charter(["p1", "p2"]), [
      begin,
      says("p1", text("no"), snapshot("")),
      says("p1", fails("connect")),
    ]);
    expect(run.calls).toEqual({ p1: 1, p2: 0 });
    expect(run.outcome).toMatchObject({ outcome: "error", partialText: "" });
  });

  test("R-FALL-7 R-CANCEL-3 what a provider says after its attempt ended is dropped", () => {
    const late = [text("late"), done("late"), fails("auth")];
    const acts = [begin, says("p1", fails("connect"), ...late), says("p1", ...late)];
    const run = drive(charter(["p1", "p2"]), [...acts, says("p2", text("ok"), stopped("stop"))]);
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "ok" });
    const stoppedEarly = drive(charter(["p1", "p2"]), [begin, cancel("stop"), says("p1", ...late)]);
    expect(stoppedEarly.outcome).toMatchObject({ outcome: "cancelled", partialText: "", reason: "stop" });
    expect(stoppedEarly.calls).toEqual({ p1: 1, p2: 0 });
    expect(stoppedEarly.aborted).toEqual(["p1"]);
  });

  test("R-CANCEL-3 a failure that the cancel itself caused is no error", () => {
    const aborted: ProviderEvent = { type: "verdict", verdict: "aborted" };
    const run = drive(charter(["p1"]), [begin, says("p1", text("x")), cancel(), says("p1", aborted)]);
    expect(run.outcome?.outcome).toBe("cancelled");
    expect(run.outcome?.provenance?.attempts).toMatchObject([{ status: "cancelled" }]);
    expect(run.telemetry.at(-1)?.type).toBe("stream_cancelled");
  });

  test.each([
    ["cancelled", [cancel()]],
    ["failed", [says("p1", cut)]],
    ["interrupted", [{ type: "crash" as const }]],
  ])("R-CANCEL-4 a %s tool call leaves no tool_call", (_what, acts) => {
    const run = drive(charter(["p1"]), [begin, says("p1", piece("c", '{"city":"Ro')), ...acts]);
    expect(run.events.some(({ type }) => type === "tool_call")).toBe(false);
    expect(run.outcome).not.toHaveProperty("pending");
  });

  test("R-FALL-9 the total clock ends the run as Timeout, whatever the chain has left", () => {
    const run = drive(charter(["p1", "p2"]), [begin, { type: "deadline" }]);
    expect(errorOf(run.outcome)).toMatchObject({
      errorClass: "Timeout",
      retryable: true,
      details: { failureClass: "timeout_total" },
    });
    expect(run.calls).toEqual({ p1: 1, p2: 0 });
    expect(run.aborted).toEqual(["p1"]);
  });

  test("R-DESC-2 telemetry tells stable messages only, of every class", () => {
    for (const name of failureClassSchema.options) {
      const message = "quotes 'my prompt' and sk-123";
      const run = drive(charter(["p1"]), [begin, says("p1", text("model text")), says("p1", fails(name, { message }))]);
      const told = JSON.stringify(run.telemetry);
      for (const secret of ["my prompt", "sk-123", "model text"]) expect(told).not.toContain(secret);
      expect(run.telemetry.map(({ type }) => type)).toEqual([
        "route_decided",
        "stream_attempt_started",
        "stream_attempt_succeeded",
        "stream_attempt_failed",
        "stream_failed",
      ]);
    }
  });
});

describe("the output limit", () => {
  const limited = (maxOutputBytes: number, ...events: ProviderEvent[]) =>
    drive(charter(["p1", "p2"], { maxOutputBytes }), [begin, says("p1", ...events)]);

  test.each([
    ["one byte each", 3, ["abcd"], "abc"],
    ["two bytes each", 3, ["éé"], "é"],
    ["three bytes each", 5, ["日本"], "日"],
    ["a surrogate pair", 7, ["🧵🧵"], "🧵"],
    ["over several deltas", 6, ["日", "a", "本"], "日a"],
  ])("R-OUT-7 text is cut on a whole character: %s", (_what, limit, pieces, expected) => {
    const run = limited(limit, ...pieces.map(text), stopped("stop"));
    expect(run.outcome).toMatchObject({
      outcome: "completed",
      finalText: expected,
      finishReason: "length",
      stopReason: "length",
    });
    expect(shown(run.events).text).toBe(expected);
    expect(run.events.at(-2)).toMatchObject({
      type: "diagnostic",
      payload: { code: "output_limit", maxOutputBytes: limit },
    });
    expect(run.aborted).toEqual(["p1"]);
  });

  test("R-OUT-7 a text of exactly the limit is whole", () => {
    const run = limited(6, text("日本"), stopped("stop"));
    expect(run.outcome).toMatchObject({ finalText: "日本", finishReason: "stop" });
  });

  test("R-OUT-7 R-LOG-3 a first output that does not fit at all shows nothing and starts nothing", () => {
    for (const event of [text("日本"), call("c", { city: "Rome" }), piece("c", '{"city"'), snapshot("日")]) {
      const run = limited(2, event);
      expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "", finishReason: "length" });
      expect(run.events.map(({ type }) => type)).toEqual(["lifecycle", "attempt", "diagnostic", "terminal"]);
    }
  });

  test("R-OUT-7 reasoning and tool input count too", () => {
    const run = limited(10, { type: "reasoning", text: "12345" }, text("123456"));
    expect(run.outcome).toMatchObject({ finalText: "12345", finishReason: "length" });
    const called = limited(12, call("c", { a: 1 }), text("123456"));
    expect(called.outcome).toMatchObject({ finalText: "12345", finishReason: "length" });
  });

  test("R-OUT-7 a tool input that came in pieces counts once", () => {
    const input = { city: "Rome" };
    const json = JSON.stringify(input);
    const run = limited(
      json.length + 4,
      piece("c", json.slice(0, 5)),
      piece("c", json.slice(5)),
      call("c", input),
      text("1234"),
      stopped("stop"),
    );
    expect(run.outcome).toMatchObject({ finalText: "1234", stopReason: "tool_calls", pending: [{ toolCallId: "c" }] });
    expect(
      limited(json.length - 1, piece("c", json.slice(0, 5)), piece("c", json.slice(5)), call("c", input)).outcome,
    ).toMatchObject({
      finishReason: "length",
    });
  });

  test("R-OUT-7 R-FALL-6 what was withdrawn no longer counts", () => {
    const of = charter(["p1", "p2"], { maxOutputBytes: 10, onMidStreamFailure: "retract" });
    const first = says("p1", { type: "reasoning", text: "123" }, text("1234"), piece("c", "{"), cut);
    const run = drive(of, [begin, first, says("p2", text("1234567890"), stopped("stop"))]);
    expect(run.outcome).toMatchObject({ finalText: "1234567890", finishReason: "stop" });
  });

  test("R-OUT-7 a final text is held to the limit beside the tool input", () => {
    const run = limited(12, call("c", { a: 1 }), text("abc"), done("abcdefgh"));
    expect(run.outcome).toMatchObject({ outcome: "completed", finalText: "abcde", finishReason: "length" });
    expect(statedText(run.outcome ?? expect.fail("no outcome"))).toBe(shown(run.events).text);
  });
});

describe("tool input", () => {
  test.each([
    [{ city: "Rome" }, "input"],
    [{ apiKey: "k" }, "inputJson"],
    [{ deep: [{ "x-api-key": "k" }] }, "inputJson"],
    [{ nextToken: "page 2" }, "inputJson"],
    [{ totalTokens: 3 }, "input"],
  ])("R-LOG-6 %j travels as %s", (input, field) => {
    const run = drive(charter(["p1"]), [begin, says("p1", call("c", input), stopped("tool_calls"))]);
    const event = run.events.find(({ type }) => type === "tool_call");
    const carried = Reflect.get(event?.payload ?? {}, field);
    expect(typeof carried === "string" ? JSON.parse(carried) : carried).toEqual(input);
    expect(event?.payload).not.toHaveProperty(field === "input" ? "inputJson" : "input");
  });

  test.each([
    [{ thoughtSignature: "c2ln" }, { echo: { thoughtSignature: "c2ln" } }],
    [{ deep: [{ nextToken: "page 2" }] }, { echoJson: '{"deep":[{"nextToken":"page 2"}]}' }],
    [JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`), {}],
  ])(
    "R-PROV-25 R-LOG-6 what the provider wants back travels with the call, and counts for no limit",
    (echo, carried) => {
      const of = charter(["p1"], { maxOutputBytes: 2 });
      const run = drive(of, [begin, says("p1", { ...call("c"), echo }, stopped("tool_calls"))]);
      const event = run.events.find(({ type }) => type === "tool_call");
      const whole = { toolCallId: "c", toolName: "weather", input: {}, execution: "client", ...carried };
      expect(event?.payload).toEqual(whole);
      expect(run.outcome).toMatchObject({ stopReason: "tool_calls", pending: [{ toolCallId: "c" }] });
    },
  );

  test("R-FALL-2 R-FALL-5 an input nested beyond every JSON writer is the provider's fault, not the run's end in silence", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
    const before = drive(charter(["p1", "p2"]), [begin, says("p1", call("c", deep)), says("p2", done("ok"))]);
    expect(before.outcome).toMatchObject({ outcome: "completed", finalText: "ok" });
    expect(before.aborted).toEqual(["p1"]);
    const after = drive(charter(["p1", "p2"]), [begin, says("p1", text("x"), call("c", deep), text("y"))]);
    expect(after.outcome).toMatchObject({
      outcome: "error",
      partialText: "x",
      error: { details: { failureClass: "malformed" } },
    });
    expect(after.events.some(({ type }) => type === "tool_call")).toBe(false);
  });
});
