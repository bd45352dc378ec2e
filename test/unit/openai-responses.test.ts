// The OpenAI Responses reader: what the API and its compatible servers send, and what must come of it.
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { openAiResponsesReader } from "../../src/providers/openai-responses.ts";
import {
  responsesBare as bare,
  responsesCall as call,
  responsesEnd as end,
  responsesInput as input,
  responsesText as text,
} from "../support/corpus/openai-responses.ts";
import { read, readPackets, readWhole } from "../support/corpus/reading.ts";
import { sseComment, sseEvent } from "../support/provider-bytes/framing.ts";
import {
  openAiResponses,
  responsesErrorEvent,
  responsesEvent,
  responsesFailed,
} from "../support/provider-bytes/openai-responses.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("openai-responses", wire);
const reading = (...wire: readonly string[]) => read("openai-responses", wire);
const complete = (stopReason: string, finalText?: string) => ({
  type: "verdict",
  verdict: "complete",
  stopReason,
  ...(finalText !== undefined && { finalText }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string, more: Record<string, unknown> = {}) => ({
  type: "verdict",
  verdict: "failed",
  failure: { failureClass, message: expect.any(String), ...more },
});
const usage = { input_tokens: 9, output_tokens: 5, total_tokens: 14 };
const counted = { inputTokens: 9, outputTokens: 5, totalTokens: 14 };
const called = (toolCallId: string, toolName: string, value: unknown) => ({ toolCallId, toolName, input: value });
const f = { call_id: "x", name: "f" };
const g = { call_id: "y", name: "g" };
const message = (...content: unknown[]) => ({ type: "message", role: "assistant", content });
const done = (index: number, item: unknown) => bare("output_item.done", { output_index: index, item });

test("R-PROV-5 a whole answer becomes its events in order", () => {
  const wire = openAiResponses({
    items: [
      { type: "reasoning", summary: ["Hm"] },
      { type: "message", deltas: ["Hel", "lo"] },
      { type: "function_call", callId: "x", name: "f", arguments: ['{"a":', "1}"] },
    ],
    usage: {
      ...usage,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens_details: { reasoning_tokens: 2 },
    },
  });
  expect(events(...wire)).toEqual([
    { type: "model", model: "test-model" },
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: '{"a":' },
    { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: "1}" },
    { type: "usage", usage: { ...counted, cachedInputTokens: 3, reasoningTokens: 2 } },
    { type: "tool_call", toolCallId: "x", toolName: "f", input: { a: 1 } },
    complete("tool_calls", "Hello"),
  ]);
});

test("R-PROV-5 text is given out with the packet that brings it", () => {
  const reader = openAiResponsesReader({ maxEvent: 1000 });
  const second = text("b");
  expect(reader.feed(toBytes(text("a") + second.slice(0, 20)))).toEqual([{ type: "text", text: "a" }]);
  expect(reader.feed(toBytes(second.slice(20)))).toEqual([{ type: "text", text: "b" }]);
});

describe("R-PROV-1 the end", () => {
  test.each(["completed", "incomplete"])("response.%s ends the reading at once", (type) => {
    const reader = openAiResponsesReader({ maxEvent: 10_000 });
    const last = reader.feed(toBytes(text("a") + bare(type, { response: {} }) + text("late"))).at(-1);
    expect(last).toMatchObject({ verdict: "complete" });
    expect([...reader.feed(toBytes(text("late"))), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  // B27
  test("its usage is kept, wherever the event is split", () => {
    const last = toBytes(end({ usage }));
    for (let cut = 1; cut < last.length; cut++) {
      const read = readPackets("openai-responses", [toBytes(text("a")), last.subarray(0, cut), last.subarray(cut)]);
      expect(read).toEqual([{ type: "text", text: "a" }, { type: "usage", usage: counted }, complete("stop")]);
    }
  });
  test.each<[string, string[]]>([
    ["nothing", []],
    ["comments", [sseComment("a"), sseComment("b")]],
    ["keepalives", [responsesEvent("keepalive"), responsesEvent("keepalive")]],
    ["the beginning", [bare("created", { response: { status: "in_progress" } }), bare("in_progress")]],
    ["text that is done", [text("a"), bare("output_text.done", { output_index: 0, text: "a" })]],
    ["an item that is done", [text("a"), done(0, message({ type: "output_text", text: "a" }))]],
    ["[DONE]", [text("a"), "data: [DONE]\n\n"]],
    ["half of the last event", [text("a"), end({ usage }).slice(0, -8)]],
    [
      "a status of completed without the event",
      [text("a"), bare("in_progress", { response: { status: "completed" } })],
    ],
    ["a Chat Completions stream", ['data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n']],
    ["a cancelled response", [text("a"), bare("cancelled", { response: { status: "cancelled" } })]],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
    ["max_tokens", "length"],
    [undefined, "length"],
    [5, "length"],
  ])("incomplete for %j is %s", (reason, stopReason) => {
    const response = { status: "incomplete", incomplete_details: { reason } };
    expect(reading(text("a"), bare("incomplete", { response })).verdicts).toEqual([complete(stopReason)]);
    expect(reading(text("a"), bare("completed", { response })).verdicts).toEqual([complete(stopReason)]);
  });
  // B58
  test.each([[null], [undefined], [[]], ["12"], [{}], [{ input_tokens: -1, output_tokens: "5" }]])(
    "usage %j is none",
    (report) => {
      expect(reading(text("a"), end({ usage: report }))).toMatchObject({
        usage: undefined,
        verdicts: [complete("stop")],
      });
    },
  );
  // B58
  test("usage of an incomplete and of a failed answer counts", () => {
    expect(reading(text("a"), bare("incomplete", { response: { usage } })).usage).toEqual(counted);
    expect(reading(text("a"), responsesFailed("server_error", usage)).usage).toEqual(counted);
  });
});

describe("R-PROV-2 framing", () => {
  const whole = (spelling: Parameters<typeof openAiResponses>[0]) => openAiResponses({ deltas: ["Hi"], ...spelling });
  test.each<[string, string[]]>([
    ["no space after the colon", whole({ space: false })],
    ["CRLF", whole({ lineEnd: "\r\n" })],
    ["CR", whole({ lineEnd: "\r" })],
    ["comments between", whole({}).flatMap((event) => [sseComment("keepalive"), event])],
    ["keepalives between", whole({}).flatMap((event) => [responsesEvent("keepalive", { sequence_number: 0 }), event])],
    [
      "the type only in the event line",
      [
        'event: response.output_text.delta\ndata: {"output_index":0,"delta":"Hi"}\n\n',
        'event: response.output_text.done\ndata: {"output_index":0,"text":"Hi"}\n\n',
        "event: response.completed\ndata: {}\n\n",
      ],
    ],
  ])("%s", (_name, wire) => {
    expect(reading(...wire)).toMatchObject({ text: "Hi", verdicts: [complete("stop", "Hi")] });
  });
  test("the type inside counts more than the event line", () => {
    expect(reading(sseEvent({ type: "response.output_text.delta", delta: "Hi" }, {}, "keepalive")).text).toBe("Hi");
  });
});

// B9
describe("R-PROV-3 failures inside a 200", () => {
  // B66
  test("an error after two good events: nothing was shown", () => {
    const wire = [bare("created", { response: { model: "m" } }), bare("in_progress")];
    const error = { type: "insufficient_quota", code: "insufficient_quota", message: "You exceeded" };
    expect(
      events(...wire, sseEvent({ type: "error", error }, {}, "error"), responsesFailed("insufficient_quota")),
    ).toEqual([{ type: "model", model: "m" }, failed("quota", { providerCode: "insufficient_quota" })]);
  });
  test.each([
    ["insufficient_quota", "quota"],
    ["rate_limit_exceeded", "rate_limited"],
    ["slow_down", "rate_limited"],
    ["server_is_overloaded", "overloaded"],
    ["server_error", "upstream_5xx"],
    ["vector_store_timeout", "upstream_5xx"],
    ["context_length_exceeded", "context_length"],
    ["invalid_prompt", "invalid_request"],
    ["invalid_image_url", "invalid_request"],
    ["image_content_policy_violation", "content_policy"],
    ["data_residency_mismatch", "permission"],
  ])("%s is %s, as an error and as a failed response", (code, failureClass) => {
    const verdicts = [failed(failureClass, { providerCode: code })];
    expect(reading(text("a"), responsesErrorEvent(code))).toMatchObject({ text: "a", verdicts });
    expect(reading(text("a"), responsesFailed(code))).toMatchObject({ text: "a", verdicts });
  });
  test("a general code gives way to what the message says", () => {
    const message = "Your input exceeds the context window of this model.";
    expect(reading(responsesErrorEvent("invalid_prompt", message)).verdicts).toEqual([
      failed("context_length", { providerCode: "invalid_prompt" }),
    ]);
  });
  test.each<[string, string]>([
    ["a failed response without an error", bare("failed", { response: { status: "failed", error: null } })],
    ["a failed response without a response", bare("failed")],
    ["an unknown code", responsesErrorEvent("weird")],
    ["an error event with nothing", "event: error\ndata:\n\n"],
    ["a completed response that failed", bare("completed", { response: { status: "failed" } })],
  ])("R-PROV-14 %s names no cause", (_name, wire) => {
    expect(reading(text("a"), wire, end()).verdicts).toEqual([failed("unknown")]);
  });
  test("an error event that is prose", () => {
    const wire = "event: error\ndata: Internal Server Error\n\n";
    expect(reading(text("a"), wire, end()).verdicts).toEqual([failed("upstream_5xx")]);
  });
  test.each<[string, string]>([
    ["in a completed response", end({ error: { code: "server_error" } })],
    ["beside a failed response", bare("failed", { error: { code: "server_error" } })],
    ["without any type", sseEvent({ error: { code: "server_error" } })],
  ])("an error %s", (_name, wire) => {
    expect(reading(text("a"), wire, end()).verdicts).toEqual([
      failed("upstream_5xx", { providerCode: "server_error" }),
    ]);
  });
  test("a numeric code is a status", () => {
    expect(reading(sseEvent({ type: "error", error: { code: 429 } })).verdicts).toEqual([
      failed("rate_limited", { httpStatus: 429 }),
    ]);
  });
  test("an error of null, and a hosted tool's failure, are none", () => {
    const wire = [
      bare("created", { response: { error: null } }),
      bare("mcp_call.failed", { output_index: 0, error: { message: "no" } }),
      text("a", 1),
    ];
    expect(reading(...wire, end({ error: null }))).toMatchObject({ text: "a", verdicts: [complete("stop")] });
  });
  test("R-PROV-9 the message is ours", () => {
    const [verdict] = reading(responsesErrorEvent("server_error", "SECRET prompt text")).verdicts;
    expect(JSON.stringify(verdict)).not.toContain("SECRET");
  });
  test.each(["{oops}", "<html>", "{", "{} {"])("a payload %j is malformed, and what follows is not read", (payload) => {
    expect(reading(`data: ${payload}\n\n`, text("late"), end())).toMatchObject({
      text: "",
      verdicts: [failed("malformed")],
    });
  });
  test.each(["null", "1", '"text"', "[]", "[{}]", "{}", '{"type":""}', '{"type":5}'])(
    "a payload %s is passed over",
    (payload) => {
      expect(reading(`data: ${payload}\n\n`, text("a"), end()).text).toBe("a");
    },
  );
});

describe("R-PROV-15 R-OUT-6 text that is stated", () => {
  const textDone = (whole: string, fields: Record<string, unknown> = {}) =>
    bare("output_text.done", { output_index: 0, content_index: 0, text: whole, ...fields });
  const part = (whole: string) => ({ type: "output_text", text: whole, annotations: [] });

  test("in a done event alone, it is shown at once", () => {
    const reader = openAiResponsesReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(textDone("Hi")))).toEqual([{ type: "text", text: "Hi" }]);
    expect(reader.feed(toBytes(end()))).toEqual([complete("stop", "Hi")]);
  });
  test("in a finished item alone, it is shown at once", () => {
    expect(events(done(0, message(part("Hi "), part("there"))), end())).toEqual([
      { type: "text", text: "Hi there" },
      complete("stop", "Hi there"),
    ]);
  });
  test("in the finished response alone, it is the final text", () => {
    expect(events(end({ output: [message(part("Hi"))] }))).toEqual([complete("stop", "Hi")]);
  });
  test("what the deltas lack is shown, and nothing twice", () => {
    const wire = [
      text("H"),
      textDone("Hi"),
      textDone("Hi"),
      done(0, message(part("Hi!"))),
      done(0, message(part("Hi!"))),
    ];
    expect(events(...wire, end({ output: [message(part("Hi!"))] }))).toEqual([
      { type: "text", text: "H" },
      { type: "text", text: "i" },
      { type: "text", text: "!" },
      complete("stop", "Hi!"),
    ]);
  });
  test.each([
    ["a done event", textDone("Right"), {}],
    ["a finished item", done(0, message(part("Right"))), {}],
    ["the finished response", "", { output: [message(part("Right"))] }],
  ])("what %s says counts more than deltas that say otherwise", (_name, wire, response) => {
    expect(events(text("Wrong"), wire, end(response))).toEqual([
      { type: "text", text: "Wrong" },
      complete("stop", "Right"),
    ]);
  });
  test("after a contradiction nothing more is filled in: the final text says all", () => {
    const wire = [text("ax"), textDone("ab"), textDone("cd", { content_index: 1 }), text("!", 0, { content_index: 2 })];
    expect(events(...wire, end())).toEqual([
      { type: "text", text: "ax" },
      { type: "text", text: "!" },
      complete("stop", "abcd!"),
    ]);
  });
  test("an empty list of items says nothing, nor does an empty text", () => {
    const wire = [text("Hi"), textDone(""), done(0, message()), end({ output: [] })];
    expect(events(...wire)).toEqual([{ type: "text", text: "Hi" }, complete("stop")]);
  });
  test("a content_index of its own for every delta is one text", () => {
    const wire = ["a", "b", "c"].map((delta, index) => text(delta, 0, { content_index: index }));
    expect(events(...wire, textDone("abc", { content_index: 3 }), done(0, message(part("abc"))), end())).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
      { type: "text", text: "c" },
      complete("stop", "abc"),
    ]);
  });
  test("several parts and messages are put together by their place", () => {
    const wire = [
      text("B", 3),
      text("a", 1, { content_index: 0 }),
      textDone("a", { output_index: 1 }),
      text("b", 1, { content_index: 1 }),
      textDone("b", { output_index: 1, content_index: 1 }),
      done(3, message(part("B"))),
    ];
    expect(events(...wire, end()).at(-1)).toEqual(complete("stop", "abB"));
  });
  test("without any index, messages that follow each other are two", () => {
    const wire = [
      sseEvent({ type: "response.output_text.delta", delta: "a" }),
      sseEvent({ type: "response.output_item.done", item: message(part("a")) }),
      sseEvent({ type: "response.output_text.delta", delta: "b" }),
      sseEvent({ type: "response.output_item.done", item: message(part("bc")) }),
    ];
    expect(events(...wire, end()).at(-1)).toEqual(complete("stop", "abc"));
    expect(reading(...wire, end()).text).toBe("abc");
  });
  test("a second item begun at the same index is another one", () => {
    const added = bare("output_item.added", { output_index: 0, item: message() });
    const wire = [added, text("a"), done(0, message(part("a"))), added, added, text("b"), done(0, message(part("b")))];
    expect(events(...wire, end()).at(-1)).toEqual(complete("stop", "ab"));
  });
  test("what is held without having been shown is bounded", () => {
    const half = "x".repeat(4_500_000);
    const wire = [text("a"), textDone(half), text("b", 1), textDone(half, { output_index: 1 }), end()];
    expect(readPackets("openai-responses", [toBytes(wire.join(""))], 6_000_000).at(-1)).toEqual(failed("malformed"));
  });
});

describe("R-PROV-8 refusals", () => {
  const refusal = (delta: string) => bare("refusal.delta", { output_index: 0, content_index: 0, delta });
  const said = { type: "refusal", refusal: "No." };
  test.each<[string, string[]]>([
    ["in pieces", [refusal("N"), refusal("o."), end()]],
    [
      "in pieces, in a message and in the response",
      [...openAiResponses({ items: [{ type: "message", refusal: true, deltas: ["N", "o."] }] })],
    ],
    ["whole", [bare("refusal.done", { output_index: 0, refusal: "No." }), end()]],
    ["in a finished item", [done(0, message(said)), end()]],
  ])("%s: its text is shown, and the stop is content_filter", (_name, wire) => {
    expect(reading(...wire)).toMatchObject({
      text: "No.",
      verdicts: [{ verdict: "complete", stopReason: "content_filter" }],
    });
  });
  test("in the finished response alone, it is the final text", () => {
    expect(events(end({ output: [message(said)] }))).toEqual([complete("content_filter", "No.")]);
  });
  test("content_filter without any output is said so, for the run to judge", () => {
    const response = { incomplete_details: { reason: "content_filter" } };
    expect(events(bare("incomplete", { response }))).toEqual([complete("content_filter")]);
  });
});

describe("R-PROV-5 reasoning", () => {
  const summary = (delta: string, part: number, index = 0) =>
    bare("reasoning_summary_text.delta", { output_index: index, summary_index: part, delta });
  const summaryDone = (whole: string, part: number) =>
    bare("reasoning_summary_text.done", { output_index: 0, summary_index: part, text: whole });
  const item = (summaries: string[], content?: string[]) => ({
    type: "reasoning",
    encrypted_content: "c2VjcmV0",
    summary: summaries.map((one) => ({ type: "summary_text", text: one })),
    ...(content !== undefined && { content: content.map((one) => ({ type: "reasoning_text", text: one })) }),
  });
  test("parts of a summary are paragraphs, and so are items", () => {
    const wire = [
      bare("reasoning_summary_part.added", { output_index: 0, summary_index: 0, part: { text: "" } }),
      summary("On", 0),
      summary("e", 0),
      summaryDone("One", 0),
      summaryDone("Two", 1),
      done(0, item(["One", "Two"])),
      summary("Three", 0, 1),
    ];
    expect(reading(...wire, end({ output: [item(["One", "Two"])] })).reasoning).toBe("One\n\nTwo\n\nThree");
  });
  test("the reasoning itself, with a content_index of its own for every delta", () => {
    const wire = ["So", " it", " is"].map((delta, index) =>
      bare("reasoning_text.delta", { output_index: 0, content_index: index, delta }),
    );
    const last = bare("reasoning_text.done", { output_index: 0, content_index: 3, text: "So it is." });
    expect(reading(...wire, last, done(0, item([], ["So it is."])), end()).reasoning).toBe("So it is.");
  });
  test.each<[string, string[], string]>([
    ["a finished item alone", [done(0, item(["One", "Two"])), end()], "One\n\nTwo"],
    ["a finished item with both", [done(0, item(["One"], ["So"])), end()], "So"],
    ["the finished response alone", [end({ output: [item(["One"]), item(["Two"])] })], "One\n\nTwo"],
    ["an encrypted item", [done(0, item([])), end({ output: [item([])] })], ""],
  ])("R-PROV-15 %s", (_name, wire, reasoning) => {
    expect(reading(...wire)).toMatchObject({ reasoning, text: "", verdicts: [complete("stop")] });
  });
});

describe("R-PROV-5 tool calls", () => {
  const argumentsDone = (index: number, value: unknown, fields: Record<string, unknown> = {}) =>
    bare("function_call_arguments.done", { output_index: index, arguments: value, ...fields });

  // B56
  test("reasoning at index 0 makes no phantom call", () => {
    const wire = [
      bare("output_item.added", { output_index: 0, item: { type: "reasoning", summary: [] } }),
      done(0, { type: "reasoning", summary: [] }),
      call("added", 1, { ...f, arguments: "" }),
      input(1, '{"a":1}'),
      call("done", 1, { ...f, arguments: '{"a":1}' }),
    ];
    expect(reading(...wire, end())).toMatchObject({
      calls: [called("x", "f", { a: 1 })],
      progress: { x: '{"a":1}' },
      verdicts: [complete("tool_calls")],
    });
  });
  test("R-PROV-15 ids that change with every event do not matter", () => {
    let id = 0;
    const rotating = () => ({ item_id: `r${id++}` });
    const wire = [
      call("added", 0, { ...f, id: "r", arguments: "" }),
      call("added", 1, { ...g, id: "s", arguments: "" }),
      input(1, '{"b":', rotating()),
      input(0, '{"a":', rotating()),
      input(1, "2}", rotating()),
      input(0, "1}", rotating()),
      argumentsDone(1, '{"b":2}', rotating()),
      argumentsDone(0, '{"a":1}', rotating()),
    ];
    expect(reading(...wire, end())).toMatchObject({
      calls: [called("x", "f", { a: 1 }), called("y", "g", { b: 2 })],
      progress: { x: '{"a":1}', y: '{"b":2}' },
    });
  });
  test("without any index the item's id tells parallel calls apart", () => {
    const added = (id: string, item: Record<string, unknown>) =>
      sseEvent({ type: "response.output_item.added", item: { type: "function_call", id, ...item, arguments: "" } });
    const delta = (id: string, piece: string) =>
      sseEvent({ type: "response.function_call_arguments.delta", item_id: id, delta: piece });
    const wire = [
      added("1", f),
      added("2", g),
      delta("1", '{"a":'),
      delta("2", '{"b":'),
      delta("1", "1}"),
      delta("2", "2}"),
    ];
    expect(reading(...wire, end()).calls).toEqual([called("x", "f", { a: 1 }), called("y", "g", { b: 2 })]);
  });
  test("two calls that begin at one index are two", () => {
    const wire = [
      call("added", 0, { ...f, arguments: "" }),
      input(0, '{"a":1}'),
      call("added", 0, { ...g, arguments: "" }),
      input(0, '{"b":2}'),
    ];
    expect(reading(...wire, end()).calls).toEqual([called("x", "f", { a: 1 }), called("y", "g", { b: 2 })]);
  });
  test("a call that is announced twice is one", () => {
    const added = call("added", 0, { ...f, arguments: "" });
    expect(reading(added, added, input(0, "{}"), end()).calls).toEqual([called("x", "f", {})]);
  });
  describe("R-PROV-15 input that is stated", () => {
    const begun = call("added", 0, { ...f, arguments: "" });
    test.each<[string, string[], string]>([
      ["in its done event alone", [begun, argumentsDone(0, '{"a":1}'), end()], '{"a":1}'],
      ["in its done event, with the name", [argumentsDone(0, '{"a":1}', f), end()], '{"a":1}'],
      ["in the finished item alone", [call("done", 0, { ...f, arguments: '{"a":1}' }), end()], '{"a":1}'],
      [
        "in the finished item, after an empty done event",
        [begun, argumentsDone(0, ""), call("done", 0, { ...f, arguments: '{"a":1}' }), end()],
        '{"a":1}',
      ],
      ["as an object", [call("done", 0, { ...f, arguments: { a: 1 } }), end()], '{"a":1}'],
      ["where pieces end too early", [begun, input(0, '{"a"'), argumentsDone(0, '{"a":1}'), end()], '{"a":1}'],
      [
        "from the start, and again in pieces",
        [call("added", 0, { ...f, arguments: '{"a":1}' }), input(0, '{"a":'), input(0, "1}"), end()],
        '{"a":1}',
      ],
      [
        "again and again",
        [
          begun,
          input(0, '{"a":1}'),
          argumentsDone(0, '{"a":1}'),
          call("done", 0, { ...f, arguments: '{"a":1}' }),
          end({ output: [{ type: "function_call", ...f, arguments: '{"a":1}' }] }),
        ],
        '{"a":1}',
      ],
    ])("%s", (_name, wire, progress) => {
      expect(reading(...wire)).toMatchObject({
        calls: [called("x", "f", { a: 1 })],
        progress: { x: progress },
        verdicts: [complete("tool_calls")],
      });
    });
    test.each<[string, string[]]>([
      ["from the start alone", [call("added", 0, { ...f, arguments: '{"a":1}' }), end()]],
      [
        "in the finished response, for a call that has begun",
        [begun, end({ output: [{ type: "function_call", ...f, arguments: '{"a":1}' }] })],
      ],
    ])("%s", (_name, wire) => expect(reading(...wire).calls).toEqual([called("x", "f", { a: 1 })]));
    test("counts more than pieces that say otherwise", () => {
      const wire = [begun, input(0, '{"a":2}'), argumentsDone(0, '{"a":1}'), end()];
      expect(reading(...wire)).toMatchObject({ calls: [called("x", "f", { a: 1 })], progress: { x: '{"a":2}' } });
    });
    test("calls that only the finished response names", () => {
      const output = [
        { type: "reasoning", summary: [] },
        { type: "function_call", ...f, arguments: '{"a":1}' },
        { type: "custom_tool_call", ...g, input: "{}" },
      ];
      expect(reading(text("a"), end({ output }))).toMatchObject({
        text: "a",
        calls: [called("x", "f", { a: 1 }), called("y", "g", {})],
        verdicts: [complete("tool_calls")],
      });
    });
    test("a call of the finished response that was called by another id before is not made twice", () => {
      const output = [{ type: "function_call", call_id: "other", name: "f", arguments: "{}" }];
      expect(reading(begun, input(0, "{}"), end({ output })).calls).toEqual([called("x", "f", {})]);
    });
  });
  test("ids that are missing are made from the order, and the item's own id is none", () => {
    const wire = [
      call("added", 4, { id: "fc_1", name: "f", arguments: "" }),
      input(4, "{}"),
      call("added", 7, { id: "fc_2", name: "f" }),
    ];
    expect(reading(...wire, end()).calls).toEqual([called("call_0", "f", {}), called("call_1", "f", {})]);
  });
  test("an id that comes with the finished item is taken, if none was shown", () => {
    const wire = [call("added", 0, { name: "f" }), call("done", 0, { ...f, arguments: "{}" })];
    expect(reading(...wire, end()).calls).toEqual([called("x", "f", {})]);
  });
  // B51
  test("pieces before their item wait for the name", () => {
    const wire = [input(0, '{"a":'), input(0, "1}"), call("done", 0, { ...f, arguments: '{"a":1}' }), end()];
    expect(reading(...wire)).toMatchObject({ calls: [called("x", "f", { a: 1 })], progress: { x: '{"a":1}' } });
  });
  test.each([[undefined], [null], [""], [" "], ["{}"], [{}]])("arguments %j are an empty object", (value) => {
    expect(reading(call("done", 0, { ...f, arguments: value }), end()).calls).toEqual([called("x", "f", {})]);
  });
  test.each([[5], [true], [["a"]], ["[]"], ["5"], ["{}{}"], ['{"a":']])(
    "R-PROV-3 arguments %j are a fault, not an empty object",
    (value) => {
      expect(reading(call("done", 0, { ...f, arguments: value }), end())).toMatchObject({
        calls: [],
        verdicts: [failed("malformed")],
      });
    },
  );
  test.each<[string, Record<string, unknown>]>([
    ["nothing", {}],
    ["an id alone", { call_id: "x" }],
    ["input alone", { arguments: "{}" }],
  ])("R-PROV-3 a call with %s is broken", (_name, item) => {
    expect(reading(text("a"), call("added", 1, {}), call("done", 1, item), end())).toMatchObject({
      calls: [],
      verdicts: [failed("malformed")],
    });
  });
  test("a custom tool's input is JSON to us, and other text is a fault", () => {
    const custom = (value: string) => done(0, { type: "custom_tool_call", ...f, input: value });
    expect(reading(custom('{"a":1}'), end()).calls).toEqual([called("x", "f", { a: 1 })]);
    expect(reading(custom("echo hello"), end()).verdicts).toEqual([failed("malformed")]);
  });
  test("hosted tools call nobody", () => {
    const wire = [
      bare("output_item.added", { output_index: 0, item: { type: "mcp_call", name: "no", arguments: "" } }),
      bare("mcp_call_arguments.delta", { output_index: 0, delta: '{"no":1}' }),
      bare("mcp_call_arguments.done", { output_index: 0, arguments: '{"no":1}' }),
      done(0, { type: "mcp_call", name: "no", arguments: '{"no":1}', output: "no" }),
      bare("code_interpreter_call_code.delta", { output_index: 1, delta: "print()" }),
      text("a", 2),
    ];
    expect(reading(...wire, end())).toMatchObject({ text: "a", calls: [], progress: {}, verdicts: [complete("stop")] });
  });
  // B4, B8
  test("R-CANCEL-4 a call that a cut or a failure leaves open is no call", () => {
    const open = [call("added", 0, { ...f, arguments: "" }), input(0, '{"a":"')];
    expect(reading(...open)).toMatchObject({ progress: { x: '{"a":"' }, calls: [], verdicts: [truncated] });
    expect(reading(...open, responsesFailed("server_error"))).toMatchObject({ calls: [] });
  });
  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
  ])("a call that %s cuts is reported, and the whole ones before it are kept", (reason, stopReason) => {
    const wire = [
      call("done", 0, { ...f, arguments: '{"a":1}' }),
      call("added", 1, { ...g, arguments: "" }),
      input(1, '{"b":'),
      call("done", 1, { ...g, status: "incomplete", arguments: '{"b":' }),
      bare("incomplete", { response: { incomplete_details: { reason } } }),
    ];
    expect(reading(...wire)).toMatchObject({
      calls: [called("x", "f", { a: 1 })],
      diagnostics: ["tool_call_incomplete"],
      verdicts: [complete(stopReason)],
    });
  });
});

