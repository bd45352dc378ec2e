// Clients as people have them, unmodified: npm `eventsource`, `eventsource-parser` over fetch, curl, and fetch with NDJSON.
// A relay cuts their connections; every one of them must end with the same gapless run.
import { spawn } from "node:child_process";
import { EventSource } from "eventsource";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

let provider: FaultProvider;
let server: Holdfast;
let proxy: CuttingProxy;

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startBare({ config: scriptedConfig(provider.origin, { limits: { heartbeatMs: 200 } }) });
  proxy = await startCuttingProxy(server.port);
});
afterEach(() => provider.reset());
afterAll(async () => {
  await proxy.stop();
  await server.stop();
  await provider.stop();
});

const deltas = Array.from({ length: 300 }, (_, index) => `${index} 北京🙂 `);
const text = deltas.join("");

/** A run of about three seconds; its name. */
async function startRun(delayMs = 10): Promise<string> {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas), { delayMs }));
  const started = await post(`${server.origin}/v1/runs`, startBody({ targets: ["openai-a"] }));
  return started.headers.get("x-run-id") ?? "";
}

async function expectWhole(runId: string, received: readonly WireEvent[]): Promise<void> {
  const body = await (await fetch(`${server.origin}/v1/runs/${runId}/events`)).text();
  expect(received).toEqual(eventsOf(body));
  expect(shownText(received)).toBe(text);
  expect(received.at(-1)).toMatchObject({ type: "terminal", payload: { outcome: "completed", finalText: text } });
}

test("R-READ-1 R-READ-2 R-READ-6 R-READ-8 npm eventsource comes back by itself after each cut and ends for good after the terminal", async () => {
  const runId = await startRun();
  const received: WireEvent[] = [];
  const ids: string[] = [];
  const closed = Promise.withResolvers<void>();
  const cutAt = new Set([20, 120]);
  let opened = 0;
  const source = new EventSource(`${proxy.origin}/v1/runs/${runId}/events`);
  try {
    source.addEventListener("open", () => (opened += 1));
    source.addEventListener("message", ({ data, lastEventId }) => {
      received.push(JSON.parse(String(data)));
      ids.push(lastEventId);
      if (cutAt.delete(received.length)) expect(proxy.cut()).toBeGreaterThan(0);
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) closed.resolve();
    });
    await closed.promise;
  } finally {
    source.close();
  }
  // The first one and one after each cut; the try after the terminal is told 204, which opens nothing and ends it.
  expect(opened).toBe(3);
  expect(ids).toEqual(received.map(({ sequence }) => String(sequence)));
  await expectWhole(runId, received);
});

test("R-READ-3 npm eventsource with a bad cursor is told why and does not hammer the server", async () => {
  const runId = await startRun(0);
  await fetch(`${server.origin}/v1/runs/${runId}/outcome?wait=10`);
  const told = Promise.withResolvers<string>();
  const source = new EventSource(`${proxy.origin}/v1/runs/${runId}/events?after=99999`);
  try {
    source.addEventListener("error", (event) => {
      if (event instanceof MessageEvent) told.resolve(String(event.data));
    });
    source.addEventListener("message", () => told.reject(new Error("nothing should come")));
    expect(JSON.parse(await told.promise)).toMatchObject({
      errorClass: "Internal",
      details: { code: "invalid_request" },
    });
    // The stream has ended by itself; the next try is a day away.
    await expect.poll(() => source.readyState).toBe(EventSource.CONNECTING);
    const tries = proxy.accepted();
    await (await follow204(runId)).body?.cancel();
    expect(proxy.accepted()).toBe(tries);
  } finally {
    source.close();
  }
});

/** A request that takes a second and more, straight to the server: time enough for a client that would hammer. */
const follow204 = (runId: string): Promise<Response> => fetch(`${server.origin}/v1/runs/${runId}-none/events`);

