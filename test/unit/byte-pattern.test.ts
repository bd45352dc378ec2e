// Comparing by fours says what comparing byte by byte says.
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytePattern, standsAt, viewed } from "../../src/wire/byte-pattern.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

test("R-PROV-2 bytes are found where they stand, and only when all of them do before the end", () => {
  const within = viewed(toBytes("--data: {--").subarray(2));
  const pattern = bytePattern(toBytes("data: {"));
  expect(standsAt(pattern, within, 0, 9)).toBe(true);
  expect(standsAt(pattern, within, 0, 7)).toBe(true);
  expect(standsAt(pattern, within, 0, 6)).toBe(false);
  expect(standsAt(pattern, within, 1, 9)).toBe(false);
  expect(standsAt(bytePattern(toBytes("")), within, 9, 9)).toBe(true);
});

test("R-PROV-2 they are found nowhere else", () => {
  const few = fc.array(fc.constantFrom(0x61, 0x62, 0xff), { maxLength: 12 });
  fc.assert(
    fc.property(few, few, fc.nat({ max: 12 }), (part, bytes, at) => {
      const found = standsAt(bytePattern(Uint8Array.from(part)), viewed(Uint8Array.from(bytes)), at, bytes.length);
      expect(found).toBe(at + part.length <= bytes.length && part.every((byte, index) => bytes[at + index] === byte));
    }),
    { numRuns: 3000 },
  );
});
