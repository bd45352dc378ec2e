// A streamed JSON array cut into its elements, from bytes written by hand.
import { describe, expect, test } from "vitest";
import { gluedValues, jsonArrayReader, type JsonArrayItem } from "../../src/wire/json-array.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

function itemsOf(wire: string, maxElement = 10_000, cuts: readonly number[] = []): JsonArrayItem[] {
  const reader = jsonArrayReader(maxElement);
  return [...splitBytes(wire, cuts).flatMap((packet) => reader.feed(packet)), ...reader.end()];
}
const texts = (...elements: readonly string[]): JsonArrayItem[] => elements.map((text) => ({ text }));
const closed: JsonArrayItem = { closed: true };
const stray: JsonArrayItem = { stray: true };
const tooLarge: JsonArrayItem = { tooLarge: true };

describe("R-PROV-2 elements of one array", () => {
  test.each<[string, string, JsonArrayItem[]]>([
    ["objects", '[{"a":1},{"b":2}]', [...texts('{"a":1}', '{"b":2}'), closed]],
    ["white space around everything", ' \r\n[\t{"a": 1}\r\n,\r\n{} ]\n ', [...texts('{"a": 1}', "{}"), closed]],
    ["a BOM", "\uFEFF[{}]", [...texts("{}"), closed]],
    ["none", "[]", [closed]],
    ["nested brackets", '[{"a":[{"b":[]}]},[[1]]]', [...texts('{"a":[{"b":[]}]}', "[[1]]"), closed]],
    [
      "brackets and quotes in strings",
      String.raw`[{"a":"]}\"[{\\"}]`,
      [...texts(String.raw`{"a":"]}\"[{\\"}`), closed],
    ],
    ["strings", String.raw`["a]\"b","",{}]`, [...texts(String.raw`"a]\"b"`, '""', "{}"), closed]],
    ["numbers and words", "[1,-2.5e+3 ,null,true]", [...texts("1", "-2.5e+3", "null", "true"), closed]],
    ["a missing comma", '[{"a":1}{"b":2}]', [...texts('{"a":1}', '{"b":2}'), closed]],
    ["wide characters", '[{"a":"é北🎉"}]', [...texts('{"a":"é北🎉"}'), closed]],
  ])("%s", (_name, wire, items) => expect(itemsOf(wire)).toEqual(items));
});

describe("R-PROV-1 the closing bracket is told, and an element that is not over is none", () => {
  test.each<[string, string, JsonArrayItem[]]>([
    ["nothing", "", []],
    ["white space", " \n", []],
    ["the opening alone", "[", []],
    ["no bracket after an element", '[{"a":1}\n', texts('{"a":1}')],
    ["a comma at the end", '[{"a":1},', texts('{"a":1}')],
    ["half an element", '[{"a":1},{"b":[{}]', texts('{"a":1}')],
    ["a bracket inside a string", '[{"a":"]', []],
    ["a number that may go on", "[1", []],
  ])("%s", (_name, wire, items) => expect(itemsOf(wire)).toEqual(items));

  test("an element is given out with the packet that ends it, the bracket with its own", () => {
    const reader = jsonArrayReader(100);
    expect(reader.feed(toBytes('[{"a":'))).toEqual([]);
    expect(reader.feed(toBytes('1},{"b"'))).toEqual(texts('{"a":1}'));
    expect(reader.feed(toBytes(":2}"))).toEqual(texts('{"b":2}'));
    expect(reader.feed(toBytes("]"))).toEqual([closed]);
    expect(reader.end()).toEqual([]);
  });
  test("an object after the bracket is given out too: it may be the cause of a failure", () => {
    expect(itemsOf('[{"a":1}]\n{"error":[]}\n')).toEqual([...texts('{"a":1}'), closed, ...texts('{"error":[]}')]);
  });
});

describe("R-PROV-3 what can be no element ends the reading", () => {
  test.each<[string, string, JsonArrayItem[]]>([
    ["no array", '{"a":1}', [stray]],
    ["a page", "<html>", [stray]],
    ["a colon between", '[{"a":1}:{}]', [...texts('{"a":1}'), stray]],
    ["a brace that closes nothing", "[{}}]", [...texts("{}"), stray]],
    ["a word", "[oops]", [stray]],
    ["a second BOM", "\uFEFF\uFEFF[]", [stray]],
    ["a second bracket at the end", "[{}]]", [...texts("{}"), closed, stray]],
    ["text after the bracket", "[]x[{}]", [closed, stray]],
  ])("%s", (_name, wire, items) => expect(itemsOf(wire)).toEqual(items));
});

describe("R-PROV-3 an element is bounded", () => {
  test("one of exactly the limit passes, one more ends the reading, however it is cut", () => {
    for (const cuts of [[], [3], [1, 9], [11], [12]]) {
      expect(itemsOf('["12345678"]', 10, cuts)).toEqual([...texts('"12345678"'), closed]);
      expect(itemsOf('[1,"123456789",2]', 10, cuts)).toEqual([...texts("1"), tooLarge]);
      expect(itemsOf("[12345678901,2]", 10, cuts)).toEqual([tooLarge]);
    }
  });
  test("one without an end is given up at the limit, once", () => {
    const reader = jsonArrayReader(100);
    const items = Array.from({ length: 50 }, (_, index) =>
      reader.feed(toBytes(index === 0 ? '[{"a":"' : "x".repeat(30))),
    );
    expect([...items.flat(), ...reader.feed(toBytes('"}]')), ...reader.end()]).toEqual([tooLarge]);
  });
  test("the limit is each element's, not the body's", () => {
    expect(itemsOf(`[${'"1234",'.repeat(1000)}null]`, 10)).toHaveLength(1002);
  });
});

// B40, B41
test("R-PROV-2 a large element in many packets is read in linear time", () => {
  const reader = jsonArrayReader(10_000_000);
  const packet = toBytes("x".repeat(16));
  reader.feed(toBytes('["'));
  // Anything quadratic would take hours for this.
  for (let count = 0; count < 300_000; count++) reader.feed(packet);
  expect(reader.feed(toBytes('"]'))).toEqual([...texts(`"${"x".repeat(4_800_000)}"`), closed]);
}, 60_000);

describe("R-PROV-2 values that are glued together", () => {
  test.each<[string, string, string[] | undefined]>([
    ["two objects", '{"a":"}{"}{"b":2}', ['{"a":"}{"}', '{"b":2}']],
    ["one", '{"a":1}', ['{"a":1}']],
    ["with white space between", '{"a":1}\r\n{"b":2}', ['{"a":1}', '{"b":2}']],
    ["a list", '[1]{"a":1}', ["[1]", '{"a":1}']],
    ["an unfinished one", '{"a":1}{"b"', undefined],
    ["an unfinished string", '{"a":1}"b', undefined],
    ["a bracket too many", '{"a":1}]', undefined],
    ["an end in between", '{"a":1}]{"b":2}', undefined],
    ["a word", "oops", undefined],
    ["a word behind", '{"a":1}oops', undefined],
  ])("%s", (_name, text, values) => expect(gluedValues(text)).toEqual(values));
});