test("R-READ-1 R-READ-8 eventsource-parser over fetch reads a run that is cut and resumed", async () => {
  const runId = await startRun(5);
  const received: WireEvent[] = [];
  let retry: number | undefined;
  let cuts = 0;
  let status = 200;
  while (received.at(-1)?.type !== "terminal") {
    const last = received.at(-1)?.sequence;
    const response = await fetch(`${proxy.origin}/v1/runs/${runId}/events`, {
      ...(last !== undefined && { headers: { "last-event-id": String(last) } }),
    });
    status = response.status;
    const stream = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(
      new EventSourceParserStream({
        onError: "terminate",
        onRetry: (value) => (retry = value),
      }),
    );
    try {
      for await (const { id, data } of stream ?? []) {
        const event: WireEvent = JSON.parse(data);
        expect(id).toBe(String(event.sequence));
        received.push(event);
        if (received.length % 90 === 0) cuts += proxy.cut();
      }
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
    }
  }
  expect(status).toBe(200);
  expect(retry).toBe(1000);
  expect(cuts).toBe(3);
  await expectWhole(runId, received);
});

function curl(...args: string[]): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("curl", ["-sS", "-N", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out: Buffer.concat(pieces).toString() }));
  });
}

test("R-READ-1 R-READ-2 curl -N, ended by its own time limit, goes on where it was", async () => {
  const runId = await startRun();
  const url = `http://127.0.0.1:${server.port}/v1/runs/${runId}/events`;
  const received: WireEvent[] = [];
  const codes: (number | null)[] = [];
  while (received.at(-1)?.type !== "terminal") {
    const last = received.at(-1)?.sequence;
    const { code, out } = await curl(
      "--max-time",
      "1",
      ...(last === undefined ? [] : ["-H", `Last-Event-ID: ${last}`]),
      url,
    );
    codes.push(code);
    // The time limit may fall into a frame: what has no blank line after it was not received.
    received.push(...eventsOf(out.slice(0, out.lastIndexOf("\n\n") + 2)));
  }
  expect(codes.length).toBeGreaterThan(1);
  expect(codes.at(0)).toBe(28);
  expect(codes.at(-1)).toBe(0);
  await expectWhole(runId, received);
  const done = await curl(
    "-o",
    "/dev/null",
    "-w",
    "%{http_code}",
    "-H",
    `Last-Event-ID: ${received.at(-1)?.sequence}`,
    url,
  );
  expect(done.out).toBe("204");
});

test("R-START-1 R-START-2 curl starts a run and reads it in one call", async () => {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas)));
  const { code, out } = await curl(
    "-i",
    "-H",
    "Content-Type: application/json",
    "-H",
    "Accept: text/event-stream",
    "-d",
    JSON.stringify(startBody({ targets: ["openai-a"] })),
    `http://127.0.0.1:${server.port}/v1/runs`,
  );
  expect(code).toBe(0);
  const split = out.indexOf("\r\n\r\n");
  const head = out.slice(0, split).toLowerCase();
  expect(head).toMatch(/^http\/1.1 200/);
  expect(head).toMatch(/content-type: text\/event-stream/);
  expect(head).toMatch(/location: \/v1\/runs\/run_[0-9a-f]{32}\/events/);
  await expectWhole(/x-run-id: (\S+)/.exec(head)?.[1] ?? "", eventsOf(out.slice(split + 4)));
});

test("R-READ-4 R-READ-8 plain fetch reads NDJSON line by line over a cut, heartbeats included", async () => {
  provider.on(
    pathOf(openAi),
    streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas), { delayMs: 2, gateBefore: { index: 150, name: "pause" } }),
  );
  const started = await post(`${server.origin}/v1/runs`, startBody({ targets: ["openai-a"] }));
  const runId = started.headers.get("x-run-id") ?? "";
  const received: WireEvent[] = [];
  let spaces = 0;
  let cut = false;
  while (received.at(-1)?.type !== "terminal") {
    const last = received.at(-1)?.sequence;
    const response = await fetch(
      `${proxy.origin}/v1/runs/${runId}/events${last === undefined ? "" : `?after=${last}`}`,
      {
        headers: { accept: "application/x-ndjson" },
      },
    );
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    let rest = "";
    try {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        if (/^ +$/.test(piece)) spaces += piece.length;
        rest += piece;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) received.push(JSON.parse(line));
        if (spaces >= 3) provider.open("pause");
        if (received.length > 60 && !cut) cut = proxy.cut() > 0;
      }
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
    }
  }
  expect(spaces).toBeGreaterThanOrEqual(3);
  await expectWhole(runId, received);
});
