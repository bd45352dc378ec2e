// The whole server is killed in the middle of runs and started again on the same storage: what a reader had is still there
// under the same numbers, the run ends once and says why, and nothing is asked of a provider twice.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta, type RunReader } from "../support/run-reader.ts";
import { anthropic, openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  // Two slots: runs that kept theirs over a restart would soon refuse all others.
  const limits = { maxActiveRuns: 2, heartbeatMs: 300 };
  server = await startHoldfast({ config: scriptedConfig(provider.origin, { limits }) });
});
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

const runs = () => `${server.origin}/v1/runs`;
const path = pathOf(openAi);
const words = Array.from({ length: 600 }, (_, index) => `${index}${index % 7 === 0 ? " 北京🙂" : ""} `);
const streaming = (): Script => streamScript(OPENAI_STREAM_TYPE, openAi.whole(words), { delayMs: 3 });
const toolPiece = openAiDelta({
  tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"at":' } }],
});

/** Reads until the connection breaks; the events that had arrived. */
async function untilBroken(reader: RunReader): Promise<readonly WireEvent[]> {
  await expect(reader.rest()).rejects.toThrow();
  return reader.events;
}

/** What later restarts must not change, by URL: bytes of events and outcome, content of the state. */
const settled = new Map<string, string>();
async function settle(runId: string): Promise<void> {
  for (const suffix of ["/events", "/outcome", ""]) {
    const url = `${runs()}/${runId}${suffix}`;
    settled.set(url, await (await fetch(url)).text());
  }
}
async function expectUnchanged(): Promise<void> {
  for (const [url, body] of settled) {
    const now = await (await fetch(url)).text();
    if (url.endsWith("/events") || url.endsWith("/outcome")) expect(now, url).toBe(body);
    else expect(JSON.parse(now), url).toEqual(JSON.parse(body));
  }
}

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1_000_000));
/** The n-th of a seeded row of numbers from 1 to `limit`. */
const drawn = (n: number, limit: number): number => 1 + (((seed + 1) * (n + 3) * 7919) % limit);

interface Moment {
  name: string;
  script(): Script;
  /** Waits for the moment of the kill. */
  wait(reader: RunReader): Promise<unknown>;
}
const hasEvents = (count: number) => (reader: RunReader) => reader.until(({ sequence }) => sequence >= count);
const moments: readonly Moment[] = [
  {
    name: "before the provider's headers",
    script: () => [{ step: "hang" }],
    wait: () => provider.waitForCall(path, provider.calls(path).length),
  },
  {
    name: "at the first output",
    script: () => streamScript(OPENAI_STREAM_TYPE, openAi.part([words[0] ?? ""]), { end: "hang" }),
    wait: (reader) => reader.until(isDelta(words[0] ?? "")),
  },
  {
    name: "in the middle of a tool call",
    script: () => streamScript(OPENAI_STREAM_TYPE, [...openAi.part(["I look. "]), toolPiece], { end: "hang" }),
    wait: (reader) => reader.until(({ type }) => type === "tool_call_delta"),
  },
  ...[0, 1, 2].map((n) => ({
    name: `at random, after event ${4 + drawn(n, 250)} (TEST_SEED=${seed})`,
    script: streaming,
    wait: hasEvents(4 + drawn(n, 250)),
  })),
];

