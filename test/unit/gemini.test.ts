// The Gemini reader, in both framings: chunk by chunk, what must come of each.
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { gemini, geminiReader } from "../../src/providers/gemini.ts";
import { read, readPackets, readWhole } from "../support/corpus/reading.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import {
  errorInfo,
  geminiAnswer,
  geminiArray,
  geminiChunk,
  geminiErrorObject,
  geminiEvents,
  quotaFailure,
  retryInfo,
} from "../support/provider-bytes/gemini.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

type Fields = Readonly<Record<string, unknown>>;

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("gemini", wire);
const reading = (...wire: readonly string[]) => read("gemini", wire);
/** Reads these chunks as events and as an array: but for `finishing`, the same must come of both. */
function both(...chunks: readonly unknown[]) {
  const asEvents = events(...geminiEvents(chunks));
  expect(events(...geminiArray(chunks))).toEqual(asEvents.filter(({ type }) => type !== "finishing"));
  return reading(...geminiEvents(chunks));
}
const text = (value: string): Fields => geminiChunk([{ text: value }]);
const stop = geminiChunk([{ text: "" }], { finishReason: "STOP" });
const calling = (...calls: readonly Fields[]): Fields => geminiChunk(calls.map((functionCall) => ({ functionCall })));
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string, more: Fields = {}) => ({ verdict: "failed", failure: { failureClass, ...more } });
const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });
const overload = geminiErrorObject(503, "UNAVAILABLE", { message: "This model is experiencing high demand." });
const overloaded = failed("overloaded", { httpStatus: 503, providerCode: "UNAVAILABLE" });

const answer = geminiAnswer({
  thoughts: ["Hm"],
  deltas: ["Hel", "lo"],
  model: "gemini-x",
  usage: { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 1, totalTokenCount: 6 },
});
const answerEvents = [
  { type: "model", model: "gemini-x" },
  { type: "reasoning", text: "Hm" },
  { type: "text", text: "Hel" },
  { type: "text", text: "lo" },
  { type: "usage", usage: { inputTokens: 3, outputTokens: 3, totalTokens: 6, reasoningTokens: 1 } },
];

describe("R-PROV-5 a whole answer becomes its events in order", () => {
  // P17
  test.each(["\n", "\r\n", "\r"] as const)("as events with line ends %j", (lineEnd) => {
    for (const space of [true, false]) {
      expect(events(...geminiEvents(answer, { lineEnd, space }))).toEqual([
        ...answerEvents,
        { type: "finishing", proven: true },
        complete("stop"),
      ]);
    }
  });
  test("as an array, which is over with its bracket, so that nothing is finishing before", () => {
    expect(events(...geminiArray(answer))).toEqual([...answerEvents, complete("stop")]);
  });
  test("as an array on one line, over many lines, and with CRLF", () => {
    for (const wire of [
      JSON.stringify(answer),
      `\uFEFF\r\n${JSON.stringify(answer, null, 2).replaceAll("\n", "\r\n")}\r\n`,
      `[${answer.map((chunk) => JSON.stringify(chunk)).join("\n,\r\n")}\n]\n`,
    ]) {
      expect(events(wire)).toEqual([...answerEvents, complete("stop")]);
    }
  });
  test("text is given out with the packet that ends its event or element", () => {
    const wire = [sseEvent(text("é")), `[${JSON.stringify(text("é"))}`];
    for (const whole of wire) {
      const reader = geminiReader({ maxEvent: 1000 });
      const bytes = toBytes(whole);
      expect(reader.feed(bytes.subarray(0, -1))).toEqual([]);
      expect(reader.feed(bytes.subarray(-1))).toEqual([{ type: "text", text: "é" }]);
    }
  });
  test("the framing is seen whatever stands before it, and however that is cut", () => {
    for (const wire of [`\uFEFF\n \r\n${geminiArray(answer).join("")}`, `\uFEFF\n\n${geminiEvents(answer).join("")}`]) {
      const whole = JSON.stringify(events(wire));
      expect(whole).toContain('"complete"');
      for (let cut = 1; cut < 12; cut++) {
        expect(JSON.stringify(readPackets("gemini", splitBytes(wire, [cut, cut + 1])))).toBe(whole);
      }
    }
  });
});

