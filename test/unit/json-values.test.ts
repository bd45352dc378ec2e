// The values of one wire event: glued, in a list, or one; read within bounds. And what the formats of objects make of them.
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/wire/json.ts";
import { parseBounded } from "../../src/wire/json-bounded.ts";
import { jsonValues } from "../../src/wire/json-values.ts";
import { read, readPackets, type Reading } from "../support/corpus/reading.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const valuesOf = (text: string): unknown[] | undefined => {
  const values = jsonValues(text);
  if (values === undefined) return undefined;
  return "whole" in values ? [values.whole] : [...values.several];
};

describe("R-PROV-21 the values of one event", () => {
  test.each<[string, unknown[]]>([
    ['{"a":1}', [{ a: 1 }]],
    ["null", [null]],
    ['{"a":1}{"b":2}', [{ a: 1 }, { b: 2 }]],
    ['{"a":1}\n {"b":[{}]}\n', [{ a: 1 }, { b: [{}] }]],
    ['{"a":"}{"}{"b":"\\"}\\\\"}', [{ a: "}{" }, { b: '"}\\' }]],
    ["[]", []],
    [' [{"a":1},{"b":2}] ', [{ a: 1 }, { b: 2 }]],
    ['[{"a":1}][[1],"x",-2.5e3,true]{"c":3}', [{ a: 1 }, [1], "x", -2500, true, { c: 3 }]],
    ['"a""b"', ["a", "b"]],
  ])("%j", (text, values) => expect(valuesOf(text)).toEqual(values));
  test.each(["", " ", ",", "{", "}", "{}{", "{}}", "[{}", "[{}]]", "{oops}", "{}{oops}", '"a', "[1}", "{]", "{}:{}"])(
    "R-PROV-3 %j is no JSON",
    (text) => expect(valuesOf(text)).toBeUndefined(),
  );
  test("R-PROV-3 more values than an event can hold are none", () => {
    expect(valuesOf("{}".repeat(4096))).toHaveLength(4096);
    expect(valuesOf("{}".repeat(4097))).toBeUndefined();
    expect(valuesOf(`[${"{},".repeat(4096)}{}]`)).toBeUndefined();
  });
  test("R-PROV-3 a value of so many parts that it would take a multiple of its size is none, however long a text may be", () => {
    expect(parseBounded(`{"a":[${"{},".repeat(140_000)}0]}`)).toBeUndefined();
    expect(parseBounded("[".repeat(300_000) + "]".repeat(300_000))).toBeUndefined();
    expect(parseBounded(JSON.stringify(",{[".repeat(200_000)))).toEqual({ value: ",{[".repeat(200_000) });
    expect(parseBounded(JSON.stringify(Array(100_000).fill(1)))).toBeDefined();
  });
  test.each<[string, string]>([
    ["first", '{"text":LONG,"a":[1,{"b":null}]}'],
    ["last, with space", '{"a":{"b":[true,""]},"text" : LONG }'],
    ["nested", '{"a":[{"b":[0,LONG,"x"]}],"__proto__":{"c":1}}'],
    ["under a name of its own", '{"__proto__":LONG}'],
    ["as a name", '{LONG:"x"}'],
    ["alone", "LONG"],
    ["beside what is no JSON", '{"a":LONG,}'],
    ["beside another end of text", '{"a":LONG,"b":"\\u0000"}'],
    ["unfinished", '{"a":LONG'],
  ])("a long string, %s, is what a parser makes of it", (_name, shape) => {
    for (const inner of ["x", "é北", "🎉", "\\n", '\\"', "\n", "\\ud83d"]) {
      const text = shape.replace("LONG", `"${inner.repeat(40_000)}"`);
      expect(parseBounded(text)).toEqual(parseJson(text));
      expect(JSON.stringify(parseBounded(text))).toBe(JSON.stringify(parseJson(text)));
    }
  });
  test("a run of escapes is read in linear time", () => {
    const text = `{"a":"${String.raw`\\`.repeat(1_000_000)}"}`;
    expect(valuesOf(text + text)).toHaveLength(2);
  });
});

/** Two texts and the end of an answer, as objects. */
const answers = {
  "anthropic-messages": [
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "b" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ],
  "openai-responses": [
    { type: "response.output_text.delta", output_index: 0, delta: "a" },
    { type: "response.output_text.delta", output_index: 0, delta: "b" },
    { type: "response.completed", response: {} },
  ],
  cohere: [
    { type: "content-delta", delta: { message: { content: { text: "a" } } } },
    { type: "content-delta", delta: { message: { content: { text: "b" } } } },
    { type: "message-end", delta: { finish_reason: "COMPLETE" } },
  ],
  gemini: [
    { candidates: [{ content: { parts: [{ text: "a" }] } }] },
    { candidates: [{ content: { parts: [{ text: "b" }] }, finishReason: "STOP" }] },
  ],
} as const;

const formats = ["anthropic-messages", "openai-responses", "cohere", "gemini"] as const;

describe.each(formats)("R-PROV-21 %s", (format) => {
  const values = answers[format].map((value) => JSON.stringify(value));
  const summed = (data: string): Reading => read(format, `data: ${data}\n\n`);
  const whole = { text: "ab", verdicts: [{ verdict: "complete", stopReason: "stop" }] };
  test("values glued together are events of their own", () => expect(summed(values.join(""))).toMatchObject(whole));
  test("so are the elements of a list", () => expect(summed(`[${values.join(", ")}]`)).toMatchObject(whole));
  test("R-PROV-1 half of a glued event at the end of the body is a cut", () => {
    const cut = `data: ${values.join("")}{"a":`;
    expect(read(format, cut)).toMatchObject({ text: "", verdicts: [{ verdict: "truncated" }] });
  });
  test.each([
    ["glued", "{}".repeat(1_000_000)],
    ["listed", `[${"{},".repeat(1_000_000)}{}]`],
    ["within a value", `{"candidates":[${"{},".repeat(1_000_000)}{}]}`],
  ])("R-PROV-3 a flood of values, %s, is malformed, and is not made", (_name, data) => {
    const packets = [toBytes(`data: ${data}\n\n`)];
    expect(readPackets(format, packets, 8_000_000)).toMatchObject([
      { verdict: "failed", failure: { failureClass: "malformed" } },
    ]);
  });
});

test.each(["anthropic-messages", "openai-responses", "cohere"] as const)(
  "R-PROV-21 %s: what is glued behind the end is not read",
  (format) => {
    const [first, ...others] = answers[format].map((value) => JSON.stringify(value));
    expect(read(format, `data: ${[first, ...others, first].join("")}\n\n`)).toMatchObject({ text: "ab" });
  },
);
