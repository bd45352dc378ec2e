// The Cohere Chat (v2) reader: typed events, and what must come of them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { cohere, cohereReader } from "../../src/providers/cohere.ts";
import { read, readWhole } from "../support/corpus/reading.ts";
import {
  cohereChat,
  cohereContentEnd,
  cohereContentStart,
  cohereDelta,
  cohereEnd,
  cohereEvent,
  coherePlan,
  cohereStart,
  cohereText,
  cohereToolDelta,
  cohereToolEnd,
  cohereToolStart,
} from "../support/provider-bytes/cohere.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("cohere", wire);
const reading = (...wire: readonly string[]) => read("cohere", wire);
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string) => ({ verdict: "failed", failure: { failureClass } });
const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });

test("R-PROV-5 a whole answer becomes its events in order", () => {
  const wire = [
    cohereStart(),
    cohereContentStart(0, { type: "thinking", thinking: "" }),
    cohereDelta({ thinking: "Hm" }),
    cohereContentEnd(0),
    cohereText("Hel", 1),
    cohereText("lo", 1),
    cohereEnd(),
  ];
  expect(events(...wire)).toEqual([
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "usage", usage: { inputTokens: 12, outputTokens: 7 } },
    complete("stop"),
  ]);
});

describe("R-PROV-1 the end", () => {
  test("message-end ends the reading at once; nothing after it is read", () => {
    const reader = cohereReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(cohereEnd() + cohereText("late"))).at(-1)).toEqual(complete("stop"));
    expect([...reader.feed(toBytes(cohereText("late"))), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test.each<[string, string[]]>([
    ["nothing", []],
    ["text", [cohereText("a")]],
    ["its block's end", [cohereText("a"), cohereContentEnd()]],
    ["[DONE] alone", [cohereText("a"), "data: [DONE]\n\n"]],
    ["half of the end", [cohereText("a"), cohereEnd().slice(0, -8)]],
    ["whole calls without the end", [cohereToolStart(0, "a", "f", "{}"), cohereToolEnd(0)]],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));
  test.each([
    ["COMPLETE", "stop"],
    ["STOP_SEQUENCE", "stop"],
    ["MAX_TOKENS", "length"],
    ["constructor", undefined],
    [null, undefined],
    [7, undefined],
  ])("finish_reason %s is %s", (reason, stopReason) => {
    expect(reading(cohereText("a"), cohereEnd(reason)).verdicts).toEqual([complete(stopReason)]);
  });
  test("the type may stand in the event line only, or in the data only", () => {
    expect(
      reading(
        sseEvent({ delta: { message: { content: { text: "a" } } } }, {}, "content-delta"),
        sseEvent({ type: "message-end", delta: { finish_reason: "COMPLETE" } }),
      ),
    ).toMatchObject({ text: "a", verdicts: [complete("stop")] });
  });
});

describe("R-PROV-5 tool calls", () => {
  test("the plan is reasoning, and input is shown as it comes", () => {
    const wire = [
      coherePlan("Look."),
      cohereToolStart(0, "a", "f"),
      cohereToolDelta(0, '{"n"'),
      cohereToolDelta(0, ":1}"),
    ];
    expect(reading(...wire, cohereEnd("TOOL_CALL"))).toMatchObject({
      text: "",
      reasoning: "Look.",
      progress: { a: '{"n":1}' },
      calls: [call("a", "f", { n: 1 })],
      verdicts: [complete("tool_calls")],
    });
  });
  test("an index that is used again is another call; no id is made from the order", () => {
    const bare = cohereEvent("tool-call-start", { delta: { message: { tool_calls: { function: { name: "g" } } } } });
    expect(reading(cohereToolStart(0, "a", "f", "{}"), bare, cohereEnd("TOOL_CALL")).calls).toEqual([
      call("a", "f", {}),
      call("call_1", "g", {}),
    ]);
  });
  test("COMPLETE after a call means tool_calls; a cut call is left out, and it is said", () => {
    expect(reading(cohereToolStart(0, "a", "f"), cohereEnd()).verdicts).toEqual([complete("tool_calls")]);
    expect(reading(cohereToolStart(0, "a", "f", '{"n'), cohereEnd("MAX_TOKENS"))).toMatchObject({
      calls: [],
      diagnostics: ["tool_call_incomplete"],
      verdicts: [complete("length")],
    });
  });
  test("R-PROV-3 half of an input, and a flood of calls, are faults", () => {
    expect(reading(cohereToolStart(0, "a", "f", '{"n'), cohereEnd("TOOL_CALL")).verdicts).toMatchObject([
      failed("malformed"),
    ]);
    const flood = Array.from({ length: 300 }, (_, index) => cohereToolStart(index, `t${index}`, "f"));
    expect(reading(...flood).verdicts).toMatchObject([failed("malformed")]);
  });
});

describe("R-PROV-3 failures, first and after text", () => {
  test.each<[string, string, string]>([
    ["ERROR", cohereEnd("ERROR"), "upstream_5xx"],
    ["TIMEOUT", cohereEnd("TIMEOUT"), "upstream_5xx"],
    ["an error's text beside COMPLETE", cohereEnd("COMPLETE", null, { error: "internal" }), "upstream_5xx"],
    ["a long prompt", cohereEnd("ERROR", null, { error: "too many tokens: 200000 > 128000" }), "context_length"],
    ["an error without a type", sseEvent({ message: "scripted" }), "unknown"],
    ["a gateway's error", sseEvent({ error: { code: 429, message: "x" } }), "rate_limited"],
    ["an error event that is no JSON", "event: error\ndata: oops\n\n", "unknown"],
    ["a wire event that is no JSON", "data: oops\n\n", "malformed"],
  ])("%s", (_name, wire, failureClass) => {
    expect(reading(wire).verdicts).toMatchObject([failed(failureClass)]);
    expect(reading(cohereText("a"), wire, cohereEnd())).toMatchObject({ text: "a", verdicts: [failed(failureClass)] });
  });
  test("R-PROV-9 the message is ours", () => {
    for (const wire of [cohereEnd("ERROR", null, { error: "SECRET" }), sseEvent({ message: "SECRET" })]) {
      expect(JSON.stringify(events(wire))).not.toContain("SECRET");
    }
  });
  test("a page or JSON is no stream", () => {
    expect(["<", "{", "[", "d", "e", ":"].map((character) => cohere.starts(character))).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
    ]);
  });
});