describe("R-PROV-1 the end", () => {
  test.each<[string, string[]]>([
    ["nothing", []],
    ["white space", ["\n \r\n"]],
    ["text", geminiEvents([text("a")])],
    ["[DONE] alone", [...geminiEvents([text("a")]), sseEvent("[DONE]")]],
    [
      "an unspecified reason",
      geminiEvents([geminiChunk([{ text: "a" }], { finishReason: "FINISH_REASON_UNSPECIFIED" })]),
    ],
    ["an empty reason", geminiEvents([geminiChunk([], { finishReason: "" })])],
    ["a null reason", geminiEvents([geminiChunk([], { finishReason: null })])],
    ["another candidate's reason", geminiEvents([{ candidates: [{ index: 1, finishReason: "STOP" }] }])],
    ["safety ratings of the prompt", geminiEvents([{ promptFeedback: { safetyRatings: [] } }])],
    ["an unspecified block", geminiEvents([{ promptFeedback: { blockReason: "BLOCK_REASON_UNSPECIFIED" } }])],
    ["usage alone", geminiEvents([{ usageMetadata: { promptTokenCount: 1 } }])],
    ["half of the last event", [...geminiEvents([text("a")]), sseEvent(stop).slice(0, -8)]],
    ["a chunk without data:", [...geminiEvents([text("a")]), `${JSON.stringify(stop)}\n\n`]],
    ["an array without its bracket", geminiArray([text("a"), stop], false)],
    [
      "an array with half its last element",
      [
        geminiArray([text("a"), stop])
          .join("")
          .slice(0, -8),
      ],
    ],
    ["an array whose bracket comes without a reason", geminiArray([text("a")])],
    ["an empty array", ["[]"]],
    ["a list of lists", ["[[", JSON.stringify(text("a")), "]"]],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));

  test("a reason, then the end; a missing last line end does no harm", () => {
    for (const wire of [sseEvent(stop), sseEvent(stop).trimEnd(), sseEvent(stop) + sseEvent("[DONE]")]) {
      expect(events(wire)).toEqual([{ type: "finishing", proven: true }, complete("stop")]);
    }
  });
  test("usage that comes after the reason is kept", () => {
    expect(both(text("a"), stop, { usageMetadata: { promptTokenCount: 4 } })).toMatchObject({
      text: "a",
      usage: { inputTokens: 4 },
      verdicts: [complete("stop")],
    });
  });
  test("an array ends the reading at its bracket", () => {
    const reader = geminiReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(`[${JSON.stringify(stop)}`))).toEqual([]);
    expect(reader.feed(toBytes(`]${JSON.stringify(overload)}`))).toEqual([complete("stop")]);
    expect([...reader.feed(toBytes("[{}]")), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["IMAGE_SAFETY", "content_filter"],
    ["LANGUAGE", undefined],
    ["OTHER", undefined],
    ["NO_IMAGE", undefined],
    ["constructor", undefined],
    ["NEW_REASON", undefined],
  ])("finishReason %s is %s", (finishReason, stopReason) => {
    expect(both(geminiChunk([{ text: "a" }], { finishReason })).verdicts).toEqual([complete(stopReason)]);
  });
  test.each([
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
  ])("R-PROV-3 finishReason %s is a failure that names it", (finishReason) => {
    const chunk = { ...geminiChunk([{ text: "a" }], { finishReason }), usageMetadata: { promptTokenCount: 2 } };
    expect(both(chunk, stop)).toMatchObject({
      usage: { inputTokens: 2 },
      verdicts: [failed("upstream_5xx", { providerCode: finishReason })],
    });
  });
  // P15
  test.each(["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "NEW_REASON"])(
    "R-PROV-8 a prompt blocked for %s, without any candidate, is content_filter",
    (blockReason) => {
      const chunk = { promptFeedback: { blockReason }, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } };
      expect(both(chunk)).toMatchObject({
        text: "",
        usage: { inputTokens: 9, totalTokens: 9 },
        verdicts: [complete("content_filter")],
      });
    },
  );
  test("STOP with no content at all is complete and empty", () => {
    for (const candidate of [
      { finishReason: "STOP" },
      { content: {}, finishReason: "STOP" },
      { content: { parts: [] }, finishReason: "STOP" },
    ]) {
      expect(both({ candidates: [candidate] })).toMatchObject({ text: "", calls: [], verdicts: [complete("stop")] });
    }
  });
});