describe("R-PROV-15 R-PROV-3 items that cannot be", () => {
  const reasoned = bare("reasoning_text.delta", { output_index: 0, delta: "so" });
  test.each<[string, string[]]>([
    ["a message that becomes a call", [text("a"), call("added", 0, f)]],
    ["a call that gets text", [call("added", 0, f), text("a")]],
    ["reasoning that becomes a message", [reasoned, done(0, message())]],
    [
      "a hosted tool that becomes a call",
      [bare("output_item.added", { output_index: 0, item: { type: "mcp_call" } }), input(0, "{}")],
    ],
    ["a finished message that becomes another type", [text("a"), done(0, message()), call("added", 0, f)]],
  ])("%s", (_name, wire) => {
    expect(reading(...wire, text("late", 9), end())).toMatchObject({ calls: [], verdicts: [failed("protocol")] });
  });
  test("more items than any answer has", () => {
    const wire = Array.from({ length: 1025 }, (_, index) => text("a", index));
    expect(reading(...wire, end())).toMatchObject({ text: "a".repeat(1024), verdicts: [failed("malformed")] });
  });
  test("more calls than any model makes", () => {
    const wire = Array.from({ length: 257 }, (_, index) => call("added", index, { call_id: `c${index}`, name: "f" }));
    expect(reading(...wire, end())).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
    const output = wire.map((_, index) => ({
      type: "function_call",
      call_id: `c${index}`,
      name: "f",
      arguments: "{}",
    }));
    expect(reading(end({ output }))).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
  });
  test("an input that is nested more deeply than it could be written", () => {
    const deep = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;
    for (const verb of ["added", "done"]) {
      const wire = `data: {"type":"response.output_item.${verb}","output_index":0,"item":{"type":"function_call","call_id":"x","name":"f","arguments":${deep}}}\n\n`;
      expect(readPackets("openai-responses", [toBytes(wire + end())], 4_000_000)).toEqual([failed("malformed")]);
    }
  });
});

