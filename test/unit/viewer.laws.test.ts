// The hand-over between what is stored and what is live: for every interleaving a reader gets each event once, in order, whatever the disk does.
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { sharedFrames } from "../../durable-objects/frames.ts";
import { runLog } from "../../durable-objects/run-log.ts";
import type { RunLogStore } from "../../durable-objects/run-row.ts";
import { viewerStream } from "../../durable-objects/viewer.ts";
import type { LogEntry, LogEvent } from "../../schemas/event.ts";
import { indeRunNdjson } from "../../src/dialects/inderun.ts";
import { damagedLog, goneLog, replacedText } from "../../src/run/reader-faults.ts";

const seed = Number(process.env["LAW_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`viewer laws: LAW_SEED=${seed}`);

/** Storage in memory, with the marks of the real one. Small pages, so that readers cross many of them. */
function memoryStore(): RunLogStore {
  let stored: LogEntry[] = [];
  let reservedTo = 15;
  const add = (entries: readonly LogEntry[], reserved: number): void => {
    stored = [...stored, ...entries];
    reservedTo = reserved;
  };
  return {
    load: () => undefined,
    request: () => undefined,
    marks: () => ({ durableTo: stored.length - 1, reservedTo }),
    accept: () => undefined,
    complete: () => undefined,
    flush: add,
    recover: (entries, reserved) => add(entries, reserved),
    seal: (entries) => add(entries, stored.length + entries.length - 1),
    read: (after) => ({ entries: stored.slice(after + 1, after + 4) }),
    markAttached: () => undefined,
    markContinued: () => undefined,
    eraseRequest: () => undefined,
    markTold: () => undefined,
    opening: () => ({}),
    markProjected: () => undefined,
    sweepEvents: () => undefined,
    setAlarm: async () => undefined,
    cost: () => ({ rowsWritten: 0, rowsRead: 0, bytesStored: 0 }),
  };
}

function eventAt(sequence: number, kind: "delta" | "snapshot" | "terminal"): LogEvent {
  const base = { sequence, at: sequence };
  const text = `text ${sequence} ${"x".repeat(sequence % 20 === 7 ? 400_000 : 3)}`;
  if (kind === "delta") return { ...base, type: "content_delta", payload: { text } };
  if (kind === "snapshot") return { ...base, type: "content_snapshot", payload: { text: "" } };
  return {
    ...base,
    type: "terminal",
    payload: { schemaVersion: "1.0", runId: "r", outcome: "cancelled", partialText: "" },
  };
}

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("snapshot" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("confirm" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("read" as const), viewer: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 400 }) }) },
);

async function play(
  actions: readonly (typeof action extends fc.Arbitrary<infer A> ? A : never)[],
  cursors: number[],
  strict: boolean,
) {
  const store = memoryStore();
  let waiting: (() => void)[] = [];
  const log = runLog(
    store,
    {
      confirm: () => new Promise((resolve) => waiting.push(resolve)),
      milestone: () => undefined,
      beforeEnd: async () => undefined,
      keepsRequest: () => false,
      onFailure: (error) => {
        throw error;
      },
    },
    { durableTo: -1, reservedTo: strict ? -1 : 15 },
    { strict, flushMs: 300, reserveEvents: 16, sealed: false },
  );
  const shared = sharedFrames({ runId: "r", startedAt: 0 })(indeRunNdjson);
  let sequence = 0;
  const append = (kind: "delta" | "snapshot" | "terminal", count = 1): void =>
    log.append(Array.from({ length: count }, () => eventAt(sequence++, kind)));
  append("delta", 10);
  const viewers = cursors.map((cursor) => {
    const stream = viewerStream({
      log,
      frames: shared,
      dialect: indeRunNdjson,
      cursor,
      opening: "",
      heartbeatMs: 1_000_000,
      damage: damagedLog("r"),
      gone: goneLog("r"),
      replaced: replacedText("r"),
      onClose: () => undefined,
    });
    return {
      cursor,
      reader: stream.getReader(),
      text: "",
      pending: noRead,
      done: false,
    };
  });
  const read = (viewer: (typeof viewers)[number]): void => {
    viewer.pending ??= viewer.reader.read().then(({ done, value }) => {
      viewer.pending = undefined;
      viewer.done = done;
      viewer.text += new TextDecoder().decode(value);
    });
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  for (const next of actions) {
    if (next.do === "append") append("delta", next.count);
    if (next.do === "snapshot") append("snapshot");
    if (next.do === "confirm") for (const resolve of waiting.splice(0)) resolve();
    if (next.do === "time") await vi.advanceTimersByTimeAsync(next.ms);
    const viewer = next.do === "read" ? viewers[next.viewer] : undefined;
    if (viewer !== undefined) read(viewer);
    await settle();
    // The promise of the marks, at every moment.
    const { durableTo, reservedTo } = store.marks();
    expect(log.visibleTo).toBeLessThanOrEqual(Math.max(reservedTo, durableTo));
  }
  append("terminal");
  for (let turn = 0; turn < 10_000 && viewers.some(({ done }) => !done); turn++) {
    for (const resolve of waiting.splice(0)) resolve();
    for (const viewer of viewers) if (!viewer.done) read(viewer);
    await settle();
    await vi.advanceTimersByTimeAsync(10);
  }
  waiting = [];
  return viewers.map(({ cursor, text, done }) => ({
    cursor,
    done,
    last: sequence - 1,
    sequences: text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line): number => JSON.parse(line).sequence),
  }));
}

/** No read is under way. */
const noRead: Promise<void> | undefined = undefined;

describe("viewer", () => {
  for (const strict of [false, true]) {
    it(
      `R-READ-1 R-READ-10 R-DUR-1 has no gap and no repeat for any interleaving of log, disk and readers${strict ? ", strict" : ""}`,
      { timeout: 60_000 },
      async () => {
        vi.useFakeTimers();
        try {
          await fc.assert(
            fc.asyncProperty(
              fc.array(action, { maxLength: 40 }),
              fc.array(fc.integer({ min: -1, max: 9 }), { minLength: 3, maxLength: 3 }),
              async (actions, cursors) => {
                for (const { cursor, done, last, sequences } of await play(actions, cursors, strict)) {
                  expect(done).toBe(true);
                  expect(sequences).toEqual(Array.from({ length: last - cursor }, (_, index) => cursor + 1 + index));
                }
              },
            ),
            { seed, numRuns: 150 },
          );
        } finally {
          vi.useRealTimers();
        }
      },
    );
  }

  it("R-READ-1 a reader is woken as soon when the time is set back", async () => {
    vi.useFakeTimers();
    try {
      const log = runLog(
        memoryStore(),
        {
          confirm: async () => undefined,
          milestone: () => undefined,
          beforeEnd: async () => undefined,
          keepsRequest: () => false,
          onFailure: (error) => {
            throw error;
          },
        },
        { durableTo: -1, reservedTo: 15 },
        { strict: false, flushMs: 300, reserveEvents: 16, sealed: false },
      );
      let woken = 0;
      const reading = (async () => {
        for (let read = -1; read < 1; read = log.visibleTo) {
          await log.changed();
          woken++;
        }
      })();
      log.append([eventAt(0, "delta")]);
      await vi.advanceTimersByTimeAsync(0);
      expect(woken).toBe(1);
      vi.setSystemTime(Date.now() - 3_600_000);
      log.append([eventAt(1, "delta")]);
      await vi.advanceTimersByTimeAsync(50);
      expect(woken).toBe(2);
      await reading;
    } finally {
      vi.useRealTimers();
    }
  });
});
