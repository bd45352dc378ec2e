// Laws of the event stream reader: any split of the same bytes gives the same frames, and what the writer writes is read back.
import fc from "fast-check";
import { expect, test } from "vitest";
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
