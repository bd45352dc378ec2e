// What a tool sent back becomes JSON within its limit, whatever it was.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutText, ownMessage, shapeOutput, toolError } from "../../src/run/tool-output.ts";
import { parseExact } from "../../src/wire/exact-json.ts";
import { utf8Length } from "../../src/run/utf8.ts";

const LIMIT = 1000;
const shaped = (value: unknown, maxBytes: number) =>
  shapeOutput(value, maxBytes, { secrets: [], addresses: [] }, parseExact);
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

test.each([
  ['{"a":1}', { a: 1 }],
  ["[1,2]", [1, 2]],
  ["42", 42],
  ["null", null],
  ['"text"', "text"],
  ["", ""],
  ["plain text", "plain text"],
  ['{"a":', '{"a":'],
  ["a \ud800 b", "a \ufffd b"],
])("R-TOOL-14 the text %j is given as %j", (text, output) => {
  expect(shaped(text, LIMIT)).toEqual({ output });
});

test("R-TOOL-12 an answer that says nothing is a success without a value", () => {
  expect(shaped(undefined, LIMIT)).toEqual({ output: { success: true, data: null } });
});

test("R-TOOL-14 output that is nested too deeply is an error, however deep", () => {
  expect(shaped(nested(65), LIMIT).isError).toBeUndefined();
  for (const levels of [66, 100_000]) {
    expect(shaped(nested(levels), 10 * levels)).toEqual(
      toolError("The tool's output is nested deeper than 64 levels."),
    );
  }
});

describe("the limit", () => {
  test("R-TOOL-14 output of exactly the limit is whole, one byte more is cut with a mark", () => {
    const whole = "x".repeat(64);
    expect(shaped(whole, 64)).toEqual({ output: whole });
    const { output } = shaped(`${whole}x`, 64);
    expect(output).toBe(`${"x".repeat(36)}\n[cut: longer than 64 bytes]`);
  });

  test("R-TOOL-14 JSON over the limit is given as the beginning of its text", () => {
    const { output, renderHint } = shaped({ links: [{ label: "a", url: "b".repeat(200) }] }, 100);
    expect(output).toMatch(/^\{"links":\[\{"label":"a","url":"b+\n\[cut: longer than 100 bytes\]$/);
    expect(renderHint).toBeUndefined();
  });

  test("R-TOOL-14 a cut text keeps whole characters and fits the limit", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 0, maxLength: 400 }),
        fc.integer({ min: 64, max: 200 }),
        (text, limit) => {
          const cut = cutText(text, limit);
          expect(utf8Length(cut)).toBeLessThanOrEqual(limit);
          expect(cut.isWellFormed()).toBe(true);
          expect(text.startsWith(cut.slice(0, cut.lastIndexOf("\n")))).toBe(true);
        },
      ),
    );
  });
});

describe("links", () => {
  test("R-TOOL-14 links are given as such, under one spelling", () => {
    const links = [
      { label: "One", url: "https://a.test/1", icon: "i", kind: "k", more: 1 },
      { name: "Two", link: "https://a.test/2" },
    ];
    const result = shaped({ links, total: 2 }, LIMIT);
    expect(result).toEqual({
      output: { links, total: 2 },
      renderHint: "resource_links",
      renderData: {
        links: [
          { label: "One", url: "https://a.test/1", icon: "i", kind: "k" },
          { label: "Two", url: "https://a.test/2" },
        ],
      },
    });
  });

  test.each([
    ["no list", { links: "https://a.test" }],
    ["an empty list", { links: [] }],
    [
      "nothing with a label and an address",
      { links: [1, null, [], { label: "x" }, { url: "y" }, { label: 1, url: 2 }] },
    ],
    ["a list alone", [{ label: "x", url: "y" }]],
  ])("R-TOOL-14 %s is no hint", (_, output) => {
    expect(shaped(output, LIMIT)).toEqual({ output });
  });
});

test("R-TOOL-21 an error's words are cut to 500 characters", () => {
  expect(toolError("e".repeat(600))).toEqual({ output: { success: false, error: "e".repeat(500) }, isError: true });
  expect(toolError(`e${"🎉".repeat(300)}`).output).toEqual({ success: false, error: `e${"🎉".repeat(249)}\ufffd` });
});

test.each([
  [{ error: "no such city" }, "no such city"],
  [{ error: { message: "no such city", code: 7 } }, "no such city"],
  [{ message: "no such city" }, "no such city"],
  [{ error: {}, message: "no such city" }, "no such city"],
  [{ detail: "internal" }, undefined],
  [{ error: "" }, undefined],
  ["no such city", undefined],
  [["no such city"], undefined],
  [null, undefined],
])("R-TOOL-12 of %j the server's own message is %j", (body, message) => {
  expect(ownMessage(body)).toBe(message);
});

test("R-TOOL-12 whatever JSON a tool sends becomes a result that can be written", () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" })), (value) => {
      const result = shaped(value, 200);
      expect(JSON.parse(JSON.stringify(result))).toBeDefined();
      expect(
        utf8Length(typeof result.output === "string" ? result.output : JSON.stringify(result.output)),
      ).toBeLessThanOrEqual(200);
    }),
  );
});
