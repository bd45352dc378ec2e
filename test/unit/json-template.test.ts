// The shortcut for token events reads what the parser would read, or leaves it to the parser.
import fc from "fast-check";
import { expect, test } from "vitest";
import { viewed } from "../../src/wire/byte-pattern.ts";
import { jsonTemplate, type JsonTemplate } from "../../src/wire/json-template.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const chunk = (content: string, space = "", padding?: string): string =>
  `{"id":"c-1",${space}"choices":[{"index":0,"delta":{"content":${space}${JSON.stringify(content)}},"finish_reason":null}]${
    padding === undefined ? "" : `,"padding":"${padding}"`
  }}`;

function learned(text: string, value: string): JsonTemplate {
  const template = jsonTemplate(["padding"]);
  template.learn(text, "content", value);
  return template;
}

function match(template: JsonTemplate, text: string): string | undefined {
  const bytes = toBytes(`before${text}after`);
  const known = template.match(viewed(bytes), 6, bytes.length - 5);
  return template.matchedTo === bytes.length - 5 ? known?.value : undefined;
}

test("R-PROV-2 reads the string of a text that differs from the learned one only in it", () => {
  expect(match(jsonTemplate(), chunk("a"))).toBeUndefined();
  const template = learned(chunk("a"), "a");
  expect(match(template, chunk("Paris, 北京 🙂"))).toBe("Paris, 北京 🙂");
  expect(match(template, chunk("a", " "))).toBeUndefined();
});

test.each(["line\nend", 'say "hi"', "back\\slash", "\\", "\u0001", "\ud800", '\n"'])(
  "R-PROV-2 reads the escapes of %j",
  (text) => {
    expect(match(learned(chunk("a"), "a"), chunk(text))).toBe(text);
  },
);

test("R-PROV-2 passes over padding of any length, and keeps apart what each member's texts look like", () => {
  const template = learned(chunk("a", "", "xy"), "a");
  expect(match(template, chunk("b", "", ""))).toBe("b");
  expect(match(template, chunk("b", "", "é".repeat(5000)))).toBe("b");
  expect(match(template, chunk("b", "", "\\n"))).toBeUndefined();
  expect(match(template, chunk("b"))).toBeUndefined();
  const thought = chunk("hm").replace("content", "thought");
  template.learn(thought, "thought", "hm");
  const bytes = toBytes(thought);
  expect(template.match(viewed(bytes), 0, bytes.length)).toEqual({ key: "thought", value: "hm" });
  expect(match(template, chunk("c", "", "z"))).toBe("c");
});

test("R-PROV-2 writes a text that means the same", () => {
  const template = learned(chunk("a", "", "xy"), "a");
  expect(template.expand({ key: "content", value: 'q"\n' })).toBe(chunk('q"\n', "", ""));
});

test.each([
  ["an empty string", chunk("")],
  ["a finish", chunk("b").replace("null", '"stop"')],
  ["another member", chunk("b").replace('"index":0', '"index":1')],
  ["a second string", chunk("b").replace('"b"', '"b","x":"y"')],
  ["a cut", chunk("b").slice(0, -1)],
  ["a cut in an escape", chunk("b").slice(0, chunk("b").indexOf('b"')) + "\\"],
  ["a wrong escape", chunk("b").replace('"b"', '"\\x"')],
  ["more behind it", `${chunk("b")} `],
  ["a raw control character", chunk("b").replace('"b"', '"\t"')],
  ["a number", chunk("b").replace('"b"', "7")],
])("R-PROV-2 leaves %s to the parser", (_what, text) => {
  expect(match(learned(chunk("a"), "a"), text)).toBeUndefined();
});

test.each([
  ["in which the member stands twice", '{"content":"a","delta":{"content":"a"}}'],
  ["whose value is another one", '{"content":"b","delta":{"text":"a"}}'],
  ["whose value is no string", '{"content":["a"]}'],
  ["without the member", '{"text":"a"}'],
  ["that is cut", '{"content":"a'],
])("R-PROV-2 does not learn a text %s", (_what, text) => {
  expect(match(learned(text, "a"), text)).toBeUndefined();
});

test("R-PROV-2 whatever it reads, the parser reads the same", () => {
  const any = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: "binary" }),
    fc.constantFrom("\\", '"', "\u0000"),
  );
  fc.assert(
    fc.property(any, any, fc.constantFrom("", " "), (first, next, space) => {
      const value = match(learned(chunk(first, space), first), chunk(next, space));
      if (value !== undefined) expect(value).toBe(next);
    }),
    { numRuns: 2000 },
  );
});
