// The OpenAI Chat Completions reader: what its many servers send, and what must come of it.
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { openAiChatReader } from "../../src/providers/openai-chat.ts";
import {
  openAiChoice as choice,
  openAiDone as done,
  openAiPieces as pieces,
} from "../support/corpus/openai-chat-pieces.ts";
import { read, readWhole } from "../support/corpus/reading.ts";
import { openAiChat, openAiErrorEvent, openAiEvent } from "../support/provider-bytes/openai-chat.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("openai-chat", wire);
const reading = (...wire: readonly string[]) => read("openai-chat", wire);
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string, more: Record<string, unknown> = {}) => ({
  type: "verdict",
  verdict: "failed",
  failure: { failureClass, message: expect.any(String), ...more },
});

test("R-PROV-5 a whole answer becomes its events in order", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 508 };
  const wire = openAiChat({ reasoning: ["Hm"], deltas: ["Hel", "lo"], usage });
  expect(events(...wire)).toEqual([
    { type: "model", model: "test-model" },
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "finishing" },
    // Totals are taken as they come: some providers count reasoning outside of output.
    { type: "usage", usage: { inputTokens: 3, outputTokens: 5, totalTokens: 508 } },
    complete("stop"),
  ]);
});

test("R-PROV-5 text is given out with the packet that brings it", () => {
  const reader = openAiChatReader({ maxEvent: 1000 });
  const first = choice({ content: "a" });
  const second = choice({ content: "b" });
  expect(reader.feed(toBytes(first + second.slice(0, 20)))).toEqual([{ type: "text", text: "a" }]);
  expect(reader.feed(toBytes(second.slice(20)))).toEqual([{ type: "text", text: "b" }]);
});

describe("R-PROV-1 the end", () => {
  // B43
  test("a finish_reason says finishing, and only [DONE] or the end completes: usage in between is kept", () => {
    const reader = openAiChatReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(choice({ content: "a" }, "stop")))).toEqual([
      { type: "text", text: "a" },
      { type: "finishing" },
    ]);
    expect(reader.feed(toBytes(openAiEvent({ choices: [], usage: { prompt_tokens: 1 } })))).toEqual([
      { type: "usage", usage: { inputTokens: 1 } },
    ]);
    expect(reader.end()).toEqual([complete("stop")]);
  });
  // B21
  test("[DONE] ends the reading at once; nothing after it is read", () => {
    const reader = openAiChatReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(choice({}, "stop") + done + choice({ content: "late" })))).toEqual([
      { type: "finishing" },
      complete("stop"),
    ]);
    expect([...reader.feed(toBytes(choice({ content: "late" }))), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test("half an event after the finish_reason takes only the usage away", () => {
    expect(reading(choice({ content: "a" }, "stop"), 'data: {"choices":[],"us')).toMatchObject({
      text: "a",
      verdicts: [complete("stop")],
    });
  });
  // B2, B6, B24, B85
  test.each([
    ["nothing", []],
    ["white space", ["\n\n \n"]],
    ["only comments", [": a\n\n", ": b\n"]],
    ["only [DONE]", [done]],
    ["only the role", [choice({ role: "assistant", content: "" })]],
    ["text", [choice({ content: "a" })]],
    ["text and [DONE]", [choice({ content: "a" }), done]],
    ["usage with zeros and [DONE]", [openAiEvent({ choices: [], usage: { total_tokens: 0 } }), done]],
    ["a finish of another choice", [openAiEvent({ choices: [{ index: 1, delta: {}, finish_reason: "stop" }] }), done]],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));

  // B62
  test.each([[""], [null], [0], [false], [{}], [["stop"]]])("a finish_reason %j is none", (reason) => {
    expect(reading(choice({ content: "a" }, reason), done).verdicts).toEqual([truncated]);
  });
});

