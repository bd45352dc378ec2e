// The gathering of a body's pieces: nothing is lost or turned round, a pause costs nothing, a flood comes in few batches.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pieceBatch, type PieceBatch } from "../../durable-objects/piece-batch.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Gathering {
  add(text: string): void;
  taken: string[];
  batch: PieceBatch;
  faults: unknown[];
}

/** Every letter is an event. */
function gathering(take?: () => number): Gathering {
  const taken: string[] = [];
  const faults: unknown[] = [];
  const batch = pieceBatch(
    (bytes) => {
      taken.push(new TextDecoder().decode(bytes));
      return take?.() ?? bytes.byteLength;
    },
    Date.now,
    (fault) => faults.push(fault),
  );
  return { add: (text) => batch.add(toBytes(text), Date.now()), taken, batch, faults };
}

test("R-PROV-2 what comes after a pause goes on at once, what follows it within 4 ms in one", () => {
  const { add, taken } = gathering();
  add("a");
  expect(taken).toEqual(["a"]);
  add("b");
  vi.advanceTimersByTime(3);
  add("c");
  expect(taken).toEqual(["a"]);
  vi.advanceTimersByTime(1);
  expect(taken).toEqual(["a", "bc"]);
  vi.advanceTimersByTime(20);
  add("d");
  expect(taken).toEqual(["a", "bc", "d"]);
});

test("R-PROV-2 a flood comes 16 ms at a time, and what comes after it as before", () => {
  const { add, taken } = gathering();
  const flood = "x".repeat(64);
  add(flood);
  add("a");
  vi.advanceTimersByTime(15);
  expect(taken).toEqual([flood]);
  vi.advanceTimersByTime(1);
  expect(taken).toEqual([flood, "a"]);
  add("b");
  vi.advanceTimersByTime(4);
  expect(taken).toEqual([flood, "a", "b"]);
});

test("R-PROV-2 a large piece waits for nothing, and goes behind what has gathered", () => {
  const { add, taken } = gathering(() => 1);
  const large = "y".repeat(16_384);
  add("a");
  add("b");
  add(large);
  expect(taken).toEqual(["a", "b", large]);
  vi.advanceTimersByTime(100);
  expect(taken).toHaveLength(3);
});

test("R-PROV-2 no more than a mebibyte gathers", () => {
  const { add, taken } = gathering();
  const piece = "z".repeat(16_000);
  for (let count = 0; count < 100; count++) add(piece);
  expect(Math.max(...taken.map(({ length }) => length))).toBeLessThanOrEqual(1_048_576);
  vi.advanceTimersByTime(16);
  expect(taken.join("")).toBe(piece.repeat(100));
});

test("R-PROV-2 no more than a mebibyte gathers, also when the timer is late", () => {
  const { add, taken, faults } = gathering();
  const piece = "z".repeat(16_000);
  add(piece);
  for (let count = 0; count < 65; count++) add(piece);
  vi.setSystemTime(Date.now() + 100);
  add(piece);
  vi.advanceTimersByTime(16);
  expect(Math.max(...taken.map(({ length }) => length))).toBeLessThanOrEqual(1_048_576);
  expect(taken.join("")).toBe(piece.repeat(67));
  expect(faults).toEqual([]);
});

test("R-PROV-2 nothing is held longer when the time is set back", () => {
  const { add, taken } = gathering();
  add("a");
  vi.setSystemTime(Date.now() - 3_600_000);
  add("b");
  vi.advanceTimersByTime(4);
  expect(taken).toEqual(["a", "b"]);
});

test("R-PROV-2 what has gathered is handed on when it is asked for, or dropped", () => {
  const { add, taken, batch } = gathering();
  add("a");
  add("b");
  batch.flush();
  batch.flush();
  expect(taken).toEqual(["a", "b"]);
  add("c");
  batch.stop();
  vi.advanceTimersByTime(100);
  batch.flush();
  expect(taken).toEqual(["a", "b"]);
});

test("R-PROV-2 a fault goes to the caller, at what has gathered to the one who is told of faults", () => {
  const fault = new Error("no");
  const { add, batch, faults } = gathering(() => {
    throw fault;
  });
  expect(() => add("a")).toThrow(fault);
  add("b");
  expect(faults).toEqual([]);
  vi.advanceTimersByTime(4);
  expect(faults).toEqual([fault]);
  add("c");
  batch.flush();
  expect(faults).toEqual([fault, fault]);
});

test("R-PROV-2 whatever comes when, all of it goes on in order, at most 16 ms later", () => {
  const piece = fc.record({
    size: fc.constantFrom(1, 3, 200, 15_000, 16_000, 16_383, 16_384, 40_000),
    // Of a busy thread the clock goes on, and the timers do not.
    late: fc.oneof({ arbitrary: fc.constant(0), weight: 30 }, fc.constantFrom(1, 20)),
    pause: fc.oneof({ arbitrary: fc.constant(0), weight: 30 }, fc.nat({ max: 20 })),
  });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 300, size: "max" }), (pieces) => {
      const { add, taken, faults } = gathering();
      let sent = "";
      for (const [index, { size, late, pause }] of pieces.entries()) {
        const text = String.fromCharCode(97 + (index % 26)).repeat(size);
        sent += text;
        if (late > 0) vi.setSystemTime(Date.now() + late);
        add(text);
        vi.advanceTimersByTime(pause);
        if (pause >= 16) expect(taken.reduce((sum, { length }) => sum + length, 0)).toBe(sent.length);
      }
      vi.advanceTimersByTime(16);
      expect(taken.join("") === sent).toBe(true);
      expect(taken.every(({ length }) => length <= 1_048_576)).toBe(true);
      expect(faults).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