test.each(moments)(
  "R-LIFE-1 R-LIFE-2 R-LIFE-3 R-NAME-2 killed $name: interrupted, exact, gapless, once",
  async ({ script, wait }) => {
    provider.on(path, script());
    const before = provider.calls(path).length;
    const key = `key-${before}-${seed}`;
    const body = startBody({ targets: ["openai-a", "anthropic-b"] });
    const reader = await follow(runs(), { body, headers: { "idempotency-key": key } });
    await provider.waitForCall(path, before + 1);
    await wait(reader);
    await server.kill();
    const seen = await untilBroken(reader);
    expect((await provider.calls(path)[before]?.closed)?.how).not.toBe("local");

    await server.start();
    // A repeat of the start is the first thing the server hears of the run.
    const repeat = await post(runs(), body, { "idempotency-key": key, accept: "text/event-stream" });
    expect(repeat.status).toBe(200);
    expect(repeat.headers.get("x-run-id")).toBe(reader.runId);
    const events = eventsOf(await repeat.text());
    expect(events.slice(0, seen.length)).toEqual(seen);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
    const outcome = events.at(-1)?.payload;
    expect(outcome).toMatchObject({
      outcome: "error",
      partialText: shownText(events),
      error: {
        errorClass: "Unavailable",
        retryable: true,
        details: { code: "interrupted", failureClass: "interrupted" },
      },
      provenance: { attempts: [{ targetId: "openai-a", status: "failed", failureClass: "interrupted" }] },
    });
    expect(shownText(events).startsWith(shownText(seen))).toBe(true);
    expect(events.some(({ type }) => type === "tool_call")).toBe(false);

    const url = `${runs()}/${reader.runId}`;
    expect(await (await fetch(`${url}/outcome`)).json()).toEqual(outcome);
    expect(await (await fetch(url)).json()).toMatchObject({ status: "error", lastSequence: events.length - 1 });
    const last = seen.at(-1)?.sequence ?? -1;
    const onward = await follow(`${url}/events`, { headers: { "last-event-id": String(last) } });
    expect([...seen, ...(await onward.rest())]).toEqual(events);
    expect(await (await post(`${url}/cancel`, { reason: "late" })).json()).toEqual(outcome);

    // No second call for this run, neither by the restart nor by the repeat, and no fallback.
    expect(provider.calls(path)).toHaveLength(before + 1);
    expect(provider.calls(pathOf(anthropic, "b"))).toHaveLength(0);
    await expectUnchanged();
    await settle(reader.runId);
  },
  60_000,
);

test("R-LIFE-3 R-NAME-2 a run that ended just before the kill is unchanged, and its repeat calls no provider", async () => {
  provider.on(path, streamScript(OPENAI_STREAM_TYPE, openAi.whole(["all ", "said"])));
  const before = provider.calls(path).length;
  const body = startBody({ requestId: "ended-before-the-kill", targets: ["openai-a"] });
  const response = await post(runs(), body, { accept: "text/event-stream" });
  const told = await response.text();
  await server.kill();
  await server.start();
  expect(await (await post(runs(), body, { accept: "text/event-stream" })).text()).toBe(told);
  const repeat = await post(runs(), body);
  expect(repeat.status).toBe(202);
  expect(await repeat.json()).toMatchObject({ runId: "ended-before-the-kill" });
  const other = await post(runs(), { ...body, prompt: "Something else." });
  expect(other.status).toBe(409);
  const last = eventsOf(told).at(-1);
  const done = await fetch(`${runs()}/ended-before-the-kill/events`, {
    headers: { "last-event-id": String(last?.sequence) },
  });
  expect(done.status).toBe(204);
  expect(await (await fetch(`${runs()}/ended-before-the-kill/outcome`)).text()).toBe(JSON.stringify(last?.payload));
  expect(provider.calls(path)).toHaveLength(before + 1);
  await expectUnchanged();
});

test("R-LIFE-1 a cancel or a delete that arrives first after the restart meets a run that has ended", async () => {
  provider.on(path, streamScript(OPENAI_STREAM_TYPE, openAi.part(["half"]), { end: "hang" }));
  const start = async (): Promise<RunReader> => {
    const reader = await follow(runs(), { body: startBody({ targets: ["openai-a"] }) });
    await reader.until(isDelta("half"));
    return reader;
  };
  const readers = [await start(), await start()];
  await server.kill();
  for (const reader of readers) await untilBroken(reader);
  await server.start();
  const [one, two] = readers.map(({ runId }) => `${runs()}/${runId}`);
  const cancelled = await post(`${one}/cancel`, { reason: "stop" });
  expect(await cancelled.json()).toMatchObject({
    outcome: "error",
    partialText: "half",
    error: { details: { code: "interrupted" } },
  });
  expect((await fetch(`${two}`, { method: "DELETE" })).status).toBe(204);
  // Both slots are free again.
  for (const reader of [await start(), await start()]) reader.leave();
}, 60_000);
