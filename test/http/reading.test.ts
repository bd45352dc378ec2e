// Reading a run's events: exact bytes of both framings, heartbeats, where reading starts and how it ends.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, framesOf, post, shownText, startBody } from "../support/api.ts";
import { openRawClient } from "../support/fault-provider/raw-client.ts";
import {
  answer,
  exchange,
  faultyFields,
  handleOf,
  MAIN,
  newName,
  openHouse,
  outcomeOf,
  problemOf,
  until,
  type House,
} from "./house.ts";

const ATTACH_WAIT_MS = 1500;
const HEARTBEAT_MS = 100;

let house: House;
let runs: string;
/** A finished run. */
let done: string;
/** Its whole SSE body. */
let whole: string;

beforeAll(async () => {
  house = await openHouse({ limits: { attachWaitMs: ATTACH_WAIT_MS, heartbeatMs: HEARTBEAT_MS } });
  runs = `${house.origin}/v1/runs`;
  house.provider.on(MAIN, answer(["Héllo", " wörld\n\ndata: x\r\n ✓", "."]));
  done = (await handleOf(await post(runs, startBody()))).runId;
  await outcomeOf(house.origin, done);
  whole = await (await fetch(`${runs}/${done}/events`)).text();
});
afterAll(() => house.stop());
beforeEach(() => house.provider.reset());

/** A run that has shown "one" and stands at the gate "rest"; "two" follows. */
async function halfWay(): Promise<string> {
  house.provider.on(MAIN, answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }));
  const { runId } = await handleOf(await post(runs, startBody()));
  await until(async () => {
    const seen = await exchange(house.server.port, `/v1/runs/${runId}/events`, {
      cutWhen: (text) => /hb|"one"/.test(text),
    });
    return seen.text.includes('"one"');
  }, "the first text");
  return runId;
}

test("R-READ-1 SSE frames are one id line and one data line", () => {
  const [preamble, ...rest] = whole.split(/(?<=\n)/);
  expect(preamble).toBe("retry: 1000\n");
  const frames = rest.join("").split(/(?<=\n\n)/);
  for (const [index, frame] of frames.entries()) {
    expect(frame).toMatch(/^id: \d+\ndata: \{[^\n]*\}\n\n$/);
    const [event] = eventsOf(frame);
    expect(event).toMatchObject({ schemaVersion: "1.0", runId: done, sequence: index });
    expect(framesOf(frame)[0]?.id).toBe(String(index));
  }
  expect(frames.at(-1)).toContain('"type":"terminal"');
  expect(shownText(eventsOf(whole))).toBe("Héllo wörld\n\ndata: x\r\n ✓.");
});

test("R-READ-1 R-READ-2 a cursor gives exactly the events after it, for every cursor and every way to say it", async () => {
  const frames = framesOf(whole);
  for (let cursor = 0; cursor < frames.length - 1; cursor++) {
    for (const response of [
      await fetch(`${runs}/${done}/events`, { headers: { "last-event-id": String(cursor) } }),
      await fetch(`${runs}/${done}/events?after=${cursor}`),
      await fetch(`${runs}/${done}/events?lastEventId=${cursor}`),
    ]) {
      expect(response.status).toBe(200);
      expect(framesOf(await response.text())).toEqual(frames.slice(cursor + 1));
    }
  }
});

