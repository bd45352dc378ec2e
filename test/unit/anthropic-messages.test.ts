// The Anthropic Messages reader: what the API and its compatible servers send, and what must come of it.
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { anthropicReader } from "../../src/providers/anthropic-messages.ts";
import {
  anthropicBlock as block,
  anthropicBlockStop as blockStop,
  anthropicDelta as delta,
  anthropicEnd as end,
  anthropicJson as json,
  anthropicText as text,
} from "../support/corpus/anthropic-messages.ts";
import { read, readWhole } from "../support/corpus/reading.ts";
import {
  anthropicErrorEvent,
  anthropicEvent,
  anthropicMessages,
  anthropicMessageStart as start,
} from "../support/provider-bytes/anthropic-messages.ts";
import { sseComment, sseEvent } from "../support/provider-bytes/framing.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("anthropic-messages", wire);
const reading = (...wire: readonly string[]) => read("anthropic-messages", wire);
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string) => ({ verdict: "failed", failure: { failureClass } });
const tool = (index: number, id: unknown, name: unknown, input: unknown = {}) =>
  block(index, { type: "tool_use", id, name, input });
const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });

test("R-PROV-5 a whole answer becomes its events in order", () => {
  const wire = anthropicMessages({
    blocks: [
      { type: "thinking", deltas: ["Hm"], signature: "c2ln" },
      { type: "text", deltas: ["Hel", "lo"] },
      { type: "tool_use", id: "x", name: "f", partialJson: ["", '{"a":', "1}"] },
    ],
    usage: { input_tokens: 9, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
  });
  const counts = { inputTokens: 9, cachedInputTokens: 3, cacheCreationInputTokens: 2 };
  expect(events(...wire)).toEqual([
    { type: "model", model: "test-model" },
    { type: "usage", usage: { ...counts, outputTokens: 1 }, apart: 5 },
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: '{"a":' },
    { type: "tool_call_delta", toolCallId: "x", toolName: "f", inputText: "1}" },
    { type: "usage", usage: { ...counts, outputTokens: 5 }, apart: 5 },
    {
      type: "tool_call",
      toolCallId: "x",
      toolName: "f",
      input: { a: 1 },
      echo: { thoughts: [{ text: 0, calls: 0, block: { type: "thinking", thinking: "Hm", signature: "c2ln" } }] },
    },
    complete("tool_calls"),
  ]);
});