describe("R-PROV-5 tool calls", () => {
  // P13, B46
  test("text and two calls in one chunk", () => {
    const parts = [
      { text: "Well." },
      { functionCall: { name: "f", args: { a: 1 } } },
      { functionCall: { name: "f", args: { a: 2 } } },
    ];
    expect(both(geminiChunk(parts), stop)).toMatchObject({
      text: "Well.",
      calls: [call("call_0", "f", { a: 1 }), call("call_1", "f", { a: 2 })],
      verdicts: [complete("tool_calls")],
    });
  });
  // P14, B45
  test("calls in chunks of their own are numbered over the stream", () => {
    expect(
      both(calling({ name: "f", args: {} }), calling({ name: "f", args: {} }), calling({ name: "g" }), stop),
    ).toMatchObject({
      calls: [call("call_0", "f", {}), call("call_1", "f", {}), call("call_2", "g", {})],
      verdicts: [complete("tool_calls")],
    });
  });
  test("ids that are given are kept, blank and repeated ones are not", () => {
    const calls = [
      { id: "x", name: "f" },
      { id: " ", name: "f" },
      { id: "x", name: "f" },
    ];
    expect(both(calling(...calls), stop).calls.map(({ toolCallId }) => toolCallId)).toEqual(["x", "call_1", "x_2"]);
  });
  // B57
  test("a call with a thought's signature, or marked as a thought, is a call; an empty signed text is nothing", () => {
    const signed = geminiChunk([
      { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" },
      { functionCall: { name: "g", args: {} }, thought: true, thoughtSignature: "c2ln" },
      { text: "", thoughtSignature: "c2ln" },
    ]);
    expect(both(signed, stop)).toMatchObject({
      text: "",
      reasoning: "",
      calls: [call("call_0", "f", { a: 1 }), call("call_1", "g", {})],
    });
  });
  test("a signed text is text, a thought is reasoning", () => {
    const chunk = geminiChunk([
      { text: "T", thought: true },
      { text: "a", thoughtSignature: "c2ln" },
      { text: "b", thought: false },
    ]);
    expect(both(chunk, stop)).toMatchObject({ text: "ab", reasoning: "T" });
  });
  test("in the chunk with the reason", () => {
    const parts = [{ functionCall: { name: "f", args: {} } }];
    expect(both(geminiChunk(parts, { finishReason: "STOP" }))).toMatchObject({
      calls: [call("call_0", "f", {})],
      verdicts: [complete("tool_calls")],
    });
    expect(both(geminiChunk(parts, { finishReason: "OTHER" })).verdicts).toEqual([complete("tool_calls")]);
    expect(both(geminiChunk(parts, { finishReason: "MAX_TOKENS" }))).toMatchObject({
      calls: [call("call_0", "f", {})],
      verdicts: [complete("length")],
    });
  });
  test.each<[string, Fields]>([
    ["no name", { args: { a: 1 } }],
    ["arguments that are a list", { name: "f", args: [1] }],
    ["half of the arguments as text", { name: "f", args: '{"a":' }],
  ])("R-PROV-3 %s is a fault, not an empty success", (_name, entry) => {
    expect(both(calling(entry), stop)).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
  });
  test("a failure leaves no call", () => {
    expect(both(calling({ name: "f", args: {} }), overload)).toMatchObject({ calls: [], verdicts: [overloaded] });
  });
  test("R-PROV-3 more calls than any model makes are refused", () => {
    const many = Array.from({ length: 257 }, () => ({ name: "f", args: {} }));
    expect(both(calling(...many), stop).verdicts).toMatchObject([failed("malformed")]);
  });
});

test("R-PROV-18 an end that is a failure is one at once, with nothing to wait for", () => {
  for (const finishReason of ["ERROR", "CANCELLED"]) {
    expect(readPackets("gemini", [toBytes(sseEvent({ candidates: [{ finishReason }] }))])).toMatchObject([
      failed("upstream_5xx"),
    ]);
  }
});

describe("R-PROV-5 streamed arguments", () => {
  const begun = calling({ name: "f", willContinue: true });
  const more = (...partialArgs: readonly Fields[]) => calling({ partialArgs, willContinue: true });
  const string = (jsonPath: string, stringValue: string, willContinue?: boolean): Fields => ({
    jsonPath,
    stringValue,
    ...(willContinue !== undefined && { willContinue }),
  });
  const input = (...chunks: readonly unknown[]): unknown => {
    const { calls, verdicts, progress } = both(...chunks, stop);
    expect(verdicts).toEqual([complete("tool_calls")]);
    expect(calls).toHaveLength(1);
    // What was shown in pieces is the input's own text.
    expect(JSON.parse(progress["call_0"] ?? "")).toEqual(calls[0]?.input);
    return calls[0]?.input;
  };

  test("a string in pieces, ended by an empty one, and the empty terminator", () => {
    const pieces = [more(string("$.a", "New ", true)), more(string("$.a", "Delhi", true)), more(string("$.a", ""))];
    expect(input(begun, ...pieces, calling({}))).toEqual({ a: "New Delhi" });
  });
  test("pieces without any mark that more will come, and a last one without a terminator", () => {
    expect(
      input(begun, more(string("$.a", "x")), more(string("$.a", "y")), calling({ partialArgs: [string("$.b", "z")] })),
    ).toEqual({ a: "xy", b: "z" });
  });
  test("the terminator may be missing altogether", () => {
    expect(input(begun, more(string("$.a", "x", true)))).toEqual({ a: "x" });
  });
  test("numbers, booleans, null and empty strings", () => {
    const values = [
      { jsonPath: "$.n", numberValue: -0.5 },
      { jsonPath: "$.zero", numberValue: 0 },
      { jsonPath: "$.no", boolValue: false },
      { jsonPath: "$.nil", nullValue: "NULL_VALUE" },
      { jsonPath: "$.nil2", nullValue: null },
      string("$.s", ""),
    ];
    expect(input(begun, more(...values), calling({}))).toEqual({
      n: -0.5,
      zero: 0,
      no: false,
      nil: null,
      nil2: null,
      s: "",
    });
  });
  test("nested objects and lists", () => {
    const paths = [
      "$.r.list[0].amount",
      "$.r.list[0].name",
      "$.r.list[1].amount",
      "$.r.deep[0][0]",
      "$.r.deep[0][1].x",
      "$.r.deep[1]",
      "$.last",
    ];
    expect(
      input(begun, ...paths.map((path) => more(string(path, path))), calling({ willContinue: true }), calling({})),
    ).toEqual({
      r: {
        list: [{ amount: paths[0], name: paths[1] }, { amount: paths[2] }],
        deep: [[paths[3], { x: paths[4] }], paths[5]],
      },
      last: paths[6],
    });
  });
  test("names in brackets, and characters that JSON escapes, cut anywhere", () => {
    const wire = [String.raw`$['it\'s "x"'].é`, String.raw`$["a\"b"]`, "$.__proto__", "$['']"];
    const pieces = wire.flatMap((path) => [
      more(string(path, '"\\\n')),
      more(string(path, "\uD83C")),
      more(string(path, "\uDF89")),
    ]);
    expect(JSON.stringify(input(begun, ...pieces, calling({})))).toBe(
      String.raw`{"it's \"x\"":{"é":"\"\\\n🎉"},"a\"b":"\"\\\n🎉","__proto__":"\"\\\n🎉","":"\"\\\n🎉"}`,
    );
  });
  test("no arguments", () => {
    expect(input(begun, calling({}))).toEqual({});
    expect(input(begun)).toEqual({});
  });
  test("some arguments whole beside the streamed rest, and the name again in every piece", () => {
    const pieces = [
      calling({ name: "f", args: { a: { b: 1 } }, willContinue: true }),
      calling({ name: "f", partialArgs: [string("$.c", "x", true)], willContinue: true }),
      calling({ name: "f", partialArgs: [string("$.c", "y")], willContinue: true }),
    ];
    expect(input(...pieces, calling({}))).toEqual({ a: { b: 1 }, c: "xy" });
  });
  test("begun with the first piece", () => {
    expect(
      input(calling({ name: "f", partialArgs: [string("$.a", "x", true)], willContinue: true }), calling({})),
    ).toEqual({ a: "x" });
  });
  test("progress is shown piece by piece under the call's id", () => {
    const wire = geminiEvents([
      calling({ name: "f", id: "x", willContinue: true }),
      more(string("$.a", "b", true)),
      more(string("$.a", "c")),
    ]);
    const delta = (inputText: string) => ({ type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText });
    expect(events(...wire)).toEqual([delta("{"), delta('"a":"b'), delta("c"), truncated]);
  });
  test("several calls, one whole between them, with and without terminators", () => {
    const chunks = [
      begun,
      more(string("$.a", "1")),
      begun,
      more(string("$.a", "2")),
      calling({}),
      calling({ name: "g" }),
      begun,
      more(string("$.a", "3")),
    ];
    expect(both(...chunks, stop).calls).toEqual([
      call("call_0", "f", { a: "1" }),
      call("call_1", "f", { a: "2" }),
      call("call_2", "g", {}),
      call("call_3", "f", { a: "3" }),
    ]);
  });
  test("another id is another call, even under the same name", () => {
    const piece = (id: string, value: string) =>
      calling({ name: "f", id, partialArgs: [string("$.a", value)], willContinue: true });
    expect(both(piece("x", "1"), piece("x", "2"), piece("y", "3"), stop).calls).toEqual([
      call("x", "f", { a: "12" }),
      call("y", "f", { a: "3" }),
    ]);
  });
  test.each(["MAX_TOKENS", "SAFETY"])("a call that is cut by %s is left out, and it is said so", (finishReason) => {
    for (const chunks of [[begun], [begun, more(string("$.a", "x"))]]) {
      expect(both(calling({ name: "g" }), ...chunks, geminiChunk([], { finishReason }))).toMatchObject({
        calls: [call("call_0", "g", {})],
        diagnostics: ["tool_call_incomplete"],
      });
    }
  });
  test("R-PROV-3 a call that is open at an unknown end is a fault", () => {
    expect(both(begun, geminiChunk([], { finishReason: "OTHER" }))).toMatchObject({
      calls: [],
      verdicts: [failed("malformed")],
    });
  });
  test.each<[string, Fields[]]>([
    ["a path back into a closed object", [string("$.a.x", "1"), string("$.b", "2"), string("$.a.y", "3")]],
    ["a value twice", [string("$.a", "1"), string("$.b", "2"), string("$.a", "3")]],
    ["a value of two types", [string("$.a", "1"), { jsonPath: "$.a", numberValue: 1 }]],
    ["a value that is an object too", [string("$.a", "1"), string("$.a.b", "2")]],
    ["an object that is a list too", [string("$.a.b", "1"), string("$.a[0]", "2")]],
    ["a list that is an object too", [string("$.a[0]", "1"), string("$.a.b", "2")]],
    ["a gap in a list", [string("$.a[1]", "1")]],
    ["a list at the top", [string("$[0]", "1")]],
    ["the whole input", [string("$", "1")]],
    ["no path", [{ stringValue: "1" }]],
    ["a path that leads to many values", [string("$..a", "1")]],
    ["a wildcard", [string("$.a[*]", "1")]],
    ["an unfinished path", [string("$.a['b", "1")]],
    ["text before the path", [string("a", "1")]],
  ])("R-PROV-3 %s is a fault", (_name, partials) => {
    expect(both(begun, more(...partials), calling({}), stop)).toMatchObject({
      calls: [],
      verdicts: [failed("malformed")],
    });
  });
  test.each([20_000, 200_000, 400_000])("R-PROV-3 a whole member nested %i deep is a fault, not a crash", (depth) => {
    const deep = "[".repeat(depth) + "]".repeat(depth);
    const [begins, member] = [
      begun,
      calling({ args: { x: "DEEP" }, partialArgs: [string("$.n", "1")], willContinue: true }),
    ];
    const wire = [begins, member, stop]
      .map((value) => sseEvent(JSON.stringify(value).replace('"DEEP"', deep)))
      .join("");
    expect(readPackets("gemini", [toBytes(wire)], 8_000_000).at(-1)).toMatchObject(failed("malformed"));
  });
  test("pieces without a value, a call or a type change nothing", () => {
    const odd = calling({
      partialArgs: [
        { jsonPath: "$.b", willContinue: true },
        { jsonPath: "$.c", stringValue: 7 },
      ],
      willContinue: true,
    });
    expect(input(calling({}), calling({ willContinue: true }), begun, odd, more(string("$.a", "x")))).toEqual({
      a: "x",
    });
  });
  // B41
  test("a large input in many pieces is read in linear time", () => {
    const chunks = [begun, ...Array.from({ length: 20_000 }, () => more(string("$.a", "xxxxxxxx", true))), stop];
    expect(reading(...geminiEvents(chunks)).calls).toEqual([call("call_0", "f", { a: "x".repeat(160_000) })]);
  }, 60_000);
});

describe("R-PROV-5 usage", () => {
  const usage = (...reports: readonly Fields[]) =>
    both(...reports.map((usageMetadata) => ({ ...text("a"), usageMetadata })), stop).usage;
  test("is cumulative: the last report wins, and what it leaves out stays", () => {
    expect(
      usage(
        { promptTokenCount: 5, cachedContentTokenCount: 4, totalTokenCount: 5 },
        { promptTokenCount: 5, thoughtsTokenCount: 7, totalTokenCount: 12 },
        { promptTokenCount: 6, candidatesTokenCount: 2, totalTokenCount: 15 },
      ),
    ).toEqual({ inputTokens: 6, outputTokens: 9, totalTokens: 15, reasoningTokens: 7, cachedInputTokens: 4 });
  });
  test("output is all that was generated, thoughts included, whichever of the two is reported", () => {
    expect(usage({ candidatesTokenCount: 2, thoughtsTokenCount: 3 })).toEqual({ outputTokens: 5, reasoningTokens: 3 });
    expect(usage({ candidatesTokenCount: 2 })).toEqual({ outputTokens: 2 });
    expect(usage({ thoughtsTokenCount: 3 })).toEqual({ outputTokens: 3, reasoningTokens: 3 });
  });
  test("no total is derived, and nothing is known where nothing was counted", () => {
    expect(usage({ promptTokenCount: 5, candidatesTokenCount: 2 })).toEqual({ inputTokens: 5, outputTokens: 2 });
    expect(
      usage({ trafficType: "ON_DEMAND" }, { promptTokenCount: "5" }, { candidatesTokenCount: -1 }),
    ).toBeUndefined();
  });
});

describe("R-PROV-2 payloads of other shapes", () => {
  test("several values glued together, a reason or an error among them", () => {
    const glue = (...chunks: readonly unknown[]) => sseEvent(chunks.map((chunk) => JSON.stringify(chunk)).join(""));
    expect(reading(glue(text("a}{"), text("b"), stop))).toMatchObject({ text: "a}{b", verdicts: [complete("stop")] });
    expect(reading(glue(text("a"), overload))).toMatchObject({ text: "a", verdicts: [overloaded] });
    expect(reading(glue(text("a"), stop).trimEnd())).toMatchObject({ text: "a", verdicts: [complete("stop")] });
  });
  // B39
  test("a list is a list of chunks; a string, a number or null is none", () => {
    const wire = [
      sseEvent([text("a"), text("b")]),
      ...['"error"', "7", "null", "[]", '["x"]', "{}"].map((payload) => sseEvent(payload)),
      sseEvent([stop]),
    ];
    expect(reading(...wire)).toMatchObject({ text: "ab", verdicts: [complete("stop")] });
    expect(reading(sseEvent([overload])).verdicts).toMatchObject([overloaded]);
    expect(reading(JSON.stringify([[text("a")], "x", 7, null, [stop]]))).toMatchObject({
      text: "a",
      verdicts: [complete("stop")],
    });
  });
  test("events with names, comments and blank payloads", () => {
    const wire = [
      ": ping\n\n",
      sseEvent(""),
      sseEvent(text("a"), {}, "message"),
      "retry: 3\n\n",
      sseEvent(stop, {}, "done"),
    ];
    expect(reading(...wire)).toMatchObject({ text: "a", verdicts: [complete("stop")] });
  });
  test("parts that are none of ours", () => {
    const parts = [
      { inlineData: { mimeType: "image/png", data: "AA==" } },
      { executableCode: { code: "1" } },
      null,
      7,
      { text: 7 },
      { functionCall: null },
    ];
    expect(
      both(
        { candidates: [null, 7, { content: { parts } }] },
        { candidates: {} },
        { candidates: [{ content: 7 }] },
        stop,
      ),
    ).toMatchObject({
      text: "",
      calls: [],
      verdicts: [complete("stop")],
    });
  });
  test("only the first candidate counts", () => {
    const other = { index: 1, content: { parts: [{ text: "NO" }] }, finishReason: "SAFETY" };
    expect(both({ candidates: [other, { content: { parts: [{ text: "a" }] } }] }, stop)).toMatchObject({
      text: "a",
      verdicts: [complete("stop")],
    });
  });
  test("the model is told once", () => {
    expect(both({ ...text("a"), modelVersion: "m" }, { ...stop, modelVersion: "n" }).models).toEqual(["m"]);
  });
});

describe("R-PROV-3 errors", () => {
  // P16
  test("an error object first, after text, and after a reason", () => {
    expect(both(overload).verdicts).toMatchObject([overloaded]);
    expect(both(text("a"), overload, stop)).toMatchObject({ text: "a", verdicts: [overloaded] });
    expect(both(text("a"), stop, overload)).toMatchObject({ text: "a", verdicts: [overloaded] });
  });
  // B19
  test.each<[string, string]>([
    ["on one line", JSON.stringify(overload)],
    ["over many lines", JSON.stringify(overload, null, 2)],
    ["with CRLF", `${JSON.stringify(overload, null, 2).replaceAll("\n", "\r\n")}\r\n`],
    ["in a list", JSON.stringify([overload], null, 2)],
    ["with more after it", `${JSON.stringify(overload)}\n\n${sseEvent(stop)}`],
  ])("without data: after good chunks, %s, is the real cause", (_name, tail) => {
    expect(reading(...geminiEvents([text("a")], { lineEnd: "\r\n" }), tail)).toMatchObject({
      text: "a",
      verdicts: [overloaded],
    });
    // Also when it breaks an event off, and when it is all there is.
    expect(reading('data: {"candidates":[\n', tail).verdicts).toMatchObject([overloaded]);
    if (!tail.startsWith("[")) expect(reading(tail).verdicts).toMatchObject([overloaded]);
  });
  test("half of such a tail is a cut", () => {
    expect(reading(...geminiEvents([text("a")]), JSON.stringify(overload, null, 2).slice(0, -3)).verdicts).toEqual([
      truncated,
    ]);
  });
  test("in an array: an element, an element without its comma, an object behind the bracket, an object instead of it", () => {
    const error = JSON.stringify(overload, null, 2);
    const open = geminiArray([text("a")], false).join("");
    for (const wire of [`${open},${error}]`, `${open},\r\n${error}`, `${open}${error}`, `${open}]\n${error}`]) {
      expect(reading(wire)).toMatchObject({ text: "a", verdicts: [overloaded] });
    }
    expect(reading(error).verdicts).toMatchObject([overloaded]);
    expect(reading(`[${error}]`).verdicts).toMatchObject([overloaded]);
  });
  test("an event named error, whatever it holds", () => {
    expect(reading(sseEvent(text("a")), sseEvent(overload, {}, "error"))).toMatchObject({
      text: "a",
      verdicts: [overloaded],
    });
    for (const payload of ["", "oops", "{}", '{"code":503,"status":"UNAVAILABLE"}']) {
      expect(reading(sseEvent(payload, {}, "error")).verdicts[0]?.verdict).toBe("failed");
    }
  });
  test("R-PROV-4 a RetryInfo's delay is the wait, a daily quota is a quota", () => {
    const limit = (...details: readonly Fields[]) =>
      both(geminiErrorObject(429, "RESOURCE_EXHAUSTED", { details })).verdicts;
    expect(limit(quotaFailure("RequestsPerMinutePerProject-FreeTier"), retryInfo("34.4s"))).toMatchObject([
      failed("rate_limited", { retryAfterMs: 34_400, providerCode: "RESOURCE_EXHAUSTED" }),
    ]);
    const [daily] = limit(retryInfo("7s"), quotaFailure("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
    expect(daily).toMatchObject(failed("quota", { providerCode: "RESOURCE_EXHAUSTED" }));
    const odd = [
      null,
      7,
      { retryDelay: 7 },
      { retryDelay: "soon" },
      { violations: [null, {}] },
      { violations: 1 },
      errorInfo(""),
    ];
    expect(JSON.stringify(limit(...odd.map((detail) => Object(detail))))).not.toContain("retryAfterMs");
  });
  test.each<[number | string, string, string]>([
    [400, "INVALID_ARGUMENT", "invalid_request"],
    [401, "UNAUTHENTICATED", "auth"],
    [403, "PERMISSION_DENIED", "permission"],
    [404, "NOT_FOUND", "model_not_found"],
    [429, "RESOURCE_EXHAUSTED", "rate_limited"],
    [500, "INTERNAL", "upstream_5xx"],
    [503, "UNAVAILABLE", "overloaded"],
    [504, "DEADLINE_EXCEEDED", "upstream_5xx"],
    ["", "INVALID_ARGUMENT", "invalid_request"],
    ["", "RESOURCE_EXHAUSTED", "rate_limited"],
    ["", "UNAVAILABLE", "overloaded"],
    ["", "UNAUTHENTICATED", "auth"],
    ["", "UNKNOWN", "unknown"],
  ])("code %j with status %s is %s", (code, status, failureClass) => {
    expect(both({ error: { code, status, message: "secret prose" } }).verdicts).toMatchObject([failed(failureClass)]);
    expect(JSON.stringify(events(sseEvent({ error: { code, status, message: "secret prose" } })))).not.toContain(
      "prose",
    );
  });
  test.each<[string, string]>([
    ["an event that is not JSON", sseEvent("oops")],
    ["an event with text behind its JSON", sseEvent(`${JSON.stringify(stop)} oops`)],
    ["an element that is not JSON", '[{"a":1},{a:1}]'],
    ["a word in an array", "[{},oops]"],
    ["an array that goes on with something else", "[{}}]"],
  ])("%s is malformed", (_name, wire) => expect(reading(wire).verdicts).toMatchObject([failed("malformed")]));

  test("an event or element beyond the limit is malformed, white space before it counted too", () => {
    const long = JSON.stringify(text("x".repeat(200)));
    for (const wire of [
      sseEvent(long),
      `[${long}]`,
      `[{},"${"x".repeat(200)}`,
      " ".repeat(300),
      `{${'\n"a":1,'.repeat(50)}`,
    ]) {
      const found = readPackets("gemini", splitBytes(wire, [100]), 200);
      expect(found).toMatchObject([failed("malformed")]);
    }
    expect(readPackets("gemini", [toBytes(`[${'{"a":1},'.repeat(100)}{}]`)], 200)).toEqual([truncated]);
  });
  test("what can be a stream, and what is an answer to class", () => {
    expect(["d", "e", ":", "["].map((character) => gemini.starts(character))).toEqual([true, true, true, true]);
    expect(["{", "<"].map((character) => gemini.starts(character))).toEqual([false, false]);
  });
});

test("R-PROV-10 models that refuse a conversation ending in their own turn are told apart", () => {
  const continues = (model?: string) =>
    gemini.continues({ id: "t", adapter: "gemini", ...(model !== undefined && { model }) });
  expect(
    ["gemini-2.0-flash", "models/gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3.1-pro-preview"].map(continues),
  ).toEqual([true, true, true, true]);
  expect(
    ["gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-flash-latest", "gemini-4-argon", "tuned", undefined].map(
      continues,
    ),
  ).toEqual([false, false, false, false, false, false]);
});
