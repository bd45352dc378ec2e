// The Ollama reader: one JSON object per line, and what must come of it.
import { describe, expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { ollama, ollamaReader } from "../../src/providers/ollama.ts";
import { read, readPackets, readWhole } from "../support/corpus/reading.ts";
import { jsonLine } from "../support/provider-bytes/framing.ts";
import { ollamaChat, ollamaErrorLine, ollamaLine } from "../support/provider-bytes/ollama.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const events = (...wire: readonly string[]): ProviderEvent[] => readWhole("ollama", wire);
const reading = (...wire: readonly string[]) => read("ollama", wire);
const complete = (stopReason?: string) => ({
  type: "verdict",
  verdict: "complete",
  ...(stopReason !== undefined && { stopReason }),
});
const truncated = { type: "verdict", verdict: "truncated" };
const failed = (failureClass: string) => ({ verdict: "failed", failure: { failureClass } });
const call = (toolCallId: string, toolName: string, input: unknown) => ({ toolCallId, toolName, input });
const calls = (...entries: readonly unknown[]): string => ollamaLine({ content: "", tool_calls: entries });
const last = jsonLine({ done: true, done_reason: "stop" });

test("R-PROV-5 a whole answer becomes its events in order", () => {
  expect(events(...ollamaChat({ thinking: ["Hm"], deltas: ["Hel", "lo"] }))).toEqual([
    { type: "model", model: "test-model" },
    { type: "reasoning", text: "Hm" },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
    { type: "usage", usage: { inputTokens: 12, outputTokens: 7 } },
    complete("stop"),
  ]);
});

test("R-PROV-5 text is given out with the packet that ends its line", () => {
  const reader = ollamaReader({ maxEvent: 1000 });
  const line = jsonLine({ message: { content: "é" } });
  expect(reader.feed(toBytes(line.slice(0, 10)))).toEqual([]);
  expect(reader.feed(toBytes(`${line.slice(10)}{`))).toEqual([{ type: "text", text: "é" }]);
});

describe("R-PROV-1 the end", () => {
  test.each<[string, string[]]>([
    ["nothing", []],
    ["blank lines", ["\n \n\r\n"]],
    ["text", [ollamaLine({ content: "a" })]],
    ["done: false", [jsonLine({ done: false, done_reason: "stop" })]],
    ["done: 1", [jsonLine({ done: 1 })]],
    ['done: "true"', [jsonLine({ done: "true" })]],
    ["half of the last line", [ollamaLine({ content: "a" }), last.slice(0, -4)]],
    ["an array around it", ['[{"done":true}]\n']],
  ])("%s is truncated", (_name, wire) => expect(reading(...wire).verdicts).toEqual([truncated]));

  test("done ends the reading at once; nothing after it is read", () => {
    const reader = ollamaReader({ maxEvent: 1000 });
    expect(reader.feed(toBytes(last + ollamaLine({ content: "late" })))).toEqual([complete("stop")]);
    expect([...reader.feed(toBytes(ollamaLine({ content: "late" }))), ...reader.end(), ...reader.end()]).toEqual([]);
  });
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["load", undefined],
    ["constructor", undefined],
    [undefined, undefined],
    [null, undefined],
    ["", undefined],
  ])("done_reason %s is %s", (reason, stopReason) => {
    const wire = [ollamaLine({ content: "a" }), jsonLine({ done: true, done_reason: reason })];
    expect(reading(...wire).verdicts).toEqual([complete(stopReason)]);
  });
  test("the last line's line end may be missing, and any will do", () => {
    const wire = ollamaChat({ deltas: ["a"] }).join("");
    for (const spelled of [
      wire.trimEnd(),
      wire.replaceAll("\n", "\r\n"),
      wire.replaceAll("\n", "\r"),
      `\uFEFF${wire}`,
      `\n\n${wire}`,
    ]) {
      expect(reading(spelled)).toMatchObject({ text: "a", verdicts: [complete("stop")] });
    }
  });
});