describe("R-PROV-1 the end", () => {
  test("message_stop ends the reading at once", () => {
    const reader = anthropicReader({ maxEvent: 10_000 });
    expect(reader.feed(toBytes(text("a") + end("end_turn") + text("late"))).at(-1)).toEqual(complete("stop"));
    expect([...reader.feed(toBytes(text("late"))), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test.each<[string, string[]]>([
    ["nothing", []],
    ["pings", [anthropicEvent("ping"), anthropicEvent("ping")]],
    ["the start", [start()]],
    ["text", [start(), text("a")]],
    [
      "a stop_reason without message_stop",
      [start(), text("a"), anthropicEvent("message_delta", { delta: { stop_reason: "end_turn" } })],
    ],
    ["message_stop without a stop_reason", [start(), text("a"), anthropicEvent("message_stop")]],
    ["a stop_reason of null", [start(), text("a"), end(null)]],
    ["a stop_reason that is no word", [start(), text("a"), end(5)]],
    ["[DONE]", [start(), text("a"), "data: [DONE]\n\n"]],
    ["an OpenAI stream", ['data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n']],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));
});

// B54
describe("R-PROV-5 R-PROV-32 stop reasons", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "continue"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"],
    ["something_new", undefined],
    ["toString", undefined],
  ])("%s is %s", (reason, stopReason) => {
    expect(reading(start(), text("a"), end(reason)).verdicts).toEqual([complete(stopReason)]);
  });
  test("R-PROV-8 a refusal without any block is said so, for the run to judge", () => {
    const wire = [
      start(),
      anthropicEvent("message_delta", { delta: { stop_reason: "refusal", stop_details: { explanation: "no" } } }),
      anthropicEvent("message_stop"),
    ];
    expect(reading(...wire)).toMatchObject({ text: "", verdicts: [complete("content_filter")] });
  });
});

describe("R-PROV-2 framing", () => {
  const answer = { text: "Hi", verdicts: [complete("stop")] };
  // P7, P8, P9, P10
  test.each<[string, string[]]>([
    ["no space after the colon", anthropicMessages({ deltas: ["Hi"], space: false })],
    ["CRLF", anthropicMessages({ deltas: ["Hi"], lineEnd: "\r\n" })],
    ["CR", anthropicMessages({ deltas: ["Hi"], lineEnd: "\r" })],
    ["no event lines", anthropicMessages({ deltas: ["Hi"], eventLines: false })],
    ["comments between", anthropicMessages({ deltas: ["Hi"] }).flatMap((event) => [sseComment("keepalive"), event])],
    [
      "unknown event types between",
      anthropicMessages({ deltas: ["Hi"] }).flatMap((event) => [
        event,
        anthropicEvent("vendor_event", { delta: { stop_reason: "x" } }),
      ]),
    ],
    ["pings everywhere", anthropicMessages({ deltas: ["Hi"] }).flatMap((event) => [anthropicEvent("ping"), event])],
    [
      "null and empty payloads",
      ["data: null\n\n", "data:\n\n", "data: []\n\n", ...anthropicMessages({ deltas: ["Hi"] })],
    ],
    [
      "the type only in the event line",
      [
        'event: content_block_delta\ndata: {"delta":{"text":"Hi"}}\n\n',
        'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\n',
        "event: message_stop\ndata: {}\n\n",
      ],
    ],
  ])("%s", (_name, wire) => expect(reading(...wire)).toMatchObject(answer));

  test("the type inside counts more than the event line", () => {
    expect(reading(sseEvent({ type: "content_block_delta", delta: { text: "Hi" } }, {}, "ping")).text).toBe("Hi");
  });
});

describe("R-PROV-5 blocks", () => {
  test("text and thinking given at a block's start are shown", () => {
    const wire = [
      start(),
      block(0, { type: "thinking", thinking: "so" }),
      block(1, { type: "text", text: "He" }),
      text("y", 1),
      end("end_turn"),
    ];
    expect(reading(...wire)).toMatchObject({ text: "Hey", reasoning: "so" });
  });
  test("signatures, citations, redacted thinking and server tools show nothing", () => {
    const wire = [
      start(),
      block(0, { type: "redacted_thinking", data: "eA" }),
      delta(0, { type: "signature_delta", signature: "eA" }),
      block(1, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      json(1, '{"query":"x"}'),
      block(2, {
        type: "web_search_tool_result",
        tool_use_id: "s",
        content: { type: "web_search_tool_result_error", error_code: "unavailable" },
      }),
      delta(3, { type: "citations_delta", citation: { cited_text: "x" } }),
      text("a", 3),
      end("end_turn"),
    ];
    expect(reading(...wire)).toMatchObject({
      text: "a",
      reasoning: "",
      calls: [],
      progress: {},
      verdicts: [complete("stop")],
    });
  });
  test("a server tool at an index that a call had before leaves the call alone", () => {
    const server = block(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} });
    const wire = [
      start(),
      tool(0, "x", "f"),
      json(0, '{"a":1}'),
      blockStop(0),
      server,
      json(0, '{"b":2}'),
      end("tool_use"),
    ];
    expect(reading(...wire).calls).toEqual([call("x", "f", { a: 1 })]);
  });
  test("deltas without their block's start", () => {
    expect(reading(text("a", 5), json(6, "{}"), end("end_turn"))).toMatchObject({ text: "a", calls: [] });
  });
});

