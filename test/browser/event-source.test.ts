// The browser's own EventSource against the product: it knows nothing of runs, only the cursor that the frames carry. It
// must come through cut connections and a killed server, with nothing but a ticket in its URL.
import { createHash } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody, type WireEvent } from "../support/api.ts";
import { launchChromium } from "../support/chromium.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import { OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";
import { openAi, pathOf, scriptedConfig } from "../support/scripted-targets.ts";

const KEY = "a-tenant-key";
const keyed = { authorization: `Bearer ${KEY}` };

let provider: FaultProvider;
let server: Holdfast;
let proxy: CuttingProxy;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startHoldfast({
    config: scriptedConfig(provider.origin, { limits: { heartbeatMs: 300 } }),
    vars: {
      API_KEYS: JSON.stringify({ [createHash("sha256").update(KEY).digest("hex")]: "browser-tests" }),
      TICKET_SECRET: "only-for-these-tests",
    },
  });
  proxy = await startCuttingProxy(server.port);
  browser = await launchChromium();
});
afterEach(async () => {
  await page.close();
  provider.reset();
});
afterAll(async () => {
  await browser.close();
  await proxy.stop();
  await server.stop();
  await provider.stop();
});

const deltas = Array.from({ length: 300 }, (_, index) => `${index} 北京🙂 `);

/** Starts a run and makes a ticket for it: what a backend does for its page. */
async function startRun(options: StreamOptions): Promise<{ runId: string; ticketUrl: string }> {
  provider.on(pathOf(openAi), streamScript(OPENAI_STREAM_TYPE, openAi.whole(deltas), options));
  const started = await post(`${server.origin}/v1/runs`, startBody({ targets: ["openai-a"] }), keyed);
  const runId = started.headers.get("x-run-id") ?? "";
  const made = await post(`${server.origin}/v1/tickets`, { runId, scope: ["read"] }, keyed);
  expect(made.status).toBe(201);
  const { ticket }: { ticket: string } = await made.json();
  return { runId, ticketUrl: `${proxy.origin}/v1/runs/${runId}/events?ticket=${ticket}` };
}

interface Watching {
  events: WireEvent[];
  ids: string[];
  opened: number;
  /** The source has given up: after a 204, or a refusal. */
  closed: Promise<void>;
  /** Resolves at the n-th event. */
  reached(count: number): Promise<void>;
}

/** Opens an EventSource inside a page of the product; what it dispatches comes back through the page's console. */
async function watch(url: string): Promise<Watching> {
  page = await browser.newPage();
  await page.goto(`${proxy.origin}/healthz`);
  const closed = Promise.withResolvers<void>();
  const watchers = new Set<() => void>();
  const watching: Watching = {
    events: [],
    ids: [],
    opened: 0,
    closed: closed.promise,
    reached: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (watching.events.length >= count) resolve();
        };
        watchers.add(check);
        check();
      }),
  };
  page.on("console", (message) => {
    const [kind = "", id = "", ...rest] = message.text().split(" ");
    if (kind === "open") watching.opened += 1;
    if (kind === "closed") closed.resolve();
    if (kind !== "event") return;
    watching.ids.push(id);
    watching.events.push(JSON.parse(rest.join(" ")));
    for (const check of watchers) check();
  });
  await page.evaluate((target) => {
    const source = new EventSource(target);
    source.addEventListener("open", () => console.log("open"));
    source.addEventListener("message", ({ data, lastEventId }) => console.log(`event ${lastEventId} ${data}`));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) console.log("closed");
    });
  }, url);
  return watching;
}

async function expectWhole(runId: string, { events, ids }: Watching): Promise<void> {
  const body = await (await fetch(`${server.origin}/v1/runs/${runId}/events`, { headers: keyed })).text();
  expect(events).toEqual(eventsOf(body));
  expect(ids).toEqual(events.map(({ sequence }) => String(sequence)));
}

test("R-READ-2 R-READ-6 R-TICKET-1 Chromium's EventSource comes back by itself after each cut, and stops after the terminal", async () => {
  const gateBefore = [20, 150].map((index) => ({ index, name: `gate ${index}` }));
  const { runId, ticketUrl } = await startRun({ gateBefore });
  const watching = await watch(ticketUrl);
  for (const { index, name } of gateBefore) {
    await watching.reached(index);
    expect(proxy.cut()).toBeGreaterThan(0);
    // What comes while the browser is away is replayed to it.
    provider.open(name);
  }
  await watching.closed;
  await expectWhole(runId, watching);
  expect(shownText(watching.events)).toBe(deltas.join(""));
  expect(watching.events.at(-1)?.payload).toMatchObject({ outcome: "completed" });
  expect(watching.opened).toBe(3);
});

test("R-LIFE-1 R-LIFE-2 R-TICKET-3 Chromium's EventSource comes back by itself after the server was killed and started again", async () => {
  const { runId, ticketUrl } = await startRun({ delayMs: 20 });
  const watching = await watch(ticketUrl);
  await watching.reached(40);
  await server.kill();
  await server.start();
  await watching.closed;
  const { events, ids } = watching;
  expect(ids).toEqual(events.map((_, index) => String(index)));
  const body = await (await fetch(`${server.origin}/v1/runs/${runId}/events`, { headers: keyed })).text();
  const kept = eventsOf(body);
  expect(kept).toHaveLength(events.length);
  // What the browser had seen and the disk had not is voided for everybody, and the text restated.
  const changed = events.filter((event, index) => JSON.stringify(event) !== JSON.stringify(kept[index]));
  for (const { sequence } of changed) expect(kept[sequence]?.payload).toEqual({ code: "sequence_released" });
  expect(shownText(events)).toBe(shownText(kept));
  expect(events.at(-1)?.payload).toMatchObject({
    outcome: "error",
    partialText: shownText(events),
    error: { retryable: true, details: { code: "interrupted" } },
  });
  expect(deltas.join("").startsWith(shownText(events))).toBe(true);
  expect(provider.calls()).toHaveLength(1);
});

test("R-TICKET-2 R-AUTH-1 without its ticket the browser gets nothing", async () => {
  const { runId, ticketUrl } = await startRun({});
  for (const url of [`${proxy.origin}/v1/runs/${runId}/events`, ticketUrl.slice(0, -2)]) {
    const watching = await watch(url);
    await watching.closed;
    expect(watching.events).toEqual([]);
    await page.close();
  }
});
