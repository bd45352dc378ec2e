// The shortcut for token events reads what the parser would read, or leaves it to the parser.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonTemplate } from "../../src/wire/json-template.ts";

const chunk = (content: string, space = ""): string =>
  `{"id":"c-1",${space}"choices":[{"index":0,"delta":{"content":${space}${JSON.stringify(content)}},"finish_reason":null}]}`;

test("R-PROV-2 reads the string of a text that differs from the learned one only in it", () => {
  const template = jsonTemplate("content");
  expect(template.match(chunk("a"))).toBeUndefined();
  template.learn(chunk("a"), "a");
  expect(template.match(chunk("Paris, 北京 🙂"))).toBe("Paris, 北京 🙂");
  expect(template.match(chunk("a", " "))).toBeUndefined();
});

test.each([
  ["an escape", chunk("line\nend")],
  ["a quote", chunk('say "hi"')],
  ["an empty string", chunk("")],
  ["a finish", chunk("b").replace("null", '"stop"')],
  ["another member", chunk("b").replace('"index":0', '"index":1')],
  ["a second string", chunk("b").replace('"b"', '"b","x":"y"')],
  ["a cut", chunk("b").slice(0, -1)],
  ["more behind it", `${chunk("b")} `],
  ["a raw control character", chunk("b").replace('"b"', '"\t"')],
  ["a number", chunk("b").replace('"b"', "7")],
])("R-PROV-2 leaves %s to the parser", (_what, text) => {
  const template = jsonTemplate("content");
  template.learn(chunk("a"), "a");
  expect(template.match(text)).toBeUndefined();
});

test("R-PROV-2 does not learn a text in which the member stands twice", () => {
  const template = jsonTemplate("content");
  const twice = '{"content":"a","delta":{"content":"a"}}';
  template.learn(twice, "a");
  expect(template.match(twice)).toBeUndefined();
});

test("R-PROV-2 whatever it reads, the parser reads the same", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "binary" }),
      fc.constantFrom("", " "),
      (first, next, space) => {
        const template = jsonTemplate("content");
        template.learn(chunk(first, space), first);
        const value = template.match(chunk(next, space));
        if (value !== undefined) expect(value).toBe(next);
      },
    ),
    { numRuns: 2000 },
  );
});
