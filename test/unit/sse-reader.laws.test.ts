// Laws of the event stream reader: any split of the same bytes gives the same frames, and what the writer writes is read back.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonTemplate } from "../../src/wire/json-template.ts";
import { sseReader, type SseItem } from "../../src/wire/sse-reader.ts";
import { SSE_HEARTBEAT, sseFrame, sseNamedFrame, ssePreamble } from "../../src/wire/sse-writer.ts";
import { strayJson } from "../../src/wire/stray-json.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

function framesOf(packets: readonly Uint8Array[], maxEvent = 1_000_000, stray = false): SseItem[] {
  const reader = sseReader(maxEvent, undefined, stray ? strayJson() : undefined);
  return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
}

/** Text in which everything that matters to the format is frequent. */
const wireText = fc
  .array(
    fc.constantFrom(
      "data",
      "event",
      "id",
      ":",
      ": ",
      " ",
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "\uFEFF",
      "\0",
      "é",
      "北",
      "🎉",
      "\u2028",
      "a",
      "[DONE]",
      "{",
      "}",
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

test("R-PROV-2 any split of the same bytes gives the same frames", () => {
  fc.assert(
    fc.property(
      wireText,
      fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
      fc.constantFrom(8, 30, 1_000_000),
      fc.boolean(),
      (wire, cuts, limit, stray) => {
        const bytes = toBytes(wire);
        const frames = framesOf([bytes], limit, stray);
        expect(framesOf(splitBytes(bytes, cuts), limit, stray)).toEqual(frames);
        expect(
          framesOf(
            Array.from(bytes, (byte) => Uint8Array.of(byte)),
            limit,
            stray,
          ),
        ).toEqual(frames);
      },
    ),
    { numRuns: 2000 },
  );
});

test("R-PROV-2 events that are read ahead are those that are read line by line", () => {
  const text = fc.oneof(fc.constantFrom("a", "", "é", "\\n", '\\"', "x".repeat(40)), fc.string({ maxLength: 20 }));
  const plain = fc.constant(["", "data: ", "{'text':'~'}", "\n\n"] as const);
  const odd = fc.tuple(
    fc.constantFrom("", "event: x\n", "id: 1\n", ": hb\n", "event: x\r\n", "\n"),
    fc.constantFrom("data: ", "data:", "dat"),
    fc.constantFrom("{'text':'~'}", "{'text':'~','n':1}", "{'other':'~'}", "{'text':'~'} "),
    fc.constantFrom("\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\n", "\ndata: x\n\n", ""),
  );
  const part = fc.tuple(fc.oneof({ arbitrary: plain, weight: 2 }, { arbitrary: odd, weight: 3 }), text);
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 12 }),
      fc.array(fc.nat({ max: 300 }), { maxLength: 4 }),
      fc.constantFrom(undefined, "x"),
      fc.constantFrom(24, 60, 10_000),
      (parts, cuts, event, limit) => {
        const wire = parts.map(([[before, field, shape, after], value]) =>
          [before, field, shape.replaceAll("'", '"').replace("~", () => value), after].join(""),
        );
        const bytes = toBytes(wire.join(""));
        const read = (packets: readonly Uint8Array[]): unknown[] => {
          const template = jsonTemplate();
          template.learn('{"text":"a"}', "text", "a");
          const reader = sseReader(limit, { template, event });
          return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
        };
        // A byte at a time there is nothing to read ahead.
        const byLine = read(Array.from(bytes, (byte) => Uint8Array.of(byte)));
        expect(read([bytes])).toEqual(byLine);
        expect(read(splitBytes(bytes, cuts))).toEqual(byLine);
      },
    ),
    { numRuns: 5000 },
  );
});

test("R-PROV-2 any split of arbitrary bytes gives the same frames", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.array(fc.nat({ max: 100 }), { maxLength: 8 }), (bytes, cuts) => {
      expect(framesOf(splitBytes(bytes, cuts))).toEqual(framesOf([bytes]));
    }),
    { numRuns: 2000 },
  );
});

test("R-READ-1 R-READ-8 what the writer writes is read back, whatever stands around and however it is cut", () => {
  const frame = fc.record({ id: fc.nat(), value: fc.jsonValue(), heartbeat: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 10 }),
      fc.array(fc.nat({ max: 2000 }), { maxLength: 10 }),
      (frames, cuts) => {
        const wire = frames.map(
          ({ id, value, heartbeat }) => (heartbeat ? SSE_HEARTBEAT : "") + sseFrame(id, JSON.stringify(value)),
        );
        expect(framesOf(splitBytes(ssePreamble() + wire.join(""), cuts))).toEqual(
          frames.map(({ id, value }) => ({ data: JSON.stringify(value), id: String(id) })),
        );
      },
    ),
    { numRuns: 1000 },
  );
});

test("R-READ-3 a named frame is read back without an id", () => {
  expect(framesOf([toBytes(ssePreamble(86_400_000) + sseNamedFrame("error", '{"a":1}'))])).toEqual([
    { data: '{"a":1}', event: "error" },
  ]);
});
