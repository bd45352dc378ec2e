// Laws of the array reader: any split of the same bytes gives the same items, and what JSON.stringify writes is read back.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonArrayReader, type JsonArrayItem } from "../../src/wire/json-array.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

function itemsOf(packets: readonly Uint8Array[], maxElement = 1_000_000): JsonArrayItem[] {
  const reader = jsonArrayReader(maxElement);
  return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
}

/** Text in which everything that matters to the format is frequent. */
const wireText = fc
  .array(
    fc.constantFrom(
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      '"',
      "\\",
      " ",
      "\n",
      "1",
      "-2.5",
      "null",
      "é",
      "北",
      "🎉",
      "\uFEFF",
      "a",
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

test("R-PROV-2 any split of the same bytes gives the same elements", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        wireText,
        wireText.map((text) => `[${text}`),
      ),
      fc.array(fc.nat({ max: 200 }), { maxLength: 12 }),
      fc.constantFrom(2, 8, 1_000_000),
      (wire, cuts, limit) => {
        const bytes = toBytes(wire);
        const items = itemsOf([bytes], limit);
        expect(itemsOf(splitBytes(bytes, cuts), limit)).toEqual(items);
        const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
        expect(itemsOf(single, limit)).toEqual(items);
      },
    ),
    { numRuns: 3000 },
  );
});

test("R-PROV-2 one byte order mark is passed over and a second is none, however they are cut", () => {
  for (const [marks, items] of [
    ["\uFEFF", [{ text: "1" }, { closed: true }]],
    ["\uFEFF\uFEFF", [{ stray: true }]],
  ] as const) {
    const bytes = toBytes(`${marks}[1]`);
    for (let cut = 0; cut < bytes.length; cut++) expect(itemsOf(splitBytes(bytes, [cut]))).toEqual(items);
    expect(itemsOf(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(items);
  }
});

test("R-PROV-2 every array is read back whole, whatever white space stands in it and however it is cut", () => {
  const gap = fc.constantFrom("", " ", "\n", "\r\n", "\t ");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, 2), gap), { maxLength: 6 }),
      fc.array(fc.nat({ max: 1000 }), { maxLength: 10 }),
      (elements, cuts) => {
        const wire = elements.map(([value, indent, space]) => space + JSON.stringify(value, null, indent) + space);
        const items = itemsOf(splitBytes(`[${wire.join(",")}]`, cuts));
        expect(items.at(-1)).toEqual({ closed: true });
        const values = items.flatMap((item): unknown[] => ("text" in item ? [JSON.parse(item.text)] : []));
        expect(JSON.stringify(values)).toBe(JSON.stringify(elements.map(([value]) => value)));
      },
    ),
    { numRuns: 1500 },
  );
});

test("R-PROV-1 a cut array never says that it is closed, and its elements are the first of the whole", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 4 }), fc.nat(), (values, at) => {
      const wire = JSON.stringify(values);
      const whole = itemsOf([toBytes(wire)]);
      const items = itemsOf([toBytes(wire.slice(0, at % wire.length))]);
      expect(items).toEqual(whole.slice(0, items.length));
      expect(items.some((item) => "closed" in item)).toBe(false);
    }),
    { numRuns: 1500 },
  );
});