describe("R-PROV-5 tool calls", () => {
  // B52
  test("whole calls, then stop: tool_calls", () => {
    const wire = [calls({ function: { name: "f", arguments: { a: 1 } } }), last];
    expect(reading(...wire)).toMatchObject({
      calls: [call("call_0", "f", { a: 1 })],
      verdicts: [complete("tool_calls")],
    });
  });
  test("each is a call of its own, whatever its index", () => {
    const entry = { function: { index: 0, name: "f", arguments: {} } };
    const wire = [calls(entry, entry), calls({ id: "x", ...entry }, entry), last];
    expect(reading(...wire).calls).toEqual(["call_0", "call_1", "x", "call_3"].map((id) => call(id, "f", {})));
  });
  test("also without any arguments to tell them apart", () => {
    const entry = { function: { index: 0, name: "f" } };
    expect(reading(calls(entry, entry), last).calls).toEqual([call("call_0", "f", {}), call("call_1", "f", {})]);
  });
  test("arguments as JSON text", () => {
    expect(reading(calls({ function: { name: "f", arguments: '{"a":1}' } }), last).calls).toEqual([
      call("call_0", "f", { a: 1 }),
    ]);
  });
  test.each([[undefined], [null], [{}]])("arguments %j are an empty object", (input) => {
    expect(reading(calls({ function: { name: "f", arguments: input } }), last).calls).toEqual([
      call("call_0", "f", {}),
    ]);
  });
  test.each<[string, unknown]>([
    ["no name", { function: { arguments: { a: 1 } } }],
    ["arguments of a wrong type", { function: { name: "f", arguments: [1] } }],
    ["half of the arguments", { function: { name: "f", arguments: '{"a":' } }],
  ])("R-PROV-3 %s is a fault, not an empty success", (_name, entry) => {
    expect(reading(calls(entry), last)).toMatchObject({ calls: [], verdicts: [failed("malformed")] });
  });
  test("length stays length", () => {
    const wire = [calls({ function: { name: "f", arguments: {} } }), jsonLine({ done: true, done_reason: "length" })];
    expect(reading(...wire).verdicts).toEqual([complete("length")]);
  });
});

describe("R-PROV-3 errors", () => {
  test.each<[string, unknown, string]>([
    ["a text", { error: "model runner has unexpectedly stopped" }, "upstream_5xx"],
    ["an object", { error: { type: "overloaded_error" } }, "overloaded"],
    ["a context that is too long", { error: "input exceeds maximum context length" }, "context_length"],
  ])("%s, first and after text", (_name, line, failureClass) => {
    expect(reading(jsonLine(line)).verdicts).toMatchObject([failed(failureClass)]);
    expect(reading(ollamaLine({ content: "a" }), jsonLine(line), last)).toMatchObject({
      text: "a",
      verdicts: [failed(failureClass)],
    });
  });
  test("R-PROV-9 the message is ours", () => {
    expect(JSON.stringify(events(ollamaErrorLine("SECRET prompt text")))).not.toContain("SECRET");
  });
  test("an error line without its line end", () => {
    expect(reading('{"error":"it broke"}').verdicts).toMatchObject([failed("unknown")]);
  });
  test.each(["oops", "data: {}", "{} {}", "<html>"])("a line %j is malformed", (line) => {
    expect(reading(`${line}\n`, last).verdicts).toMatchObject([failed("malformed")]);
  });
  test.each(["null", "5", '"text"', "[]", "{}"])("a line %s is passed over", (line) => {
    expect(reading(`${line}\n`, last).verdicts).toEqual([complete("stop")]);
  });
  test("a page is no stream, an object is", () => {
    expect(["<", "{"].map((character) => ollama.starts(character))).toEqual([false, true]);
  });
});

test("R-PROV-5 counts that are missing or wrong are left out", () => {
  expect(reading(jsonLine({ done: true, prompt_eval_count: 5, eval_count: -1 })).usage).toEqual({ inputTokens: 5 });
  expect(reading(jsonLine({ done: true, prompt_eval_count: null })).usage).toBeUndefined();
});

test("R-PROV-3 R-PROV-21 a line of a flood of values is malformed, and is not made", () => {
  const line = toBytes(`{"a":[${"{},".repeat(1_000_000)}{}]}\n`);
  expect(readPackets("ollama", [line], 8_000_000)).toMatchObject([
    { verdict: "failed", failure: { failureClass: "malformed" } },
  ]);
});