describe("R-PROV-5 finish reasons", () => {
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["model_length", "length"],
    ["incomplete", "length"],
    ["content_filter", "content_filter"],
    ["eos", undefined],
    ["constructor", undefined],
    ["__proto__", undefined],
  ])("%s is %s", (reason, stopReason) => {
    expect(reading(choice({ content: "a" }), choice({}, reason), done).verdicts).toEqual([complete(stopReason)]);
  });
  test("the last of two counts", () => {
    const wire = [choice({ content: "a" }, "stop"), choice({}, "content_filter"), done];
    expect(reading(...wire).verdicts).toEqual([complete("content_filter")]);
  });
  // B5, B13, B15
  test.each([
    ["error", "upstream_5xx"],
    ["abort", "upstream_5xx"],
    ["insufficient_system_resource", "overloaded"],
  ])("R-PROV-3 %s is a failure, whatever follows", (reason, failureClass) => {
    const wire = [choice({ content: "a" }), choice({ content: "" }, reason, { usage: null }), done];
    expect(reading(...wire)).toMatchObject({ text: "a", verdicts: [failed(failureClass)] });
  });
});

describe("R-PROV-5 content", () => {
  test("empty and null content shows nothing, white space does", () => {
    const wire = [null, "", " ", "\n", "a"].map((content) => choice({ content }));
    expect(reading(...wire, choice({}, "stop")).text).toBe(" \na");
  });
  // B60
  test("arrays of parts: thinking and text; unknown parts are passed over", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "so" }, { type: "reference" }, null] },
      { type: "image_url", image_url: "x" },
      null,
      "loose",
      { type: "text", text: "4" },
    ];
    expect(reading(choice({ content }, "stop"))).toMatchObject({ text: "4", reasoning: "so" });
  });
  test("both spellings of reasoning in one event are one reasoning", () => {
    expect(reading(choice({ reasoning: "x", reasoning_content: "x" }, "stop")).reasoning).toBe("x");
    expect(reading(choice({ reasoning: "x", reasoning_content: null, content: null }, "stop")).reasoning).toBe("x");
  });
  test("R-PROV-8 a refusal is text, and a stop after it is content_filter", () => {
    expect(reading(choice({ refusal: "No." }), choice({}, "stop"), done)).toMatchObject({
      text: "No.",
      verdicts: [complete("content_filter")],
    });
  });
  test("R-PROV-8 a content filter without any output is said so, for the run to judge", () => {
    expect(events(choice({}, "content_filter"), done)).toEqual([{ type: "finishing" }, complete("content_filter")]);
  });
  // B59
  test("empty choices, a choice without delta, and a choice without index", () => {
    const wire = [
      openAiEvent({ choices: [], prompt_filter_results: [{}], model: "" }),
      openAiEvent({ choices: [{ delta: { content: "a" } }], model: "m-1" }),
      openAiEvent({ choices: [{ index: 0, content_filter_results: {} }], model: "m-2" }),
      openAiEvent({ choices: [{ delta: {}, finish_reason: "stop" }] }),
    ];
    expect(reading(...wire)).toMatchObject({ text: "a", models: ["m-1"], verdicts: [complete("stop")] });
  });
  test("keys that are absent instead of null", () => {
    const wire = [
      openAiEvent({ choices: [{ index: 0, delta: { role: "assistant", reasoning_content: "so" } }] }),
      openAiEvent({ choices: [{ index: 0, delta: { content: "a" } }] }),
      openAiEvent({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    ];
    expect(reading(...wire, done)).toMatchObject({ text: "a", reasoning: "so", verdicts: [complete("stop")] });
  });
  test("other choices belong to nobody", () => {
    const wire = openAiEvent({
      choices: [
        { index: 1, delta: { content: "no" } },
        { index: 0, delta: { content: "yes" }, finish_reason: "stop" },
      ],
    });
    expect(reading(wire).text).toBe("yes");
  });
  // B23
  test("[DONE] is an end only as the whole payload", () => {
    const wire = [choice({ content: "[DONE]" }), choice({ content: '"[DONE]"' }), "data:  [DONE] \n\n"];
    expect(reading(choice({}, "stop"), ...wire)).toMatchObject({
      text: '[DONE]"[DONE]"',
      verdicts: [complete("stop")],
    });
  });
  // B28
  test("white space around a payload is no fault", () => {
    expect(reading('data:   {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}  \n\n').text).toBe("a");
  });
  test("a whole answer in one event is shown, not lost", () => {
    const message = {
      role: "assistant",
      content: "Hi",
      tool_calls: [{ id: "x", function: { name: "f", arguments: "{}" } }],
    };
    const wire = openAiEvent({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    expect(reading(wire, done)).toMatchObject({
      text: "Hi",
      calls: [{ toolCallId: "x", toolName: "f", input: {} }],
      verdicts: [complete("tool_calls")],
    });
  });
  test("R-OUT-6 a whole answer after deltas is stated as the final text, and repeats nothing", () => {
    const last = openAiEvent({ choices: [{ index: 0, message: { content: "Hi there" }, finish_reason: "stop" }] });
    expect(events(choice({ content: "Hi" }), last, done)).toEqual([
      { type: "text", text: "Hi" },
      { type: "finishing" },
      { ...complete("stop"), finalText: "Hi there" },
    ]);
  });
  test("R-PROV-22 R-OUT-6 a message that says otherwise than the one before is the final text", () => {
    const said = (content: string) => openAiEvent({ choices: [{ index: 0, message: { content } }] });
    const wire = [
      said("Hell"),
      said("Help me"),
      openAiEvent({ choices: [{ index: 0, message: {}, finish_reason: "stop" }] }),
    ];
    expect(events(...wire, done)).toEqual([
      { type: "text", text: "Hell" },
      { type: "finishing" },
      { ...complete("stop"), finalText: "Help me" },
    ]);
  });
  test("a message beside the delta is a copy, and not shown", () => {
    const both = (content: string, all: string) =>
      openAiEvent({ choices: [{ index: 0, delta: { content }, message: { content: all } }] });
    expect(reading(both("a", "a"), both("b", "ab"), choice({}, "stop"))).toMatchObject({
      text: "ab",
      verdicts: [complete("stop")],
    });
  });
});

describe("R-PROV-22 shapes of content", () => {
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  test("R-PROV-22 content that is nested too deeply to be written is malformed", () => {
    const wire = `data: {"choices":[{"delta":{"content":${deep}}}]}\n\n`;
    expect(reading(wire)).toMatchObject({ text: "", verdicts: [failed("malformed")] });
  });
  test.each([
    [true, "true"],
    [0, "0"],
    [[1, 2], "[1,2]"],
    [[], ""],
    [null, ""],
  ])("R-PROV-22 the content %j is %j", (content, text) => {
    expect(reading(choice({ content }), choice({}, "stop"), done)).toMatchObject({
      text,
      verdicts: [complete("stop")],
    });
  });
});

describe("R-PROV-5 R-PROV-24 usage", () => {
  const report = (usage: unknown, more: Record<string, unknown> = {}) => openAiEvent({ choices: [], usage, ...more });
  test("details are kept, wrong counts are not", () => {
    const wire = report({
      prompt_tokens: 10,
      completion_tokens: -1,
      total_tokens: "12",
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2.5 },
    });
    expect(reading(wire).usage).toEqual({ inputTokens: 10, cachedInputTokens: 4 });
  });
  test.each([[null], [[]], ["12"], [{}], [{ prompt_tokens: null }]])("usage %j is none", (usage) => {
    expect(reading(report(usage)).usage).toBeUndefined();
  });
  test("usage in x_groq", () => {
    expect(reading(report(undefined, { x_groq: { usage: { prompt_tokens: 2 } } })).usage).toEqual({ inputTokens: 2 });
  });
  test("usage is no end", () => {
    const wire = [choice({ content: "a" }, null, { usage: { total_tokens: 1 } }), choice({ content: "b" })];
    expect(reading(...wire)).toMatchObject({ text: "ab", verdicts: [truncated] });
  });
});

describe("R-PROV-3 errors inside a 200", () => {
  // P3, B11, B65
  test("as the first event: nothing was shown", () => {
    expect(events(openAiErrorEvent("rate_limit_error", "rate_limit_exceeded"), done)).toEqual([
      failed("rate_limited", { providerCode: "rate_limit_exceeded" }),
    ]);
  });
  // P2, B16
  test("after text", () => {
    expect(reading(choice({ content: "a" }), openAiErrorEvent("overloaded_error", null))).toMatchObject({
      text: "a",
      verdicts: [failed("overloaded", { providerCode: "overloaded_error" })],
    });
  });
  test("after the finish_reason it still is one", () => {
    expect(reading(choice({ content: "a" }, "stop"), openAiErrorEvent("server_error", null)).verdicts).toEqual([
      failed("upstream_5xx", { providerCode: "server_error" }),
    ]);
  });
  test.each<[string, unknown, string]>([
    // B10
    ["the code is more than the type", { type: "invalid_request_error", code: "request_timeout" }, "upstream_5xx"],
    // B14
    [
      "a prompt that is too long",
      { type: "invalid_request_error", message: "prompt is too long: 9 > 8" },
      "context_length",
    ],
    ["a numeric code is a status", { code: 400, message: "no" }, "invalid_request"],
    ["a numeric code in quotes", { code: "429" }, "rate_limited"],
    ["an unknown word", { type: "weird" }, "unknown"],
    ["a plain text", "it broke", "unknown"],
    ["a status word", { status: "RESOURCE_EXHAUSTED", code: 429 }, "rate_limited"],
  ])("%s", (_name, error, failureClass) => {
    const [verdict] = reading(openAiEvent({ error })).verdicts;
    expect(verdict).toMatchObject({ verdict: "failed", failure: { failureClass } });
  });
  test("an error in x_groq", () => {
    expect(reading(openAiEvent({ choices: [], x_groq: { error: "over capacity" } })).verdicts).toEqual([
      failed("overloaded"),
    ]);
  });
  test.each([[null], [""], [false], [0]])("error %j is none", (error) => {
    expect(reading(choice({ content: "a" }, "stop", { error })).verdicts).toEqual([complete("stop")]);
  });
  test.each([
    ["a wrapped error", { error: { type: "overloaded_error" } }, "overloaded"],
    ["a bare one", { type: "overloaded_error", message: "x" }, "overloaded"],
    ["a text", '"overloaded"', "overloaded"],
    ["prose that is no JSON", "Internal Server Error", "upstream_5xx"],
    ["nothing", "", "unknown"],
  ])("an event by the name of error: %s", (_name, payload, failureClass) => {
    const [verdict] = reading(sseEvent(payload, {}, "error"), done).verdicts;
    expect(verdict).toMatchObject({ verdict: "failed", failure: { failureClass } });
  });
  test("half an error event is a cut", () => {
    expect(reading('event: error\ndata: {"error":{"ty').verdicts).toEqual([truncated]);
    expect(reading('event: error\ndata: {"type":"overloaded_error"}').verdicts).toEqual([
      failed("overloaded", { providerCode: "overloaded_error" }),
    ]);
  });
  test("R-PROV-9 the message is ours", () => {
    const [verdict] = reading(openAiErrorEvent("server_error", null, { message: "SECRET prompt text" })).verdicts;
    expect(JSON.stringify(verdict)).not.toContain("SECRET");
  });
  test.each(["{oops}", "<html>", "{", "undefined", "NaN", "{}{", "{}{oops}", "{} x"])(
    "a payload %j is malformed, and what follows is not read",
    (payload) => {
      expect(reading(`data: ${payload}\n\n`, choice({ content: "late" }, "stop"), done)).toMatchObject({
        text: "",
        verdicts: [failed("malformed")],
      });
    },
  );
  test("R-PROV-3 values glued into one event are read in order up to the end, and not at all when one of them is none", () => {
    const [a, b] = ["a", "b"].map((content) => choice({ content }).slice("data: ".length).trim());
    const stop = choice({}, "stop").slice("data: ".length).trim();
    expect(reading(`data: ${a}${b}${stop}[DONE]\n\n`, choice({ content: "late" }))).toMatchObject({
      text: "ab",
      verdicts: [complete("stop")],
    });
    expect(reading(`data: ${a} ${b}{oops}\n\n`)).toMatchObject({ text: "", verdicts: [failed("malformed")] });
    expect(reading(`data: ${a}\ndata: ${stop}`)).toMatchObject({ text: "a", verdicts: [complete("stop")] });
    expect(reading(`data: ${a}{"choices":[{"del`)).toMatchObject({ text: "", verdicts: [truncated] });
  });
  // B39
  test.each(["null", "1", '"text"', "[]", "[{}]", "true", "{}"])("a payload %s is passed over", (payload) => {
    expect(reading(`data: ${payload}\n\n`, choice({ content: "a" }, "stop"), done).text).toBe("a");
  });
});

describe("R-PROV-5 tool calls", () => {
  const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });
  test("progress is shown in pieces, the call whole at the end", () => {
    const wire = openAiChat({ toolCalls: [{ id: "x", name: "f", arguments: ['{"a":', "1}"] }] });
    expect(events(...wire)).toEqual([
      { type: "model", model: "test-model" },
      { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: '{"a":' },
      { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: "1}" },
      { type: "finishing" },
      { type: "tool_call", toolCallId: "x", toolName: "f", input: { a: 1 } },
      complete("tool_calls"),
    ]);
  });
  // B52, B53
  test.each(["stop", "weird", "tool_calls", "function_call"])("a finish %s after a call is tool_calls", (reason) => {
    const wire = [
      choice({ content: "Let me see" }),
      pieces({ index: 0, id: "x", function: { name: "f", arguments: "{}" } }),
      choice({}, reason),
      done,
    ];
    expect(reading(...wire)).toMatchObject({
      text: "Let me see",
      calls: [call("x", "f", {})],
      verdicts: [complete("tool_calls")],
    });
  });
  test.each([[undefined], [null], [""], [" "], ["{}"], [{}]])("arguments %j are an empty object", (input) => {
    const wire = [pieces({ index: 0, id: "x", function: { name: "f", arguments: input } }), choice({}, "tool_calls")];
    expect(reading(...wire).calls).toEqual([call("x", "f", {})]);
  });
  test.each([[5], [true], [["a"]], ["[]"], ["5"], ["{}{}"], ['{"a":']])(
    "R-PROV-3 arguments %j are a fault, not an empty object",
    (input) => {
      const wire = [
        pieces({ index: 0, id: "x", function: { name: "f", arguments: input } }),
        choice({}, "tool_calls"),
        done,
      ];
      expect(reading(...wire)).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
    },
  );
  test("arguments as an object", () => {
    const wire = [
      pieces({ index: 0, id: "x", function: { name: "f", arguments: { a: 1 } } }),
      choice({}, "tool_calls"),
    ];
    expect(reading(...wire).calls).toEqual([call("x", "f", { a: 1 })]);
  });
  test("a custom tool and the old function_call", () => {
    expect(
      reading(pieces({ index: 0, id: "x", custom: { name: "f", input: '{"a":1}' } }), choice({}, "tool_calls")).calls,
    ).toEqual([call("x", "f", { a: 1 })]);
    const old = [
      choice({ function_call: { name: "f", arguments: '{"a"' } }),
      choice({ function_call: { arguments: ":1}" } }),
      choice({}, "function_call"),
    ];
    expect(reading(...old).calls).toEqual([call("call_0", "f", { a: 1 })]);
  });
  test("a closing piece that says nothing opens no call", () => {
    const wire = [
      choice({ content: "a" }),
      pieces({ index: 0, id: null, function: { name: null, arguments: null } }, null, {}),
      choice({}, "stop"),
    ];
    expect(reading(...wire)).toMatchObject({ text: "a", calls: [], verdicts: [complete("stop")] });
  });
  // B4, B8
  test("R-CANCEL-4 a call that a cut leaves open is no call", () => {
    const wire = [pieces({ index: 0, id: "x", function: { name: "f", arguments: '{"a":"' } })];
    expect(reading(...wire)).toMatchObject({ progress: { x: '{"a":"' }, calls: [], verdicts: [truncated] });
  });
  test.each(["length", "content_filter"])(
    "a call that %s cuts is reported, and the whole ones before it are kept",
    (reason) => {
      const wire = [
        pieces({ index: 0, id: "x", function: { name: "f", arguments: '{"a":1}' } }),
        pieces({ index: 1, id: "y", function: { name: "f", arguments: '{"a":' } }),
        choice({}, reason),
        done,
      ];
      expect(reading(...wire)).toMatchObject({
        calls: [call("x", "f", { a: 1 })],
        diagnostics: ["tool_call_incomplete"],
        verdicts: [complete(reason)],
      });
    },
  );
  test("a call that the token limit cuts before its first argument is not called without arguments", () => {
    const wire = [pieces({ index: 0, id: "x", function: { name: "f", arguments: "" } }), choice({}, "length"), done];
    expect(reading(...wire)).toMatchObject({
      calls: [],
      diagnostics: ["tool_call_incomplete"],
      verdicts: [complete("length")],
    });
  });
});
