// Who comes first after a kill of the whole server: a repeat of the start, a cancel, a delete, the total clock, or nobody.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsIn, expectKept, expectRestated, expectWhole, receivedIn } from "../crash/promises.ts";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta, type RunReader } from "../support/run-reader.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

/** While a run is live an alarm stands at most this far ahead. */
const LIVE_ALARM_MS = 30_000;

interface House {
  provider: FaultProvider;
  server: Holdfast;
  runs: string;
  stop(): Promise<void>;
}

async function openHouse(): Promise<House> {
  const provider = await startFaultProvider();
  // Two slots: runs that kept theirs over a restart would soon refuse all others.
  const limits = { maxActiveRuns: 2, heartbeatMs: 300 };
  const server = await startBare({ config: scriptedConfig(provider.origin, { limits }) });
  return {
    provider,
    server,
    runs: `${server.origin}/v1/runs`,
    async stop() {
      await server.stop();
      await provider.stop();
    },
  };
}

let house: House;
let takenUp: Promise<void>;

beforeAll(async () => {
  takenUp = takesUpByAlarm();
  // Its failure is that of the test that waits for it.
  takenUp.catch(() => undefined);
  house = await openHouse();
});
afterAll(() => house.stop());
afterEach(() => house.provider.reset());

const path = pathOf(openAi);
const answerWith = (deltas: readonly string[]) => streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas));
/** The provider sends half an answer to the first `count` calls, and says no more; later calls get a whole one. */
function stallFirst({ provider }: House, count: number): void {
  provider.on(path, (_, index) =>
    index < count
      ? streamScript(OPENAI_STREAM_TYPE, openAi.part(["half"]), { end: "hang" })
      : answerWith(["all ", "of it"]),
  );
}

async function startShowing({ runs }: House, text: string, fields: Record<string, unknown> = {}): Promise<RunReader> {
  const reader = await follow(runs, { body: startBody({ targets: ["openai-a"], ...fields }) });
  await reader.until(isDelta(text));
  return reader;
}

/** Kills the server; the readers' connections have broken when this resolves. */
async function kill({ server }: House, ...readers: RunReader[]): Promise<void> {
  await server.kill();
  for (const reader of readers) await expect(reader.rest()).rejects.toThrow();
}

test("R-LIFE-3 R-NAME-2 a run that ended just before the kill is unchanged, and its repeat calls no provider", async () => {
  house.provider.on(path, answerWith(["all ", "said"]));
  const body = startBody({ requestId: "ended-before-the-kill", targets: ["openai-a"] });
  const response = await post(house.runs, body, { accept: "text/event-stream" });
  const told = await response.text();
  const url = `${house.runs}/ended-before-the-kill`;
  await kill(house);
  await house.server.start();
  expect(await (await post(house.runs, body, { accept: "text/event-stream" })).text()).toBe(told);
  const repeat = await post(house.runs, body);
  expect(repeat.status).toBe(202);
  expect(await repeat.json()).toMatchObject({ runId: "ended-before-the-kill" });
  const other = await post(house.runs, { ...body, prompt: "Something else." });
  expect(other.status).toBe(409);
  const last = eventsOf(told).at(-1);
  const done = await fetch(`${url}/events`, { headers: { "last-event-id": String(last?.sequence) } });
  expect(done.status).toBe(204);
  expect(await (await fetch(`${url}/outcome`)).text()).toBe(JSON.stringify(last?.payload));
  expect(await (await fetch(url)).json()).toMatchObject({ status: "completed", recoveries: 0 });
  expect(house.provider.calls(path)).toHaveLength(1);
});

test("R-LIFE-1 R-DUR-7 a cancel that comes first after the restart wins, also where the run would go on", async () => {
  stallFirst(house, 2);
  const readers = [
    await startShowing(house, "half", { onMidStreamFailure: "retract" }),
    await startShowing(house, "half"),
  ];
  await kill(house, ...readers);
  await house.server.start();
  for (const { runId } of readers) {
    const url = `${house.runs}/${runId}`;
    const cancelled = await post(`${url}/cancel`, { reason: "stop" });
    expect(cancelled.status).toBe(200);
    const outcome = await cancelled.json();
    expect(outcome).toMatchObject({ outcome: "cancelled", reason: "stop", partialText: "half" });
    const standing = eventsOf(await (await fetch(`${url}/events`)).text());
    expectWhole(standing);
    expectRestated(standing);
    expect(standing.at(-1)?.payload).toEqual(outcome);
  }
  // Both slots are free again, and neither run called a provider: these two calls are the next ones.
  for (const again of [await startShowing(house, "of it"), await startShowing(house, "of it")]) await again.rest();
  expect(house.provider.calls(path)).toHaveLength(4);
});