describe("R-PROV-5 tool calls", () => {
  // P11, B47
  test("interleaved blocks keep their own input, and the order in which they began", () => {
    const wire = [
      start(),
      tool(1, "x", "f"),
      tool(2, "y", "g"),
      json(1, '{"a":'),
      json(2, '{"b":{"c":'),
      json(1, "1}"),
      json(2, "2}}"),
      blockStop(2),
      blockStop(1),
      end("tool_use"),
    ];
    expect(reading(...wire)).toMatchObject({
      calls: [call("x", "f", { a: 1 }), call("y", "g", { b: { c: 2 } })],
      progress: { x: '{"a":1}', y: '{"b":{"c":2}}' },
    });
  });
  test.each<[string, string[]]>([
    ["no delta", []],
    ["one empty delta", [json(0, "")]],
    ["white space", [json(0, " ")]],
  ])("no arguments, %s: an empty object", (_name, deltas) => {
    expect(reading(start(), tool(0, "x", "f"), ...deltas, blockStop(0), end("tool_use")).calls).toEqual([
      call("x", "f", {}),
    ]);
  });
  test("an input given whole at the start counts when no delta follows, and gives way when some do", () => {
    expect(reading(start(), tool(0, "x", "f", { a: 1 }), blockStop(0), end("tool_use")).calls).toEqual([
      call("x", "f", { a: 1 }),
    ]);
    expect(
      reading(start(), tool(0, "x", "f", { a: 1 }), json(0, '{"a":2}'), blockStop(0), end("tool_use")).calls,
    ).toEqual([call("x", "f", { a: 2 })]);
  });
  test("blocks that are never closed are still calls", () => {
    expect(reading(start(), tool(0, "x", "f"), json(0, '{"a":1}'), end("tool_use")).calls).toEqual([
      call("x", "f", { a: 1 }),
    ]);
  });
  test("ids that are missing are made from the order", () => {
    const wire = [start(), tool(0, "", "f"), tool(1, "x", "f"), tool(2, null, "f"), end("tool_use")];
    expect(reading(...wire).calls).toEqual([call("call_0", "f", {}), call("x", "f", {}), call("call_2", "f", {})]);
  });
  // B53
  test.each(["end_turn", "something_new"])("%s after a call is tool_calls", (reason) => {
    expect(reading(start(), text("Let me see"), tool(1, "x", "f"), blockStop(1), end(reason)).verdicts).toEqual([
      complete("tool_calls"),
    ]);
  });
  test.each<[string, string[]]>([
    ["half an object", [tool(0, "x", "f"), json(0, '{"a":')]],
    ["an array", [tool(0, "x", "f"), json(0, "[1]")]],
    ["no name", [tool(0, "x", ""), json(0, "{}")]],
    ["no name and no id", [tool(0, null, null)]],
  ])("R-PROV-3 %s is a fault", (_name, wire) => {
    expect(reading(start(), ...wire, blockStop(0), end("tool_use"))).toMatchObject({
      calls: [],
      verdicts: [failed("malformed")],
    });
  });
  test.each<[string, string[]]>([
    ["in the middle of its input", [json(1, '{"a":')]],
    ["before its input", []],
  ])("a call that max_tokens cuts %s is reported, and the whole ones before it are kept", (_name, deltas) => {
    const wire = [
      start(),
      tool(0, "x", "f"),
      json(0, '{"a":1}'),
      blockStop(0),
      tool(1, "y", "f"),
      ...deltas,
      blockStop(1),
      end("max_tokens"),
    ];
    expect(reading(...wire)).toMatchObject({
      calls: [call("x", "f", { a: 1 })],
      diagnostics: ["tool_call_incomplete"],
      verdicts: [complete("length")],
    });
  });
});

