// UTF-8 sizes without encoding, held against the platform's encoder.
import fc from "fast-check";
import { expect, test } from "vitest";
import { utf8Length, utf8Prefix } from "../../src/run/utf8.ts";

const encoded = (text: string) => new TextEncoder().encode(text).length;

/** Any UTF-16 units at all, lone surrogates included; surrogates are likely. */
const units = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xff_ff }),
      fc.integer({ min: 0xd7_ff, max: 0xe0_00 }),
      fc.constantFrom(0x7f, 0x80, 0x7_ff, 0x8_00, 0xd8_00, 0xdb_ff, 0xdc_00, 0xdf_ff),
    ),
    { maxLength: 24 },
  )
  .map((codes) => String.fromCharCode(...codes));

test("R-OUT-7 the length is that of the encoded text, for any UTF-16 units", () => {
  fc.assert(
    fc.property(units, (text) => {
      expect(utf8Length(text)).toBe(encoded(text));
    }),
    { numRuns: 3000 },
  );
});

test("R-OUT-7 a prefix fits, is the longest that does, and splits no character", () => {
  fc.assert(
    fc.property(units, fc.integer({ min: -1, max: 40 }), (text, limit) => {
      const prefix = utf8Prefix(text, limit);
      expect(text.startsWith(prefix)).toBe(true);
      expect(encoded(prefix)).toBeLessThanOrEqual(Math.max(0, limit));
      expect(prefix + text.slice(prefix.length)).toBe(text);
      // Never between the halves of a pair.
      expect(encoded(prefix) + encoded(text.slice(prefix.length))).toBe(encoded(text));
      const [next] = text.slice(prefix.length);
      if (next !== undefined) expect(encoded(prefix + next)).toBeGreaterThan(limit);
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ["", 0],
  ["a", 1],
  ["é", 2],
  ["日", 3],
  ["🧵", 4],
  ["\ud83e", 3],
  ["\uddf5", 3],
  ["\uddf5\ud83e", 6],
  ["\ud83e\ud83e\uddf5", 7],
  ["\u0000", 1],
  ["\u2028", 3],
])("R-OUT-7 %j takes %i bytes", (text, bytes) => {
  expect(utf8Length(text)).toBe(bytes);
});