test("R-PROV-5 usage: what was read and written, else what is billed, else nothing", () => {
  const tokens = { input_tokens: 5, output_tokens: 6 };
  const billed = { input_tokens: 1, output_tokens: 2 };
  const usage = (value: unknown) => reading(...cohereChat(["a"]).slice(0, -1), cohereEnd("COMPLETE", value)).usage;
  expect(usage({ tokens, billed_units: billed })).toEqual({ inputTokens: 5, outputTokens: 6 });
  expect(usage({ billed_units: billed })).toEqual({ inputTokens: 1, outputTokens: 2 });
  expect(usage({ tokens: { input_tokens: -1, output_tokens: 1.5 } })).toBeUndefined();
  expect(usage(null)).toBeUndefined();
});

test("R-PROV-3 a wrong type in any field never throws, and still ends in one verdict", () => {
  const names = [
    "content-start",
    "content-delta",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "message-end",
  ];
  const odd = fc.oneof(
    fc.constantFrom(null, true, 0, -1, 1e99, "", [], {}, "__proto__"),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const fields = fc.oneof(
    fc.record({ delta: odd, index: odd }, { requiredKeys: [] }),
    fc.record({ delta: fc.record({ message: odd, finish_reason: odd, usage: odd, error: odd }, { requiredKeys: [] }) }),
    fc.record({
      delta: fc.record({
        message: fc.record({ content: odd, tool_plan: odd, tool_calls: odd }, { requiredKeys: [] }),
      }),
    }),
    fc.record({
      delta: fc.record({
        message: fc.record({ tool_calls: fc.record({ id: odd, function: fc.record({ name: odd, arguments: odd }) }) }),
      }),
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...names), fields), { maxLength: 8 }), (wire) => {
      const summed = reading(...wire.map(([name, value]) => cohereEvent(name, value)));
      expect(summed.verdicts).toHaveLength(1);
      expect(summed.last).toBe(summed.verdicts[0]);
    }),
    { numRuns: 1500 },
  );
});
