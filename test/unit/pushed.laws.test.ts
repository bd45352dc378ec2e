// Laws of pushed runs: however a producer cuts its events into batches, the log is the same; and what is taken once more is not there twice.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PushedEvent } from "../../schemas/push.ts";
import { evolve, passOver } from "../../src/run/evolve.ts";
import { transition } from "../../src/run/machine.ts";
import { pushedFaults } from "../../src/run/pushed-check.ts";
import { initialState, type RunState } from "../../src/run/state.ts";
import type { Step } from "../../src/run/step.ts";
import { nothingVolatile } from "../../src/run/volatile.ts";
import { judgeBatch, type Producer } from "../../src/thread/producer.ts";
import { charter, EPOCH } from "./scenarios/drive.ts";

const seed = Number(process.env["LAW_SEED"] ?? Date.now() % 2 ** 31);
const runs = (numRuns: number) => ({ seed, numRuns, endOnFailure: true });
console.log(`pushed laws: LAW_SEED=${seed}`);

const text = fc.constantFrom("a", "Hello ", "é", "🧵", "");
const callId = fc.constantFrom("c1", "c2", "c3");
const event: fc.Arbitrary<PushedEvent> = fc.oneof(
  { weight: 4, arbitrary: text.map((value): PushedEvent => ({ type: "content_delta", payload: { text: value } })) },
  text.map((value): PushedEvent => ({ type: "reasoning_delta", payload: { text: value } })),
  text.map((value): PushedEvent => ({ type: "content_snapshot", payload: { text: value } })),
  callId.map((toolCallId): PushedEvent => ({
    type: "tool_call",
    payload: { toolCallId, toolName: "t", input: {}, execution: "server" },
  })),
  callId.map((toolCallId): PushedEvent => ({ type: "tool_result", payload: { toolCallId, toolName: "t", output: 1 } })),
  fc.nat(2).map((number): PushedEvent => ({ type: "step", payload: { step: number, phase: "started" } })),
  fc.nat(2).map((number): PushedEvent => ({ type: "step", payload: { step: number, phase: "finished" } })),
  fc.nat(9).map((inputTokens): PushedEvent => ({ type: "usage", payload: { inputTokens } })),
  fc.constant<PushedEvent>({ type: "other", name: "x", payload: { n: 1 } }),
);
const ending = fc.constantFrom<PushedEvent>(
  { type: "terminal", payload: { outcome: "completed" } },
  { type: "terminal", payload: { outcome: "completed", finalText: "Other." } },
  { type: "terminal", payload: { outcome: "cancelled" } },
);
const script = fc.tuple(fc.array(event, { maxLength: 20 }), fc.option(ending, { nil: undefined }));
const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 12 });

const pushedState = (maxOutputBytes: number): RunState =>
  transition(initialState({ ...charter(["a"], { maxOutputBytes }), chain: [], isPushed: true }), {
    type: "start",
    at: EPOCH,
  }).state;

const push = (state: RunState, events: readonly PushedEvent[]): Step =>
  transition(state, { type: "pushed", at: EPOCH + 1, events });

/** Those of the events that a run may be told, in their order. */
function fitting(events: readonly PushedEvent[]): PushedEvent[] {
  let state = pushedState(1_000_000);
  return events.filter((one) => {
    if (pushedFaults(state, [one], 0).length > 0) return false;
    state = push(state, [one]).state;
    return true;
  });
}

test("R-FEED-3 any cut of the same events gives the same log, which folds to the state that it came from", () => {
  fc.assert(
    fc.property(script, cuts, fc.constantFrom(1_000_000, 6, 200), ([events, last], sizes, maxOutputBytes) => {
      const all = fitting([...events, ...(last === undefined ? [] : [last])]);
      const whole = push(pushedState(maxOutputBytes), all);
      let state = pushedState(maxOutputBytes);
      const begun = state;
      const log: Step["events"] = [];
      for (let at = 0, turn = 0; at < all.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        const batch = all.slice(at, at + size);
        if (state.phase !== "sealed") expect(pushedFaults(state, batch, 0)).toEqual([]);
        const step = push(state, batch);
        log.push(...step.events);
        state = step.state;
        at += size;
      }
      expect(log).toEqual(whole.events);
      const folded = log.reduce(
        (from, one) =>
          one.type === "other" ? passOver(from, { ...one, payload: JSON.stringify(one.payload) }) : evolve(from, one),
        begun,
      );
      expect({ ...folded, volatile: nothingVolatile }).toEqual({ ...state, volatile: nothingVolatile });
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
      expect(log.filter(({ type }) => type === "terminal").length).toBe(state.phase === "sealed" ? 1 : 0);
    }),
    runs(600),
  );
});

test("R-FEED-3 R-FEED-4 repeats, overlaps, gaps and producers that take over never double or lose an event", () => {
  const batch = fc.record({ epoch: fc.nat(2), sequence: fc.nat(8), count: fc.nat(4) });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
      let producer: Producer | undefined;
      const taken: number[] = [];
      for (const one of batches) {
        const judged = judgeBatch(producer, one, "where it stands");
        const next = producer?.next ?? 0;
        if (!judged.fits) {
          const isFenced = one.epoch < (producer?.epoch ?? 0);
          const fault = isFenced ? { refused: "fenced", epoch: producer?.epoch } : { refused: "gap", expected: next };
          expect(judged.fault).toEqual(fault);
          continue;
        }
        for (let number = one.sequence + judged.known; number < one.sequence + one.count; number++) taken.push(number);
        producer = { epoch: one.epoch, next: Math.max(next, one.sequence + one.count) };
      }
      expect(taken).toEqual(taken.map((_, index) => index));
    }),
    runs(600),
  );
});
