// The stored form of the log: what goes in comes out, byte for byte, and damage is found.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeSegment, encodeSegment, entryOf } from "../../durable-objects/segment-codec.ts";
import type { Draft, LogEntry } from "../../schemas/event.ts";

const seed = Number(process.env["LAW_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`segment laws: LAW_SEED=${seed}`);

/** Any UTF-16, lone surrogates included: a provider may split a pair over two events. */
const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
);

const released: Draft = { type: "diagnostic", payload: { code: "sequence_released" } };

const draft: fc.Arbitrary<Draft> = fc.oneof(
  { weight: 6, arbitrary: anyText.map((text): Draft => ({ type: "content_delta", payload: { text } })) },
  { weight: 3, arbitrary: anyText.map((text): Draft => ({ type: "reasoning_delta", payload: { text } })) },
  // More than a text: such a payload is not stored bare.
  { weight: 1, arbitrary: anyText.map((text): Draft => ({ type: "content_delta", payload: { text, extra: text } })) },
  { weight: 1, arbitrary: anyText.map((text): Draft => ({ type: "content_snapshot", payload: { text } })) },
  { weight: 2, arbitrary: fc.constant(released) },
);

const log: fc.Arbitrary<LogEntry[]> = fc
  .tuple(
    fc.nat(1_000_000),
    fc.array(fc.tuple(draft, fc.oneof(fc.constant(0), fc.nat(100_000))), { minLength: 1, maxLength: 60 }),
  )
  .map(([first, drafts]) => {
    let at = 1_795_000_000_000;
    return drafts.map(([event, wait], index) => entryOf({ ...event, sequence: first + index, at: (at += wait) }));
  });

describe("segment", () => {
  it("R-LOG-5 reads back exactly what was written", () => {
    fc.assert(
      fc.property(log, (entries) => {
        expect(decodeSegment(encodeSegment(entries), entries[0]?.sequence ?? 0)).toEqual(entries);
      }),
      { seed, numRuns: 3000 },
    );
  });

  it("R-DUR-8 finds every change of one character", () => {
    fc.assert(
      fc.property(log, fc.nat(), fc.integer({ min: 1, max: 90 }), (entries, where, shift) => {
        const stored = encodeSegment(entries);
        const index = where % stored.length;
        const other = String.fromCharCode(33 + ((stored.charCodeAt(index) + shift) % 90));
        fc.pre(other !== stored[index]);
        const damaged = stored.slice(0, index) + other + stored.slice(index + 1);
        const read = decodeSegment(damaged, entries[0]?.sequence ?? 0);
        // A change that JSON reads as the same value is no damage.
        if (read !== undefined) expect(read).toEqual(entries);
      }),
      { seed, numRuns: 3000 },
    );
  });

  it("R-DUR-8 never reads a truncated or foreign text", () => {
    const stored = encodeSegment([
      { sequence: 0, at: 1, type: "content_delta", payload: '{"text":"hello"}', text: "hello" },
    ]);
    for (let length = 0; length < stored.length; length++)
      expect(decodeSegment(stored.slice(0, length), 0)).toBeUndefined();
    for (const text of ["", "null", "[]", "{}", '[2,0,0,"","","",""]', "[1]"])
      expect(decodeSegment(text, 0)).toBeUndefined();
  });

  it("R-DUR-5 stores a released range as one entry", () => {
    const range = Array.from({ length: 4096 }, (_, index) => entryOf({ ...released, sequence: index, at: 5 }));
    const stored = encodeSegment(range);
    expect(stored.length).toBeLessThan(150);
    expect(decodeSegment(stored, 0)).toEqual(range);
  });

  it("R-COST-1 takes about two bytes per token beside its text", () => {
    const entries = Array.from({ length: 1000 }, (_, index) =>
      entryOf({
        type: "content_delta",
        payload: { text: "token" },
        sequence: index,
        at: 1_795_000_000_000 + index * 20,
      }),
    );
    expect(encodeSegment(entries).length).toBeLessThan(1000 * ("token".length + 2) + 100);
  });
});
