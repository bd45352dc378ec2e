// The log on real storage: what is durable, what is visible, what is read back.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runLog } from "../../durable-objects/run-log.ts";
import { runLogStore } from "../../durable-objects/run-log-store.ts";
import type { LogEvent } from "../../schemas/event.ts";
import { newName, planOf } from "./plan.ts";

const delta = (sequence: number, text: string): LogEvent => ({
  sequence,
  at: 1000 + sequence,
  type: "content_delta",
  payload: { text },
});

const terminal = (sequence: number, partialText: string): LogEvent => ({
  sequence,
  at: 1000 + sequence,
  type: "terminal",
  payload: { schemaVersion: "1.0", runId: "r", outcome: "cancelled", partialText },
});

/** A log on an object's own storage, with a confirmation that the test can hold back. */
function withLog<T>(body: (tools: Tools) => Promise<T>): Promise<T> {
  return runInDurableObject(env.RUN.getByName(newName()), async (_instance, state) => {
    const store = runLogStore(state.storage);
    store.accept(planOf("r"), 1000, []);
    let held: PromiseWithResolvers<void> | undefined;
    const open = (durableTo = -1) =>
      runLog(
        store,
        {
          confirm: async () => held?.promise,
          onDurable: async () => undefined,
          onFailure: (error) => {
            throw error;
          },
        },
        { durableTo, sealed: false },
      );
    const hold = (): (() => void) => {
      held = Promise.withResolvers<void>();
      const { resolve } = held;
      return () => {
        held = undefined;
        resolve();
      };
    };
    return body({ store, open, hold, storage: state.storage });
  });
}

interface Tools {
  store: ReturnType<typeof runLogStore>;
  open: (durableTo?: number) => ReturnType<typeof runLog>;
  hold: () => () => void;
  storage: DurableObjectStorage;
}

describe("run log", () => {
  it("R-LOG-4 shows an event only once storage has confirmed it, however long that takes", () =>
    withLog(async ({ open, hold }) => {
      const log = open();
      const release = hold();
      log.append([delta(0, "a")]);
      log.append([delta(1, "b")]);
      await Promise.resolve();
      expect(log.lastSequence).toBe(1);
      expect(log.durableTo).toBe(-1);
      expect(log.page(-1)).toEqual([]);
      release();
      await log.settled();
      expect(log.page(-1).map(({ sequence }) => sequence)).toEqual([0, 1]);
    }));

  it("R-LOG-4 gathers what comes while the disk is busy into one write", () =>
    withLog(async ({ open, hold, storage }) => {
      const log = open();
      const release = hold();
      log.append([delta(0, "first")]);
      for (let sequence = 1; sequence <= 500; sequence++) log.append([delta(sequence, "x")]);
      release();
      await log.settled();
      expect(storage.sql.exec("SELECT COUNT(*) AS rows FROM segment").one()["rows"]).toBe(2);
      expect(log.page(-1)).toHaveLength(501);
    }));

  it("R-LOG-7 stores and replays an event larger than a row, with its surrogate pairs whole", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      // An odd first unit puts every row boundary into the middle of a pair.
      const text = `x${"😀".repeat(1_500_000)}`;
      log.append([delta(0, "before"), delta(1, text), delta(2, "after")]);
      await log.settled();
      const entries = store.read(0);
      expect(entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
      expect(JSON.parse(entries[0]?.payload ?? "")).toEqual({ text });
    }));

  it("R-LOG-5 reads the suffix after any cursor, from memory and from disk alike", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      const sizes = fc.sample(fc.integer({ min: 1, max: 40 }), { numRuns: 30, seed: 7 });
      let sequence = 0;
      for (const size of sizes) {
        log.append(Array.from({ length: size }, () => delta(sequence, `text ${sequence++}`)));
        await log.settled();
      }
      const readAll = (page: (after: number) => readonly { sequence: number }[], after: number): number[] => {
        const seen: number[] = [];
        for (let next = page(after); next.length > 0; next = page(seen.at(-1) ?? after)) {
          seen.push(...next.map((entry) => entry.sequence));
        }
        return seen;
      };
      for (let after = -1; after < sequence; after++) {
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
      const seen: number[] = [];
      for (let page = log.page(-1); page.length > 0; page = log.page(seen.at(-1) ?? -1)) {
        for (const entry of page) {
          expect(JSON.parse(entry.payload)).toEqual({ text: `${entry.sequence}${big}` });
          seen.push(entry.sequence);
        }
      }
      expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => index));
    }));

  it("R-LOG-2 keeps the terminal alone in its segment, so that it outlives the swept events", () =>
    withLog(async ({ open, store }) => {
      const log = open();
      log.append([delta(0, "a"), delta(1, "b"), terminal(2, "ab")]);
      await log.settled();
      expect(log.sealed).toBe(true);
      store.sweepEvents();
      expect(store.read(-1).map(({ sequence, type }) => [sequence, type])).toEqual([[2, "terminal"]]);
    }));
});