test("R-READ-2 Last-Event-ID beats after, after beats lastEventId, that beats from; an empty cursor counts as none", async () => {
  const firstOf = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${runs}/${done}/events${query}`, { headers });
    return Number(framesOf(await response.text())[0]?.id);
  };
  expect(await firstOf("?after=1&lastEventId=2&from=now", { "last-event-id": "0" })).toBe(1);
  expect(await firstOf("?lastEventId=2&after=1&from=now")).toBe(2);
  expect(await firstOf("?from=now&lastEventId=2")).toBe(3);
  expect(await firstOf("?after=", { "last-event-id": "" })).toBe(0);
  expect(await firstOf("?after=&lastEventId=1", { "last-event-id": "" })).toBe(2);
  expect(await firstOf("?after=&from=", { "last-event-id": "" })).toBe(0);
  expect(await firstOf("?after=1", { "last-event-id": " " })).toBe(2);
});

test("R-READ-4 NDJSON is one event per line, the same events", async () => {
  const response = await fetch(`${runs}/${done}/events`, { headers: { accept: "application/x-ndjson" } });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const text = await response.text();
  expect(text).toMatch(/\}\n$/);
  expect(text.trimEnd().split("\n")).toEqual(framesOf(whole).map(({ data }) => data));
});

test("R-READ-5 from=now on a finished run gives the terminal only", async () => {
  const body = await (await fetch(`${runs}/${done}/events?from=now`)).text();
  expect(framesOf(body)).toEqual(framesOf(whole).slice(-1));
});

test("R-READ-5 from=now on a live run gives what comes after", async () => {
  const runId = await halfWay();
  const reader = await fetch(`${runs}/${runId}/events?from=now`);
  house.provider.open("rest");
  const later = framesOf(await reader.text());
  const all = framesOf(await (await fetch(`${runs}/${runId}/events`)).text());
  expect(later).toEqual(all.slice(-later.length));
  expect(shownText(later.map(({ data }) => JSON.parse(data)))).toBe("two");
});

test("R-READ-5 from=snapshot gives one merged event, then what comes after, and never swallows the terminal", async () => {
  const runId = await halfWay();
  const reader = await fetch(`${runs}/${runId}/events?from=snapshot`);
  house.provider.open("rest");
  const live = framesOf(await reader.text());
  const all = framesOf(await (await fetch(`${runs}/${runId}/events`)).text());
  const finished = framesOf(await (await fetch(`${runs}/${runId}/events?from=snapshot`)).text());
  for (const [frames, text] of [
    [live, "one"],
    [finished, "onetwo"],
  ] satisfies [typeof live, string][]) {
    const [opening, ...rest] = frames;
    const { sequence, type, payload } = JSON.parse(opening?.data ?? "");
    expect(type).toBe("content_snapshot");
    expect(payload).toEqual({ text, reasoning: "", covers: sequence });
    expect(opening?.id).toBe(String(sequence));
    expect(rest).toEqual(all.slice(sequence + 1));
    expect(rest.at(-1)?.data).toContain('"type":"terminal"');
    expect(shownText(frames.map(({ data }) => JSON.parse(data)))).toBe("onetwo");
  }
  expect(finished).toHaveLength(2);
});

test("R-READ-6 the stream ends after the terminal, and a reader that has seen it gets 204", async () => {
  const last = framesOf(whole).length - 1;
  for (const headers of [{}, { accept: "text/event-stream" }, { accept: "application/x-ndjson" }]) {
    const response = await fetch(`${runs}/${done}/events?after=${last}`, { headers });
    expect([response.status, await response.text()]).toEqual([204, ""]);
  }
});

test("R-READ-7 a reader may come before its run, and misses nothing", async () => {
  house.provider.on(MAIN, answer(["early"]));
  const requestId = newName();
  const early = [fetch(`${runs}/${requestId}/events`), fetch(`${runs}/${requestId}/events?from=now`)];
  // The readers are attached first or the run is started first: both must do.
  await post(runs, startBody({ requestId }));
  for (const pending of early) {
    const response = await pending;
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"type":"terminal"');
  }
  expect(shownText(eventsOf(await (await fetch(`${runs}/${requestId}/events`)).text()))).toBe("early");
});

test("R-READ-7 a reader of a run that never starts waits attachWaitMs, then gets 404", async () => {
  for (const accept of ["text/event-stream", "*/*"]) {
    const startedAt = performance.now();
    const response = await fetch(`${runs}/${newName()}/events`, { headers: { accept } });
    await problemOf(response, 404, "not_found");
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ATTACH_WAIT_MS - 10);
    expect(performance.now() - startedAt).toBeLessThan(ATTACH_WAIT_MS + 3000);
  }
});

test("R-READ-7 a name that no run can have is 404 at once", async () => {
  const startedAt = performance.now();
  for (const name of ["a b", "%", "%zz", "a%2Fb", "x".repeat(129), "ä", "a%0d%0ax-evil:1", "%00"]) {
    const answered = await exchange(
      house.server.port,
      `/v1/runs/${name.replace(" ", "%20").replace("ä", "%C3%A4")}/events`,
    );
    await problemOf(answered, 404, "not_found");
  }
  expect(performance.now() - startedAt).toBeLessThan(ATTACH_WAIT_MS * 4);
});

test("R-READ-8 the first bytes are the retry line, without a blank line after it", async () => {
  const client = await openRawClient(house.server.port);
  try {
    client.send(
      `GET /v1/runs/${done}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`,
    );
    await client.ended;
    const [head = "", ...rest] = client.text().split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head.toLowerCase()).not.toContain("content-encoding");
    const [size = "", body = ""] = rest.join("\r\n\r\n").split(/\r\n([^]*)/);
    expect(Number.parseInt(size, 16)).toBeGreaterThan(0);
    expect(body.startsWith("retry: 1000\nid: 0\ndata: {")).toBe(true);
  } finally {
    client.close();
  }
});

test("R-READ-8 heartbeats come from before the first output on, and never inside a frame", async () => {
  house.provider.on(MAIN, [
    { step: "gate", name: "head" },
    ...answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }),
  ]);
  const requestId = newName();
  const reader = exchange(house.server.port, "/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(startBody({ requestId })),
  });
  const beats = (text: string): number => text.split(": hb\n").length - 1;
  const path = `/v1/runs/${requestId}/events`;
  const silent = await exchange(house.server.port, path, { cutWhen: (text) => beats(text) >= 3 });
  expect(silent.text).not.toContain('{"phase":"started"}');
  expect(silent.text).toMatch(/(: hb\n){3}$/);
  house.provider.open("head");
  const midway = await exchange(house.server.port, path, { cutWhen: (text) => /"one"[^]*: hb\n: hb\n/.test(text) });
  expect(midway.text).toMatch(/"one"[^]*\n\n: hb\n: hb\n$/);
  house.provider.open("rest");
  const { text } = await reader;
  expect(beats(text)).toBeGreaterThanOrEqual(5);
  expect(text.replaceAll(": hb\n", "")).toBe(await (await fetch(`${runs}/${requestId}/events`)).text());
  expect(text.replaceAll(/(^|(?<=\n)): hb\n/g, "")).toBe(text.replaceAll(": hb\n", ""));
});

test("R-READ-8 NDJSON heartbeats are single spaces between events", async () => {
  house.provider.on(MAIN, answer(["a b", "c"], { gateBefore: { index: 2, name: "rest" } }));
  const { runId } = await handleOf(await post(runs, startBody()));
  const seen = await exchange(house.server.port, `/v1/runs/${runId}/events`, {
    headers: { accept: "application/x-ndjson" },
    cutWhen: (text) => text.endsWith("   "),
  });
  expect(seen.text).toMatch(/\}\n {3}$/);
  for (const line of seen.text.trim().split("\n")) expect(JSON.parse(line).runId).toBe(runId);
  house.provider.open("rest");
});

test("R-READ-8 a reader that has nothing to read yet gets the retry line with its first heartbeat", async () => {
  const runId = await halfWay();
  const { text } = await exchange(house.server.port, `/v1/runs/${runId}/events?from=now`, {
    cutWhen: (seen) => seen.includes("hb"),
  });
  expect(text).toBe("retry: 1000\n: hb\n");
  house.provider.open("rest");
});

test("R-READ-9 streams are not to be stored, transformed or buffered", async () => {
  house.provider.on(MAIN, answer(["x"]));
  const responses = [
    await fetch(`${runs}/${done}/events`),
    await fetch(`${runs}/${done}/events?from=now`, { headers: { accept: "application/x-ndjson" } }),
    await post(runs, startBody(), { accept: "text/event-stream" }),
    await fetch(`${runs}/${done}/events?after=x`, { headers: { accept: "text/event-stream" } }),
  ];
  for (const response of responses) {
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    await response.text();
  }
});

test("R-READ-12 dialect names the stream's dialect, and an unknown one is 400", async () => {
  const native = await fetch(`${runs}/${done}/events?dialect=inderun`);
  expect(await native.text()).toBe(whole);
  for (const dialect of ["", "INDERUN", "sse", "__proto__", "constructor", "\u0000"]) {
    const url = `${runs}/${done}/events?dialect=${encodeURIComponent(dialect)}`;
    expect(faultyFields(await problemOf(await fetch(url), 400, "invalid_request"))).toEqual(["query:dialect"]);
  }
});

test("R-READ-12 a start that asks for a stream in an unknown dialect starts nothing", async () => {
  house.provider.on(MAIN, answer(["x"]));
  const requestId = newName();
  const response = await post(`${runs}?dialect=nope`, startBody({ requestId }), { accept: "text/event-stream" });
  expect(faultyFields(await problemOf(response, 400, "invalid_request"))).toEqual(["query:dialect"]);
  await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  expect(house.provider.calls()).toHaveLength(0);
});
