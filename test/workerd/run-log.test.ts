// The log on real storage: what is reserved, what is durable, what is visible, what is read back.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reservation, type LogOptions } from "../../durable-objects/log-rules.ts";
import { runLog, type RunLog } from "../../durable-objects/run-log.ts";
import { runLogStore } from "../../durable-objects/run-log-store.ts";
import type { Marks } from "../../durable-objects/run-row.ts";
import { entryOf } from "../../durable-objects/segment-codec.ts";
import type { LogEntry, LogEvent } from "../../schemas/event.ts";
import { newName, planOf } from "./plan.ts";

const delta = (sequence: number, text: string): LogEvent => ({
  sequence,
  at: 1000 + sequence,
  type: "content_delta",
  payload: { text },
});

const snapshot = (sequence: number, text: string): LogEvent => ({
  sequence,
  at: 1000 + sequence,
  type: "content_snapshot",
  payload: { text },
});

const terminal = (sequence: number, partialText: string): LogEvent => ({
  sequence,
  at: 1000 + sequence,
  type: "terminal",
  payload: { schemaVersion: "1.0", runId: "r", outcome: "cancelled", partialText },
});

interface Tools {
  store: ReturnType<typeof runLogStore>;
  open(options?: Partial<LogOptions>, marks?: Marks & { newest?: readonly LogEntry[] }): RunLog;
  /** From now on the disk does not confirm, until the returned function is called. */
  hold(): () => void;
  storage: DurableObjectStorage;
  /** Number of flushes so far. */
  flushes(): number;
}

it("R-START-7 a plan and a request that do not fit into a row are read back, and the request is gone at the end", () =>
  runInDurableObject(env.RUN.getByName(newName()), async (_instance, { storage }) => {
    const prompt = "é".repeat(1_200_000);
    const metadata = { filler: "m".repeat(1_200_000) };
    const plan = planOf("r", { metadata });
    runLogStore(storage).accept({ ...plan, request: { ...plan.request, prompt } }, 1000, [], 63);
    const again = runLogStore(storage);
    expect(again.load()?.plan.metadata).toEqual(metadata);
    expect(again.request()?.prompt).toBe(prompt);
    again.seal([entryOf(terminal(0, ""))], "cancelled", 2000, true);
    expect(again.request()?.prompt).toBe(prompt);
    const sealed = runLogStore(storage);
    sealed.load();
    sealed.eraseRequest();
    expect(sealed.request()).toBeUndefined();
    expect(sealed.load()?.plan.metadata).toEqual(metadata);
    const left = storage.sql.exec<{ name: string }>("SELECT DISTINCT name FROM run_text").toArray();
    expect(left).toEqual([{ name: "plan" }]);
  }));

/** A log on an object's own storage, with a confirmation that the test can hold back. Nothing flushes by the clock. */
function withLog<T>(body: (tools: Tools) => Promise<T>): Promise<T> {
  return runInDurableObject(env.RUN.getByName(newName()), async (_instance, state) => {
    const store = runLogStore(state.storage);
    store.accept(planOf("r"), 1000, [], 63);
    let held: PromiseWithResolvers<void> | undefined;
    let flushes = 0;
    const open: Tools["open"] = (options, marks) =>
      runLog(
        store,
        {
          confirm: async () => {
            flushes++;
            await held?.promise;
          },
          milestone: () => undefined,
          beforeEnd: async () => undefined,
          keepsRequest: () => false,
          onFailure: (error) => {
            throw error;
          },
        },
        marks ?? { durableTo: -1, reservedTo: options?.strict === true ? -1 : 63 },
        { strict: false, flushMs: 3_600_000, reserveEvents: 64, sealed: false, ...options },
      );
    const hold = (): (() => void) => {
      held = Promise.withResolvers<void>();
      const { resolve } = held;
      return () => {
        held = undefined;
        resolve();
      };
    };
    return body({ store, open, hold, storage: state.storage, flushes: () => flushes });
  });
}

const entries = (page: ReturnType<RunLog["page"]>): readonly LogEntry[] => {
  if ("damagedTo" in page) throw new Error("damaged");
  return page.entries;
};

const sequences = (page: ReturnType<RunLog["page"]>): number[] => entries(page).map(({ sequence }) => sequence);