describe("R-PROV-1 a response that says of itself that it is not over", () => {
  test.each([
    ["cancelled", "upstream_5xx"],
    ["in_progress", "protocol"],
    ["queued", "protocol"],
    ["failed", "unknown"],
  ])("completed with the status %s fails", (status, failureClass) => {
    for (const type of ["completed", "incomplete"]) {
      expect(reading(text("a"), bare(type, { response: { status } }))).toMatchObject({
        text: "a",
        verdicts: [failed(failureClass)],
      });
    }
  });
  test.each([["completed"], ["done"], [5], [null], [undefined]])("completed with the status %j is", (status) => {
    expect(reading(text("a"), end({ status })).verdicts).toEqual([complete("stop")]);
  });
  test("R-PROV-18 incomplete by an error fails as that error", () => {
    const by = (reason: string) => bare("incomplete", { response: { incomplete_details: { reason } } });
    expect(reading(text("a"), by("server_error")).verdicts).toEqual([failed("upstream_5xx")]);
    expect(reading(text("a"), by("rate_limit_exceeded")).verdicts).toEqual([failed("rate_limited")]);
    expect(reading(text("a"), by("max_tool_calls")).verdicts).toEqual([complete("length")]);
  });
});

describe("R-PROV-3 an error that another event brings", () => {
  const error = { code: "server_error", message: "no" };
  test.each<[string, string]>([
    ["beside a type that is not known", sseEvent({ type: "server_error", error })],
    ["beside response.error", bare("error", { error })],
    ["beside a chunk's type", sseEvent({ type: "chunk", error: { code: "server_error" } })],
    ["in a response that was created", bare("created", { response: { status: "failed", error } })],
    ["in a response that goes on", bare("in_progress", { response: { status: "in_progress", error } })],
    ["in a queued response", bare("queued", { response: { status: "failed", error } })],
  ])("%s", (_name, wire) => {
    expect(reading(text("a"), wire).verdicts).toMatchObject([failed("upstream_5xx", { providerCode: "server_error" })]);
    expect(reading(text("a"), wire, end()).verdicts).toMatchObject([{ verdict: "failed" }]);
  });
  test("a failed status without an error is a failure", () => {
    expect(reading(bare("in_progress", { response: { status: "failed" } }), end()).verdicts).toEqual([
      failed("unknown"),
    ]);
  });
});

