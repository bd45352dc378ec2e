// Key-sorted JSON: the text by which two bodies are the same request or not.
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, depthOf } from "../../src/run/canonical.ts";

const json = fc.jsonValue({ maxDepth: 4 });

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, child]) => [key, shuffled(child)]),
  );
}

test("R-NAME-2 the order of keys does not matter, and the text is JSON of the same value", () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(shuffled(value))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(JSON.parse(text))).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test("R-NAME-2 different values have different texts", () => {
  fc.assert(
    fc.property(json, json, (left, right) => {
      const same = JSON.stringify(shuffledTwice(left)) === JSON.stringify(shuffledTwice(right));
      if (canonicalJson(left) === canonicalJson(right)) expect(left).toEqual(right);
      else expect(same).toBe(false);
    }),
    { numRuns: 500 },
  );
});

const shuffledTwice = (value: unknown) => shuffled(shuffled(value));

test.each([
  [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
  [{ a: [{ d: 1, c: [] }] }, '{"a":[{"c":[],"d":1}]}'],
  [{ é: 1, z: 2, Z: 3 }, '{"Z":3,"z":2,"é":1}'],
  [JSON.parse('{"b":1,"__proto__":{"y":1,"x":2},"a":3}'), '{"__proto__":{"x":2,"y":1},"a":3,"b":1}'],
  [{ "10": 1, "9": 2, a: 3 }, '{"9":2,"10":1,"a":3}'],
  [["b", "a"], '["b","a"]'],
  [null, "null"],
  ["\ud800", '"\\ud800"'],
])("R-NAME-2 %j", (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test('R-NAME-2 [] is not {}, null is not absent, 1 is not "1"', () => {
  const texts = [{ a: [] }, { a: {} }, { a: null }, {}, { a: 1 }, { a: "1" }, { a: [null] }].map(canonicalJson);
  expect(new Set(texts).size).toBe(texts.length);
});

test("R-START-5 depth: 0 for a scalar, one per level, and counting stops beyond the limit", () => {
  expect([1, "x", null, [], {}, [[]], { a: { b: 1 } }, [{ a: [1] }]].map((value) => depthOf(value, 64))).toEqual([
    0, 0, 0, 0, 0, 1, 2, 3,
  ]);
  const deep: unknown = JSON.parse("[".repeat(300_000) + "]".repeat(300_000));
  expect(depthOf(deep, 64)).toBe(65);
});

test("R-START-5 depth is that of the deepest branch, wherever it stands", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 80 }), fc.array(json, { maxLength: 4 }), (depth, others) => {
      const branch: unknown = JSON.parse(`${"[".repeat(depth)}1${"]".repeat(depth)}`);
      expect(depthOf([...others, branch], 200)).toBeGreaterThanOrEqual(depth + 1);
      expect(depthOf([...others, branch], 200)).toBe(
        Math.max(...[...others, branch].map((one) => depthOf(one, 200))) + 1,
      );
    }),
    { numRuns: 200 },
  );
});