const readAll = (page: (after: number) => ReturnType<RunLog["page"]>, after = -1): number[] => {
  const seen: number[] = [];
  for (let next = sequences(page(after)); next.length > 0; next = sequences(page(seen.at(-1) ?? after))) {
    seen.push(...next);
  }
  return seen;
};

describe("run log", () => {
  it("R-DUR-1 shows an event before it is stored, while its number is durably reserved, and no further", () =>
    withLog(async ({ open, hold, flushes }) => {
      const log = open();
      log.append(Array.from({ length: 10 }, (_, index) => delta(index, "x")));
      expect(flushes()).toBe(0);
      expect(log.visibleTo).toBe(9);
      const release = hold();
      log.append(Array.from({ length: 100 }, (_, index) => delta(10 + index, "x")));
      expect(flushes()).toBe(1);
      expect(log.visibleTo).toBe(63);
      release();
      await log.settled();
      expect(log.visibleTo).toBe(109);
    }));

  it("R-DUR-2 shows a retraction, a tool call and the terminal only once stored, and holds back what follows", () =>
    withLog(async ({ open, hold }) => {
      const log = open();
      log.append([delta(0, "a")]);
      const release = hold();
      log.append([snapshot(1, ""), delta(2, "b")]);
      log.append([delta(3, "c")]);
      expect(log.visibleTo).toBe(0);
      release();
      await log.settled();
      expect(log.visibleTo).toBe(3);
      const again = hold();
      log.append([terminal(4, "bc")]);
      await Promise.resolve();
      expect(log.visibleTo).toBe(3);
      expect(log.sealed).toBe(false);
      again();
      await log.settled();
      expect(log.visibleTo).toBe(4);
      expect(log.sealed).toBe(true);
    }));

  it.each<LogEvent>([
    { sequence: 1, at: 1001, type: "attempt", payload: { attempt: 0, step: 0, targetId: "main", phase: "committed" } },
    { sequence: 1, at: 1001, type: "step", payload: { step: 0, phase: "finished" } },
    {
      sequence: 1,
      at: 1001,
      type: "tool_call",
      payload: { toolCallId: "a", toolName: "clock", input: {}, execution: "server" },
    },
    { sequence: 1, at: 1001, type: "tool_result", payload: { toolCallId: "a", toolName: "clock", output: 1 } },
    { sequence: 1, at: 1001, type: "max_steps", payload: { maxSteps: 1, canContinue: true } },
  ])("R-DUR-2 shows $type only once it is stored, and holds back what follows", (event) =>
    withLog(async ({ open, hold }) => {
      const log = open();
      const release = hold();
      log.append([delta(0, "a"), event, delta(2, "b")]);
      expect(log.visibleTo).toBe(0);
      release();
      await log.settled();
      expect(log.visibleTo).toBe(2);
    }),
  );

  it("R-DUR-3 flushes when half of the reserved block is used, and reserves more when more comes", () =>
    withLog(async ({ open, flushes, store }) => {
      const log = open();
      for (let sequence = 0; sequence < 31; sequence++) log.append([delta(sequence, "x")]);
      expect(flushes()).toBe(0);
      log.append([delta(31, "x")]);
      await Promise.resolve();
      expect(flushes()).toBe(1);
      expect(store.marks()).toEqual({ durableTo: 31, reservedTo: 31 + 128 });
      // A flood: the block doubles, however much comes.
      for (const block of [256, 512, 1024, 2048, 4096, 4096]) {
        const { durableTo, reservedTo } = store.marks();
        log.append(Array.from({ length: reservedTo - durableTo }, (_, index) => delta(durableTo + 1 + index, "x")));
        await log.settled();
        expect(store.marks()).toEqual({ durableTo: reservedTo, reservedTo: reservedTo + block });
      }
    }));

  it("R-DUR-3 reserves for twice the events of one flushMs at the present rate", () => {
    const options = { strict: false, reserveEvents: 64, flushMs: 300 };
    expect(reservation({ taken: 15, elapsedMs: 300, before: 64 }, options)).toBe(64);
    expect(reservation({ taken: 60, elapsedMs: 300, before: 64 }, options)).toBe(120);
    expect(reservation({ taken: 50, elapsedMs: 150, before: 4096 }, options)).toBe(200);
    expect(reservation({ taken: 50, elapsedMs: 9000, before: 4096 }, options)).toBe(100);
    expect(reservation({ taken: 100, elapsedMs: 0, before: 64 }, options)).toBe(128);
    expect(reservation({ taken: 100_000, elapsedMs: 1, before: 4096 }, options)).toBe(4096);
    expect(reservation({ taken: 1000, elapsedMs: 1, before: 4096 }, { ...options, strict: true })).toBe(0);
  });

  it("R-DUR-1 never takes back a reservation: a number beyond the next block may have been seen", () =>
    withLog(async ({ open, hold, store, flushes }) => {
      const log = open({ flushMs: 1 });
      log.append(Array.from({ length: 64 }, (_, index) => delta(index, "x")));
      await log.settled();
      // Slow for a moment: the block that this flush asks for ends before the one that stands. Then fast again.
      const release = hold();
      const before = flushes();
      log.append([delta(64, "x")]);
      while (flushes() === before) await new Promise((resolve) => setTimeout(resolve, 1));
      log.append(Array.from({ length: 200 }, (_, index) => delta(65 + index, "x")));
      expect(log.visibleTo).toBe(store.marks().reservedTo);
      expect(log.visibleTo).toBeGreaterThan(64 + 64);
      release();
      await log.settled();
      expect(log.visibleTo).toBe(264);
    }));

  it("R-DUR-3 flushes at 32 KB without waiting for the clock", () =>
    withLog(async ({ open, flushes }) => {
      const log = open();
      log.append([delta(0, "x".repeat(32_768))]);
      await log.settled();
      expect(flushes()).toBe(1);
    }));

  it("R-DUR-3 flushes after flushMs", () =>
    withLog(async ({ open, store }) => {
      const log = open({ flushMs: 5 });
      log.append([delta(0, "x")]);
      expect(store.marks().durableTo).toBe(-1);
      while (store.marks().durableTo < 0) await new Promise((resolve) => setTimeout(resolve, 1));
      expect(store.marks()).toEqual({ durableTo: 0, reservedTo: 64 });
    }));

  it("R-DUR-4 strict shows nothing that is not stored, reserves nothing, and commits in groups", () =>
    withLog(async ({ open, hold, flushes, store }) => {
      const log = open({ strict: true });
      const release = hold();
      for (let sequence = 0; sequence < 50; sequence++) log.append([delta(sequence, "x")]);
      expect(log.visibleTo).toBe(-1);
      release();
      await log.settled();
      expect(log.visibleTo).toBe(49);
      expect(flushes()).toBe(2);
      expect(store.marks()).toEqual({ durableTo: 49, reservedTo: 49 });
    }));

  it("R-DUR-3 keeps a short run in one row of events and one of the terminal", () =>
    withLog(async ({ open, storage }) => {
      const log = open();
      for (let sequence = 0; sequence < 1000; sequence++) log.append([delta(sequence, "tok ")]);
      log.append([terminal(1000, "tok ".repeat(1000))]);
      await log.settled();
      expect(storage.sql.exec("SELECT COUNT(*) AS rows FROM segment").one()["rows"]).toBe(2);
      expect(readAll((after) => log.page(after))).toEqual(Array.from({ length: 1001 }, (_, index) => index));
    }));

  it("R-LOG-7 stores and replays an event larger than a row, with its surrogate pairs whole", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      // An odd first unit puts every row boundary into the middle of a pair.
      const text = `x${"😀".repeat(1_500_000)}`;
      log.append([delta(0, "before"), delta(1, text), delta(2, "lone \ud83d surrogate"), terminal(3, "")]);
      await log.settled();
      const read = entries(store.read(0));
      expect(JSON.parse(read[0]?.payload ?? "")).toEqual({ text });
      expect(JSON.parse(entries(store.read(1))[0]?.payload ?? "")).toEqual({ text: "lone \ud83d surrogate" });
    }));

  it("R-LOG-5 reads the suffix after any cursor, from memory and from disk alike", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      const sizes = fc.sample(fc.integer({ min: 1, max: 40 }), { numRuns: 30, seed: 7 });
      let sequence = 0;
      for (const size of sizes) {
        log.append(Array.from({ length: size }, () => delta(sequence, "text ".repeat(sequence++))));
        await log.settled();
      }
      log.append([terminal(sequence++, "")]);
      await log.settled();
      for (let after = -1; after < sequence; after += 7) {
        const suffix = Array.from({ length: sequence - 1 - after }, (_, index) => after + 1 + index);
        expect(readAll((cursor) => log.page(cursor), after)).toEqual(suffix);
        expect(readAll((cursor) => store.read(cursor), after)).toEqual(suffix);
      }
    }));

  it("R-LOG-5 gives a reader that fell behind the in-memory tail the same entries from storage", () =>
    withLog(async ({ open }) => {
      const log = open();
      const big = "y".repeat(300_000);
      for (let sequence = 0; sequence < 12; sequence++) {
        log.append([delta(sequence, `${sequence}${big}`)]);
        await log.settled();
      }
      let cursor = -1;
      for (let page = entries(log.page(-1)); page.length > 0; page = entries(log.page(cursor))) {
        for (const entry of page) {
          expect(JSON.parse(entry.payload)).toEqual({ text: `${entry.sequence}${big}` });
          expect(entry.sequence).toBe(++cursor);
        }
      }
      expect(cursor).toBe(11);
    }));

  it("R-LOG-5 reads what was stored last from memory, and from disk what came before it", () =>
    withLog(async ({ open, store }) => {
      const stored = Array.from({ length: 10 }, (_, index) => entryOf(delta(index, "x")));
      store.flush(stored, 73);
      const { read } = store;
      let reads = 0;
      store.read = (after) => {
        reads++;
        return read(after);
      };
      const log = open({}, { durableTo: 9, reservedTo: 73, newest: stored.slice(7) });
      log.append([delta(10, "y")]);
      expect(sequences(log.page(6))).toEqual([7, 8, 9, 10]);
      expect(sequences(log.page(9))).toEqual([10]);
      expect(reads).toBe(0);
      expect(readAll((after) => log.page(after))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(reads).toBe(1);
    }));

  it("R-LOG-5 replays 100,000 events in bounded pages", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      for (let first = 0; first < 100_000; first += 1000) {
        log.append(Array.from({ length: 1000 }, (_, index) => delta(first + index, `${first + index} `)));
        await log.settled();
      }
      log.append([terminal(100_000, "")]);
      await log.settled();
      let next = 0;
      for (let page = entries(store.read(-1)); page.length > 0; page = entries(store.read(next - 1))) {
        expect(page.length).toBeLessThanOrEqual(2048);
        for (const { sequence, payload } of page.slice(0, -1)) {
          if (sequence !== next || payload !== `{"text":"${next} "}`) throw new Error(`wrong entry at ${next}`);
          next++;
        }
        expect(page.at(-1)?.sequence).toBe(next++);
      }
      expect(next).toBe(100_001);
    }));

  it("R-LOG-2 keeps the terminal alone in its segment, so that it outlives the swept events", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      log.append([delta(0, "a"), delta(1, "b"), terminal(2, "ab")]);
      await log.settled();
      expect(log.sealed).toBe(true);
      store.sweepEvents();
      expect(entries(store.read(-1)).map(({ sequence, type }) => [sequence, type])).toEqual([[2, "terminal"]]);
    }));

  it("R-DUR-8 never reads a damaged segment in part", () =>
    withLog(async ({ open, store, storage }) => {
      const log = open();
      log.append([delta(0, "good text"), terminal(1, "good text")]);
      await log.settled();
      for (const edit of ["replace(body, 'good', 'evil')", "substr(body, 1, 20)", "''", '\'[1,0,0,"","","",""]\'']) {
        const [before] = storage.sql.exec("SELECT body FROM segment WHERE id = 0").toArray();
        storage.sql.exec(`UPDATE segment SET body = ${edit} WHERE id = 0`);
        expect(store.read(-1)).toEqual({ damagedTo: 0 });
        storage.sql.exec("UPDATE segment SET body = ? WHERE id = 0", before?.["body"] ?? null);
      }
      expect(entries(store.read(-1))).toHaveLength(1);
    }));
});