describe("R-PROV-15 what the finished response lists", () => {
  const listed = (item: Record<string, unknown>, arguments_: string) => ({
    type: "function_call",
    ...item,
    arguments: arguments_,
  });
  const streamed = call("done", 0, { ...f, arguments: '{"a":1}' });
  const first = called("x", "f", { a: 1 });

  test("a call that was not streamed is not lost, whatever was", () => {
    const output = [listed(f, '{"a":1}'), listed(g, '{"b":2}'), listed({ call_id: "z", name: "f" }, '{"a":3}')];
    expect(reading(streamed, end({ output }))).toMatchObject({
      calls: [first, called("y", "g", { b: 2 }), called("z", "f", { a: 3 })],
      verdicts: [complete("tool_calls")],
    });
  });
  test("a list that begins later has further calls, and takes none back", () => {
    expect(reading(streamed, end({ output: [listed(g, '{"b":2}')] })).calls).toEqual([
      first,
      called("y", "g", { b: 2 }),
    ]);
    const same = listed({ call_id: "z", name: "f" }, '{"a":2}');
    expect(reading(streamed, end({ output: [same] })).calls).toEqual([first, called("z", "f", { a: 2 })]);
  });
  test("calls without ids, or with other ones, are matched by what they are", () => {
    const nameless = [
      call("added", 0, { id: "i1", name: "f" }),
      input(0, '{"a":1}'),
      call("added", 1, { id: "i2", name: "f" }),
    ];
    const output = [listed({ id: "i2", ...g, name: "f" }, '{"a":2}'), listed({ id: "i1", ...f }, '{"a":1}')];
    expect(reading(...nameless, end({ output })).calls.map(({ input: value }) => value)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(reading(streamed, end({ output: [listed({ name: "f" }, '{"a":1}')] })).calls).toEqual([first]);
    expect(reading(streamed, end({ output: [listed({ call_id: "r", name: "f" }, '{"a":1}')] })).calls).toEqual([first]);
  });
  const part = (whole: string) => ({ type: "output_text", text: whole });
  test.each<[string, unknown[], string]>([
    ["only the last of two messages", [message(part("b"))], "ab"],
    ["only the first of two messages", [message(part("a"))], "ab"],
    ["the last one in other words", [message(part("B"))], "aB"],
    ["both", [message(part("a")), message(part("b"))], "ab"],
    ["both, one of them empty", [message(part("a")), message()], "ab"],
    ["another one too", [message(part("a")), message(part("b")), message(part("c"))], "abc"],
    ["both in other words", [message(part("A")), message(part("B"))], "AB"],
    ["by its id", [{ ...message(part("A")), id: "m0" }], "Ab"],
  ])("R-OUT-6 %s: no text that was shown is withdrawn", (_name, output, finalText) => {
    const added = (index: number) =>
      bare("output_item.added", { output_index: index, item: { ...message(), id: `m${index}` } });
    const wire = [added(0), text("a", 0), added(1), text("b", 1)];
    expect(reading(...wire, end({ output })).verdicts).toEqual([complete("stop", finalText)]);
  });
  test("R-PROV-3 a list of more items than any answer has is malformed", () => {
    const output = Array.from({ length: 1025 }, () => message(part("a")));
    expect(reading(end({ output })).verdicts).toEqual([failed("malformed")]);
  });
});

describe("R-PROV-15 parts that are stated", () => {
  const delta = (piece: string, index: number) => text(piece, 0, { content_index: index });
  const whole = (said: string, index: number) =>
    bare("output_text.done", { output_index: 0, content_index: index, text: said });

  test.each<[string, string[], string, string]>([
    ["only the last of two", [delta("ab", 0), delta("cd", 1), whole("cd", 1)], "abcd", "abcd"],
    ["only the first of two", [delta("ab", 0), delta("cd", 1), whole("ab", 0)], "abcd", "abcd"],
    ["a part that never came in pieces", [delta("ab", 0), whole("cd", 1)], "abcd", "abcd"],
    ["interleaved", [delta("a", 0), delta("c", 1), delta("b", 0), whole("ab", 0), whole("c", 1)], "acb", "abc"],
    ["with what is missing in the middle", [delta("a", 0), delta("c", 1), whole("ab", 0)], "ac", "abc"],
    ["all parts at one index", [delta("ab", 0), whole("ab", 0), delta("c", 0), whole("cd", 0)], "abcd", "abcd"],
    [
      "more and more of it at one index",
      [delta("ab", 0), whole("ab", 0), delta("c", 0), whole("abcd", 0)],
      "abcd",
      "abcd",
    ],
    ["the first of two in other words", [delta("ab", 0), delta("cd", 1), whole("xy", 0)], "abcd", "xycd"],
  ])("%s", (_name, wire, shown, finalText) => {
    expect(reading(...wire, end())).toMatchObject({ text: shown, verdicts: [complete("stop", finalText)] });
  });
  const partDone = (said: string, index: number) =>
    bare("content_part.done", { output_index: 0, content_index: index, part: { type: "output_text", text: said } });
  test.each<[string, string[], string]>([
    ["alone", [partDone("ab", 0), partDone("cd", 1), partDone("cd", 1)], "abcd"],
    ["after its pieces", [delta("ab", 0), partDone("ab", 0)], "ab"],
    ["after its text, at another index", [delta("ab", 0), whole("ab", 0), partDone("ab", 4)], "ab"],
    [
      "of reasoning",
      [
        bare("reasoning_text.delta", { output_index: 0, delta: "Hm" }),
        bare("content_part.done", { output_index: 0, part: { type: "reasoning_text", text: "Hm" } }),
      ],
      "",
    ],
  ])("R-PROV-15 a part that is done, %s: its text is not lost, nor shown twice", (_name, wire, shown) => {
    expect(reading(...wire, end())).toMatchObject({ text: shown, verdicts: [{ verdict: "complete" }] });
  });
  test("R-PROV-15 a message whose content is a text", () => {
    const item = { type: "message", content: "Hi" };
    expect(reading(done(0, item), end({ output: [item] }))).toMatchObject({
      text: "Hi",
      verdicts: [complete("stop", "Hi")],
    });
  });
  test("thousands of parts after a long text are read in linear time", () => {
    const long = Array.from({ length: 32 }, () => delta("x".repeat(65_536), 0));
    const parts = (count: number) =>
      Array.from({ length: count }, (_, index) => delta("ab", index + 1) + whole("ab", index + 1));
    const took = (count: number): number => {
      const packets = [...long, ...parts(count), end()].map(toBytes);
      const began = performance.now();
      expect(readPackets("openai-responses", packets).at(-1)).toMatchObject({ verdict: "complete" });
      return performance.now() - began;
    };
    took(1000);
    // Copying the long text for each of them would take many seconds.
    expect(took(8000)).toBeLessThan(4000);
  });
});