describe("R-PROV-5 usage", () => {
  test("the last report revises the first, field by field", () => {
    const wire = [
      start({ usage: { input_tokens: 43, output_tokens: 9, cache_read_input_tokens: 1 } }),
      text("a"),
      end("end_turn", { input_tokens: 61, output_tokens: 17, cache_read_input_tokens: null }),
    ];
    expect(reading(...wire).usage).toEqual({ inputTokens: 61, outputTokens: 17, cachedInputTokens: 1 });
  });
  // B58
  test.each([[null], [[]], ["5"], [{ input_tokens: "5" }]])("usage %j is none", (usage) => {
    expect(reading(text("a"), end("end_turn", usage))).toMatchObject({
      usage: undefined,
      verdicts: [complete("stop")],
    });
  });
});

describe("R-PROV-3 errors inside a 200", () => {
  // B16, B65, P12
  test.each([
    ["overloaded_error", "overloaded"],
    ["rate_limit_error", "rate_limited"],
    ["api_error", "upstream_5xx"],
    ["timeout_error", "upstream_5xx"],
    ["authentication_error", "auth"],
    ["permission_error", "permission"],
    ["billing_error", "quota"],
    ["not_found_error", "model_not_found"],
    ["request_too_large", "context_length"],
    ["invalid_request_error", "invalid_request"],
    ["never_heard_of", "unknown"],
  ])("%s is %s, first and after text", (type, failureClass) => {
    const failure = { failureClass, ...(type !== "never_heard_of" && { providerCode: type }) };
    expect(reading(anthropicErrorEvent(type)).verdicts).toMatchObject([{ verdict: "failed", failure }]);
    expect(reading(start(), text("a"), anthropicErrorEvent(type))).toMatchObject({
      text: "a",
      verdicts: [{ verdict: "failed", failure }],
    });
  });
  test("R-PROV-9 the message is ours", () => {
    const [verdict] = reading(anthropicErrorEvent("api_error", { message: "SECRET prompt text" })).verdicts;
    expect(JSON.stringify(verdict)).not.toContain("SECRET");
  });
  test.each<[string, string]>([
    ["OpenAI's way, without a type", sseEvent({ error: { type: "overloaded_error" } })],
    ["by event line only", sseEvent({ error: { type: "overloaded_error" } }, {}, "error")],
    ["the bare object by event line", sseEvent({ type: "overloaded_error", message: "x" }, {}, "error")],
  ])("an error said %s", (_name, wire) => {
    expect(reading(text("a"), wire).verdicts).toMatchObject([failed("overloaded")]);
  });
  test.each<[string, string]>([
    ['"text"', "unknown"],
    ['"overloaded"', "overloaded"],
    ["Internal Server Error", "upstream_5xx"],
    ["", "unknown"],
    ["[]", "unknown"],
  ])("an error event with the payload %j: %s", (payload, failureClass) => {
    expect(reading(sseEvent(payload, {}, "error")).verdicts).toMatchObject([failed(failureClass)]);
  });
  test("half an error event is a cut", () => {
    expect(reading(text("a"), 'event: error\ndata: {"type":"error","err').verdicts).toEqual([truncated]);
  });
  test("an event that is not JSON is malformed", () => {
    expect(reading(start(), "data: {oops}\n\n", end("end_turn")).verdicts).toMatchObject([failed("malformed")]);
  });
});

describe("R-PROV-3 a second message_start in one body", () => {
  test("the same message again is passed over", () => {
    expect(reading(start(), text("a"), start(), text("b"), end("end_turn"))).toMatchObject({
      text: "ab",
      models: ["test-model"],
      verdicts: [complete("stop")],
    });
  });
  test("another message is a protocol fault: two answers are never spliced", () => {
    expect(reading(start(), text("a"), start({ id: "msg_2" }), text("b"), end("end_turn"))).toMatchObject({
      text: "a",
      verdicts: [failed("protocol")],
    });
  });
  test("starts without an id", () => {
    const nameless = anthropicEvent("message_start", { message: {} });
    expect(reading(nameless, nameless, text("a"), end("end_turn")).verdicts).toEqual([complete("stop")]);
    expect(reading(nameless, start(), end("end_turn")).verdicts).toMatchObject([failed("protocol")]);
  });
});
