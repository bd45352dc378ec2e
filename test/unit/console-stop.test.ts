// How the console stops a run: until the server has answered, against scripted answers.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepStopping, type Stopping } from "../../src/console/keep-stopping.ts";

type Answer = { ok: true } | { ok: false; problem: { status: number | null } };
const failed = (status: number | null): Answer => ({ ok: false, problem: { status } });
const pauses = { first: 100, longest: 400, silence: 10_000 };

let stopping: Stopping | undefined;
/** What a browser would report as an uncaught error. */
const faults: unknown[] = [];
beforeEach(() => {
  vi.stubGlobal("reportError", (fault: unknown) => faults.push(fault));
  vi.useFakeTimers();
});
afterEach(() => {
  stopping?.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  expect(faults).toEqual([]);
});

/** Answers the calls in turn; the last one stands. */
function stop(...answers: Answer[]) {
  const calls: number[] = [];
  const refused: (number | null)[] = [];
  const began = Date.now();
  const answer = (): Promise<Answer> => {
    calls.push(Date.now() - began);
    return Promise.resolve(answers[Math.min(calls.length, answers.length) - 1] ?? { ok: true });
  };
  stopping = keepStopping(answer, ({ status }) => refused.push(status), pauses);
  return { calls, refused };
}

test.each([null, 429, 500, 503])("R-KB-86 R-SVV-6 a stop that is answered by %s is asked for again", async (status) => {
  const { calls, refused } = stop(failed(status), failed(status), failed(status), failed(status), { ok: true });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(calls).toEqual([0, 100, 300, 700, 1100]);
  expect(refused).toEqual([]);
});

test("R-KB-86 R-SVV-6 a stop is asked for at once when the server is heard of, and never twice at a time", async () => {
  const { calls } = stop(failed(null), failed(null), failed(null), { ok: true });
  stopping?.now();
  await vi.advanceTimersByTimeAsync(300);
  expect(calls).toEqual([0, 100, 300]);
  stopping?.now();
  stopping?.now();
  await vi.advanceTimersByTimeAsync(5_000);
  stopping?.now();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(calls).toEqual([0, 100, 300, 300]);
});

test("R-KB-86 R-SVV-6 a stop that is refused, or has nothing to stop any more, is not asked for again", async () => {
  const denied = stop(failed(null), failed(404));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(denied).toEqual({ calls: [0, 100], refused: [404] });
  const over = stop(failed(null));
  await vi.advanceTimersByTimeAsync(50);
  stopping?.close();
  stopping?.now();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(over).toEqual({ calls: [0], refused: [] });
});
