// Readers that stall, leave, come back or never come: what that does to other readers and to the run, and the heartbeats that
// make a leaving noticed. Over real sockets, because only those can stall.
import { get, type IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta } from "../support/run-reader.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

const HEARTBEAT_MS = 200;
const GRACE_MS = 600;
/** A leaving is noticed at the second heartbeat at the latest; the rest is for a busy machine. */
const NOTICED_MS = 2 * HEARTBEAT_MS + 1000;

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const limits = { heartbeatMs: HEARTBEAT_MS, disconnectGraceMs: GRACE_MS };
  server = await startBare({ config: scriptedConfig(provider.origin, { limits }) });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

const path = pathOf(openAi);
const runs = () => `${server.origin}/v1/runs`;
const eventsUrl = (runId: string) => `${runs()}/${runId}/events`;
const stream = (deltas: readonly string[], options: Parameters<typeof streamScript>[2] = {}) =>
  streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas), options);

/** Opens the stream and reads nothing: the kernel's buffers fill, then the server's writes wait. */
function openStalled(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(
      url.replace("localhost", "127.0.0.1"),
      { agent: false, headers: { accept: "text/event-stream" } },
      resolve,
    ).once("error", reject);
  });
}

async function readAll(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) if (Buffer.isBuffer(piece)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("R-READ-10 a reader that stalls delays no other and not the run, and gets everything when it reads on", async () => {
  const deltas = Array.from({ length: 4000 }, (_, index) => `${index}:${"x".repeat(1500)};`);
  provider.on(path, stream(deltas, { perPacket: 50, gateBefore: { index: 40, name: "go" } }));
  const started = await post(runs(), startBody({ targets: ["openai-a"] }));
  const runId = started.headers.get("x-run-id") ?? "";
  const stalled = await Promise.all([openStalled(eventsUrl(runId)), openStalled(eventsUrl(runId))]);
  const reader = await follow(eventsUrl(runId));
  await provider.reached("go");
  provider.open("go");
  const events = await reader.rest();
  // Compared by truth value: a difference of megabytes is not worth printing.
  expect(shownText(events) === deltas.join("")).toBe(true);
  expect(stalled.map(({ readableFlowing }) => readableFlowing)).toEqual([null, null]);
  for (const late of stalled) {
    const seen = eventsOf(await readAll(late));
    expect(seen).toHaveLength(events.length);
    expect(JSON.stringify(seen) === JSON.stringify(events)).toBe(true);
  }
}, 60_000);

test("R-READ-10 a reader that goes away in the middle gets everything after its cursor when it comes back", async () => {
  const deltas = Array.from({ length: 60 }, (_, index) => `${index} `);
  provider.on(path, stream(deltas, { delayMs: 10 }));
  const first = await follow(runs(), { body: startBody({ targets: ["openai-a"] }) });
  const other = await follow(eventsUrl(first.runId));
  await first.until(isDelta("5 "));
  first.leave();
  const cursor = first.events.at(-1)?.sequence ?? -1;
  const whole = await other.rest();
  const again = await follow(eventsUrl(first.runId), { headers: { "last-event-id": String(cursor) } });
  expect([...first.events, ...(await again.rest())]).toEqual(whole);
  expect(shownText(whole)).toBe(deltas.join(""));
});

test("R-READ-11 a run goes on when its only reader leaves, far beyond the grace", async () => {
  const deltas = ["a", "b", "c", "d"];
  provider.on(path, stream(deltas, { delayMs: GRACE_MS / 2 }));
  const reader = await follow(runs(), { body: startBody({ targets: ["openai-a"] }) });
  const call = await provider.waitForCall(path);
  await reader.until(isDelta("a"));
  const left = performance.now();
  reader.leave();
  // Whether the server is still there for the last bytes of the framing, once it has seen `[DONE]`, is open.
  expect(await call.answered).toMatch(/^(played|cut)$/);
  expect(performance.now() - left).toBeGreaterThanOrEqual(GRACE_MS);
  const outcome = await fetch(`${runs()}/${reader.runId}/outcome?wait=5`);
  expect(await outcome.json()).toMatchObject({ outcome: "completed", finalText: "abcd" });
});

test.each([
  ["silent", { end: "hang" as const }, openAi.part(["a"])],
  ["streaming", { delayMs: 20 }, openAi.part(["a", ...Array.from({ length: 500 }, () => "b")])],
])(
  "R-READ-11 onDisconnect cancel ends a %s run after the grace, with the reason disconnected",
  async (_name, options, events) => {
    provider.on(path, streamScript(OPENAI_STREAM_TYPE, events, options));
    const reader = await follow(runs(), { body: startBody({ onDisconnect: "cancel" }) });
    const call = await provider.waitForCall(path);
    await reader.until(isDelta("a"));
    const left = performance.now();
    reader.leave();
    const closing = await call.closed;
    expect(closing.how).not.toBe("local");
    expect(closing.at - left).toBeGreaterThanOrEqual(GRACE_MS - 20);
    expect(closing.at - left).toBeLessThan(GRACE_MS + NOTICED_MS);
    const outcome: Record<string, unknown> = await (await fetch(`${runs()}/${reader.runId}/outcome?wait=2`)).json();
    expect(outcome).toMatchObject({ outcome: "cancelled", reason: "disconnected" });
    const replay = await (await follow(eventsUrl(reader.runId))).rest();
    expect(shownText(replay)).toBe(outcome["partialText"]);
    expect(replay.at(-1)?.payload).toEqual(outcome);
  },
);

test("R-READ-11 a reader that comes back within the grace keeps the run", async () => {
  provider.on(path, stream(["a", "b"], { gateBefore: { index: 2, name: "back" } }));
  const reader = await follow(runs(), { body: startBody({ targets: ["openai-a"], onDisconnect: "cancel" }) });
  await reader.until(isDelta("a"));
  for (let round = 0; round < 3; round++) {
    const before = await follow(eventsUrl(reader.runId));
    await before.until(isDelta("a"));
    if (round === 0) reader.leave();
    before.leave();
  }
  const back = await follow(eventsUrl(reader.runId));
  // Well past the grace since the last one left.
  await back.untilRaw((raw) => raw.split(": hb\n").length > (2 * GRACE_MS) / HEARTBEAT_MS + 3);
  provider.open("back");
  expect((await back.rest()).at(-1)?.payload).toMatchObject({ outcome: "completed", finalText: "ab" });
});

test("R-READ-11 one of two readers leaving cancels nothing; the last one does", async () => {
  provider.on(path, streamScript(OPENAI_STREAM_TYPE, openAi.part(["a"]), { end: "hang" }));
  const one = await follow(runs(), { body: startBody({ onDisconnect: "cancel" }) });
  const two = await follow(eventsUrl(one.runId));
  const call = await provider.waitForCall(path);
  await two.until(isDelta("a"));
  one.leave();
  await two.untilRaw((raw) => raw.split(": hb\n").length > (2 * GRACE_MS) / HEARTBEAT_MS + 3);
  expect(call.closing).toBeUndefined();
  two.leave();
  await call.closed;
  const outcome = await fetch(`${runs()}/${one.runId}/outcome?wait=2`);
  expect(await outcome.json()).toMatchObject({ outcome: "cancelled", reason: "disconnected", partialText: "a" });
});

test("R-READ-11 a run that nobody ever attached to is not cancelled", async () => {
  provider.on(path, stream(["a", "b"], { delayMs: GRACE_MS / 2 }));
  const started = await post(runs(), startBody({ targets: ["openai-a"], onDisconnect: "cancel" }));
  expect(started.status).toBe(202);
  const outcome = await fetch(`${runs()}/${started.headers.get("x-run-id")}/outcome?wait=10`);
  expect(await outcome.json()).toMatchObject({ outcome: "completed", finalText: "ab" });
});

test("R-READ-8 heartbeats come from before the first output, at their pace and never inside a frame", async () => {
  const [head, ...rest] = stream(["a", "b"], { gateBefore: { index: 2, name: "second" } });
  if (head === undefined) throw new Error("a script has a head");
  provider.on(path, [{ step: "gate", name: "headers" }, head, ...rest]);
  const began = performance.now();
  const reader = await follow(runs(), { body: startBody({ targets: ["openai-a"] }) });
  await reader.untilRaw((raw) => raw.split(": hb\n").length > 5);
  const waited = performance.now() - began;
  expect(waited).toBeGreaterThanOrEqual(5 * HEARTBEAT_MS - 50);
  expect(waited).toBeLessThan(5 * HEARTBEAT_MS + 1500);
  expect(reader.raw().startsWith("retry: 1000\nid: 0\n")).toBe(true);
  expect(reader.events.some(({ type }) => type === "content_delta")).toBe(false);
  provider.open("headers");
  await reader.until(isDelta("a"));
  const count = reader.raw().split(": hb\n").length;
  await reader.untilRaw((raw) => raw.split(": hb\n").length > count + 1);
  provider.open("second");
  const events = await reader.rest();
  expect(shownText(events)).toBe("ab");
  // Without its comments the body is frames only, each of an id line and a data line.
  const frames = reader.raw().replace("retry: 1000\n", "").replaceAll(": hb\n", "").split("\n\n");
  expect(frames.pop()).toBe("");
  expect(frames.every((frame) => /^id: \d+\ndata: \{.*\}$/.test(frame))).toBe(true);
  expect(frames).toHaveLength(events.length);
});

test("R-READ-8 an NDJSON reader's heartbeat is one space, which JSON readers skip", async () => {
  provider.on(path, stream(["a"], { gateBefore: { index: 1, name: "later" } }));
  const reader = await follow(runs(), {
    body: startBody({ targets: ["openai-a"] }),
    headers: { accept: "application/x-ndjson" },
  });
  await reader.untilRaw((raw) => /\n {3}/.test(raw));
  provider.open("later");
  await reader.rest();
  const lines = reader.raw().split("\n");
  expect(lines.pop()).toBe("");
  const types = lines.map((line): { type: string } => JSON.parse(line)).map(({ type }) => type);
  expect(types.at(-1)).toBe("terminal");
  expect(reader.raw()).not.toContain("hb");
});
