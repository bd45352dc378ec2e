// How pieces of tool calls find their call, under every way that servers name or fail to name them.
import { describe, expect, test } from "vitest";
import { inputPiece, toolCallCollector, type ToolCallPiece } from "../../src/providers/tool-calls.ts";

function collect(...pieces: readonly ToolCallPiece[]) {
  const collector = toolCallCollector();
  const progress = pieces.flatMap((piece) => collector.add(piece));
  const { calls, broken } = collector.finish(false);
  const short = calls.map((call) =>
    call.type === "tool_call" ? [call.toolCallId, call.toolName, JSON.stringify(call.input)].join(" ") : call.type,
  );
  return { progress, calls: short, broken };
}
const named = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  input?: string,
): ToolCallPiece => ({
  index,
  id,
  name,
  input,
});

describe("R-PROV-5 pieces find their call", () => {
  const none = undefined;
  test.each<[string, ToolCallPiece[], string[]]>([
    [
      "by index, interleaved",
      [
        named(0, "a", "f"),
        named(1, "b", "g"),
        named(0, none, none, '{"n":'),
        named(1, none, none, "{}"),
        named(0, none, none, "1}"),
      ],
      ['a f {"n":1}', "b g {}"],
    ],
    // B48
    [
      "by id, though every index is 0",
      [named(0, "a", "f", '{"n":'), named(0, "b", "f", '{"n":'), named(0, "a", none, "1}"), named(0, "b", none, "2}")],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    [
      "by id, without an index",
      [
        named(none, "a", "f", '{"n":'),
        named(none, "b", "g", '{"n":'),
        named(none, "a", none, "1}"),
        named(none, "b", none, "2}"),
      ],
      ['a f {"n":1}', 'b g {"n":2}'],
    ],
    [
      "the last one, without index, id and name",
      [named(none, "a", "f"), named(none, none, none, "{}"), named(none, "b", "g"), named(none, none, none, '{"n":1}')],
      ["a f {}", 'b g {"n":1}'],
    ],
    // B50
    [
      "blank ids and names are absent",
      [named(0, "a", "f", '{"n"'), named(0, "", "", ":1"), named(0, " ", "\t", "}")],
      ['a f {"n":1}'],
    ],
    [
      "blank ids and names without an index",
      [named(none, "a", "f", '{"n"'), named(none, "", "", ":1}")],
      ['a f {"n":1}'],
    ],
    [
      "another name opens another call",
      [named(none, none, "f", "{}"), named(none, none, "g", "{}")],
      ["call_0 f {}", "call_1 g {}"],
    ],
    [
      "another name at the same index too",
      [named(0, none, "f", "{}"), named(0, none, "g", "{}")],
      ["call_0 f {}", "call_1 g {}"],
    ],
    [
      "another name beside a first id too",
      [named(0, none, "f", "{}"), named(0, "b", "g", "{}")],
      ["call_0 f {}", "b g {}"],
    ],
    [
      "the same name again after a whole input, at index 0 without ids",
      [named(0, none, "f", '{"n":1}'), named(0, none, "f", '{"n":2}'), named(0, none, "f", "{}")],
      ['call_0 f {"n":1}', 'call_1 f {"n":2}', "call_2 f {}"],
    ],
    [
      "the same name in every piece of one call",
      [named(0, none, "f", '{"n":'), named(0, none, "f", '{"m":1}'), named(0, none, "f", "}")],
      ['call_0 f {"n":{"m":1}}'],
    ],
    [
      "the same name once more with nothing is no call",
      [named(0, "a", "f", "{}"), named(0, none, "f", ""), named(0, none, "f", " ")],
      ["a f {}"],
    ],
    // B51
    [
      "arguments before the name",
      [named(none, none, none, '{"n":'), named(none, none, "f", "1}")],
      ['call_0 f {"n":1}'],
    ],
    ["arguments before name and id", [named(none, none, none, '{"n":'), named(none, "a", "f", "1}")], ['a f {"n":1}']],
    [
      "arguments before the name, by index",
      [named(1, "b", none, '{"n":'), named(0, "a", "f", "{}"), named(1, none, "g", "1}")],
      ['b g {"n":1}', "a f {}"],
    ],
    [
      "an id that rotates",
      [named(0, "a1", "f", '{"n":'), named(0, "a2", none, "1"), named(0, "a3", none, "}")],
      ['a1 f {"n":1}'],
    ],
    ["an id that comes late", [named(0, none, "f"), named(0, "a", none, "{}")], ["a f {}"]],
    // B56
    ["a first index that is not 0", [named(1, "a", "f", "{}"), named(3, "b", "g", "{}")], ["a f {}", "b g {}"]],
    ["a piece that says nothing opens nothing", [named(0, none, none), named(none, "", " ", "")], []],
    [
      "whole inputs without ids",
      [
        { name: "f", input: { n: 1 } },
        { name: "f", input: { n: 2 } },
      ],
      ['call_0 f {"n":1}', 'call_1 f {"n":2}'],
    ],
    [
      "pieces win over a whole input",
      [{ index: 0, id: "a", name: "f", input: { n: 9 } }, named(0, none, none, '{"n":1}')],
      ['a f {"n":1}'],
    ],
  ])("%s", (_name, pieces, calls) => expect(collect(...pieces)).toMatchObject({ calls, broken: false }));
});

test("R-PROV-5 progress waits for the name, then holds nothing back", () => {
  const { progress } = collect(
    { index: 0, input: '{"a"' },
    { index: 0, input: ":" },
    { index: 0, name: "f" },
    { index: 0, input: "1}" },
  );
  expect(progress).toEqual([
    { type: "tool_call_delta", toolCallId: "call_0", toolName: "f", inputText: '{"a":' },
    { type: "tool_call_delta", toolCallId: "call_0", toolName: "f", inputText: "1}" },
  ]);
});

test("R-PROV-5 an id under which progress was shown stays, even if the provider's own comes later", () => {
  const { progress, calls } = collect({ index: 0, name: "f", input: "{" }, { index: 0, id: "late", input: "}" });
  expect(progress.map((event) => event.type === "tool_call_delta" && event.toolCallId)).toEqual(["call_0", "call_0"]);
  expect(calls).toEqual(["call_0 f {}"]);
});

test("R-PROV-5 two calls never share an id", () => {
  expect(collect(named(0, "a", "f", "{}"), named(1, "a", "f", "{}")).calls).toEqual(["a f {}", "a_1 f {}"]);
  expect(collect(named(0, undefined, "f", "{}"), named(1, "call_0", "g", "{}")).calls).toEqual([
    "call_0 f {}",
    "call_0_1 g {}",
  ]);
});

describe("R-PROV-3 a call that is not whole", () => {
  test.each<[string, ToolCallPiece]>([
    ["no name", named(0, "a", undefined, "{}")],
    ["an id only", named(0, "a", undefined)],
    ["half an object", named(0, "a", "f", '{"n":')],
    ["an array", named(0, "a", "f", "[]")],
    ["a string", named(0, "a", "f", '"{}"')],
    ["two objects", named(0, "a", "f", "{}{}")],
    ["null", named(0, "a", "f", "null")],
  ])("%s is broken", (_name, piece) => {
    expect(collect(named(7, "z", "h", "{}"), piece)).toMatchObject({ calls: ["z h {}"], broken: true });
  });
  test("a cut turns a call without input from one without arguments into a broken one", () => {
    const collector = toolCallCollector();
    collector.add(named(0, "a", "f", " "));
    expect(collector.finish(false)).toEqual({
      calls: [{ type: "tool_call", toolCallId: "a", toolName: "f", input: {} }],
      broken: false,
    });
    expect(collector.finish(true)).toEqual({ calls: [], broken: true });
  });
});

// B41
test("R-PROV-5 a large input in many pieces, each with its name, is collected in linear time", () => {
  const collect = (pieces: number) => () => {
    const collector = toolCallCollector();
    collector.add(named(0, undefined, "f", '{"text":"'));
    for (let index = 0; index < pieces; index++) collector.add(named(0, undefined, "f", "{}}"));
    collector.add(named(0, undefined, "f", '"}'));
    expect(collector.finish(false).calls).toEqual([
      { type: "tool_call", toolCallId: "call_0", toolName: "f", input: { text: "{}}".repeat(pieces) } },
    ]);
  };
  // Anything quadratic would take hours for this.
  collect(400_000)();
}, 60_000);

describe("R-PROV-5 bounds", () => {
  const whole = (text: string) => ({ index: 0, id: "c", name: "t", input: text });
  test("an id or a name that is no word is refused", () => {
    for (const long of [{ id: "i".repeat(257) }, { name: "n".repeat(257) }]) {
      const calls = toolCallCollector();
      expect(calls.add({ ...whole("{}"), ...long })).toEqual([]);
      expect(calls.excessive).toBe(true);
    }
  });
  test("more calls than any model makes are refused", () => {
    const calls = toolCallCollector();
    for (let index = 0; index < 256; index++) calls.add({ index, id: `c${index}`, name: "t", input: "{}" });
    expect(calls.excessive).toBe(false);
    calls.add({ index: 256, id: "c256", name: "t", input: "{}" });
    expect(calls.excessive).toBe(true);
  });
  test("input that is held back because its call has no name is bounded", () => {
    const calls = toolCallCollector();
    for (let piece = 0; piece < 8; piece++) calls.add({ index: 0, input: "x".repeat(1_048_576) });
    expect(calls.excessive).toBe(false);
    calls.add({ index: 0, input: "x" });
    expect(calls.excessive).toBe(true);
  });
  test("whole inputs are bounded together", () => {
    const calls = toolCallCollector();
    for (let index = 0; index < 9; index++) {
      calls.add({ index, id: `c${index}`, name: "t", input: { text: "x".repeat(1_000_000) } });
    }
    expect(calls.excessive).toBe(true);
  });
  test("an input that is nested more deeply than it could be written is refused", () => {
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 200_000; level++) deep = { deep };
    const calls = toolCallCollector();
    expect(calls.add({ index: 0, id: "c", name: "t", input: deep })).toEqual([]);
    expect(calls.excessive).toBe(true);
    const list = toolCallCollector();
    list.add({ index: 0, id: "c", name: "t", input: inputPiece([deep]) });
    expect(list.finish(false)).toEqual({ calls: [], broken: true });
  });
  test("statements of an input that say otherwise are bounded together", () => {
    const calls = toolCallCollector();
    calls.add(whole("{}"));
    for (let time = 0; time < 8; time++) calls.state(0, String(time).repeat(1_048_576));
    expect(calls.excessive).toBe(false);
    calls.state(0, "x");
    expect(calls.excessive).toBe(true);
  });
});