test("R-LIFE-1 R-DELETE-1 a delete that comes first after the restart forgets the run", async () => {
  stallFirst(house, 1);
  const reader = await startShowing(house, "half", { requestId: "deleted-first", onMidStreamFailure: "retract" });
  await kill(house, reader);
  await house.server.start();
  const url = `${house.runs}/${reader.runId}`;
  expect((await fetch(url, { method: "DELETE" })).status).toBe(204);
  expect((await fetch(url)).status).toBe(404);
  // The name is free: the second call is that of the new run.
  const anew = await startShowing(house, "of it", { requestId: "deleted-first", prompt: "Another one." });
  await anew.rest();
  expect(house.provider.calls(path)).toHaveLength(2);
  expect(house.provider.calls(path)[1]?.body).toContain("Another one.");
});

test("R-CLOCK-2 R-LIFE-1 a run whose total clock ran out while the server was down ends by it", async () => {
  const totalMs = 1500;
  stallFirst(house, 1);
  const reader = await startShowing(house, "half", { clocks: { totalMs }, onMidStreamFailure: "retract" });
  const begun = Date.now();
  await kill(house, reader);
  await expect.poll(() => Date.now(), { timeout: totalMs + 1000 }).toBeGreaterThan(begun + totalMs);
  await house.server.start();
  const outcome = await (await fetch(`${house.runs}/${reader.runId}/outcome?wait=10`)).json();
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "half",
    error: { errorClass: "Timeout", details: { failureClass: "timeout_total" } },
  });
  expect(house.provider.calls(path)).toHaveLength(1);
});

test(
  "R-DUR-7 R-LIFE-1 R-LIFE-2 with nobody asking, the alarm takes a run up again within 30 s",
  { timeout: 90_000 },
  () => takenUp,
);

/** On a server of its own: the half minute goes by while the tests above run. */
async function takesUpByAlarm(): Promise<void> {
  const house = await openHouse();
  const { provider, runs } = house;
  try {
    stallFirst(house, 2);
    const shown = await startShowing(house, "half", { onMidStreamFailure: "retract" });
    provider.on(path, (_, index) => (index < 2 ? [{ step: "hang" }] : answerWith(["all ", "of it"])));
    const silent = await follow(runs, { body: startBody({ targets: ["openai-a"] }) });
    await provider.waitForCall(path, 2);
    await silent.until(({ type }) => type === "attempt");
    const startedAt = Date.now();
    await kill(house, shown, silent);
    await house.server.start();
    // The server is not asked: it would be woken by that.
    await provider.waitForCall(path, 4, LIVE_ALARM_MS + 10_000);
    expect(Date.now() - startedAt).toBeLessThan(LIVE_ALARM_MS + 5000);

    for (const reader of [shown, silent]) {
      const seen = receivedIn(reader.raw());
      const url = `${runs}/${reader.runId}`;
      const last = seen.at(-1)?.event.sequence;
      const onward = await follow(`${url}/events`, { headers: { "last-event-id": String(last) } });
      await onward.rest();
      const collected = [...seen, ...receivedIn(onward.raw())];
      const standing = receivedIn(await (await fetch(`${url}/events`)).text());
      expectWhole(eventsIn(collected));
      expectWhole(eventsIn(standing));
      expectRestated(eventsIn(standing));
      expectKept(collected, standing);
      expect(shownText(eventsIn(collected))).toBe("all of it");
      expect(standing.at(-1)?.event.payload).toMatchObject({ outcome: "completed", finalText: "all of it" });
      expect(await (await fetch(url)).json()).toMatchObject({ recoveries: 1 });
    }
    expect(provider.calls(path)).toHaveLength(4);
  } finally {
    await house.stop();
  }
}