describe("R-PROV-15 an input that is stated whole", () => {
  const begun = () => {
    const calls = toolCallCollector();
    calls.add(named(7, "a", "f", '{"n":'));
    return calls;
  };
  test("gives what the pieces lack, once", () => {
    const calls = begun();
    const [shown] = calls.state(7, '{"n":1}');
    expect(shown).toEqual({ type: "tool_call_delta", toolCallId: "a", toolName: "f", inputText: "1}" });
    expect(calls.state(7, '{"n":1}')).toEqual([]);
    expect(calls.finish(false).calls).toMatchObject([{ toolCallId: "a", input: { n: 1 } }]);
  });
  test("voids pieces that say otherwise", () => {
    const calls = begun();
    expect(calls.state(7, '{"m":2}')).toEqual([]);
    expect(calls.finish(false).calls).toMatchObject([{ toolCallId: "a", input: { m: 2 } }]);
  });
  test("opens the call if need be, and waits for its name", () => {
    const calls = toolCallCollector();
    expect(calls.state(3, "{}")).toEqual([]);
    expect(calls.add(named(3, "b", "g"))).toMatchObject([{ toolCallId: "b", inputText: "{}" }]);
    expect(calls.finish(false)).toMatchObject({ calls: [{ toolCallId: "b", input: {} }], broken: false });
  });
});
