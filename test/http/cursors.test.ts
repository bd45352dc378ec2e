// One run, many readings: cut at random bytes and resumed, read in one go, read after the end. And cursors that cannot be.
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, framesOf, post, shownText, startBody } from "../support/api.ts";
import {
  answer,
  checkProblem,
  exchange,
  faultyFields,
  keywords,
  MAIN,
  newName,
  openHouse,
  outcomeOf,
  problemOf,
  type House,
} from "./house.ts";

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse({ limits: { attachWaitMs: 2000, heartbeatMs: 100 } });
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => house.provider.reset());

const SEED = 20_260_701;
const HEARTBEATS = /(?<=^|\n): hb\n/g;
const frameBytes = (body: string): string => body.replace(/^retry: 1000\n/, "").replaceAll(HEARTBEATS, "");

/** All complete frames of a body that was cut anywhere, and the last one's id. */
function completeFrames(body: Buffer): { text: string; lastId: string | undefined } {
  const end = body.lastIndexOf("\n\n");
  const text = end === -1 ? "" : frameBytes(body.subarray(0, end + 2).toString("utf8"));
  return { text, lastId: framesOf(text).at(-1)?.id };
}

const words = Array.from({ length: 120 }, (_, index) => `wörd${index} ✓😀\n\n `);

/** A reader whose socket is cut `sizes.length` times, each time after so many bytes of the body, and that comes back each time. */
async function readThroughCuts(runId: string, sizes: readonly number[]): Promise<string> {
  let seen = "";
  let cursor: string | undefined;
  for (const cutAfter of [...sizes, Number.POSITIVE_INFINITY]) {
    const part = await exchange(house.server.port, `/v1/runs/${runId}/events`, {
      headers: { accept: "text/event-stream", ...(cursor !== undefined && { "last-event-id": cursor }) },
      cutAfter,
    });
    expect(part.status).toBe(200);
    const { text, lastId } = completeFrames(part.body);
    seen += text;
    cursor = lastId ?? cursor;
  }
  return seen;
}

test(`R-LOG-5 a run read in one go, through 20 cuts at random bytes, and after its end gives the same bytes (seed ${SEED})`, async () => {
  const requestId = newName();
  house.provider.on(MAIN, answer(words, { delayMs: 12 }));
  // Together less than the whole body, so that every cut falls into the stream.
  const cuts = fc.sample(fc.integer({ min: 1, max: 1800 }), { seed: SEED, numRuns: 20 });
  const inOneGo = post(runs, startBody({ requestId }), { accept: "text/event-stream" });
  const cut = readThroughCuts(requestId, cuts);
  const live = frameBytes(await (await inOneGo).text());
  expect(await cut).toBe(live);
  const after = await (await fetch(`${runs}/${requestId}/events`)).text();
  expect(after).toBe(`retry: 1000\n${live}`);
  expect(await readThroughCuts(requestId, cuts)).toBe(live);
  const lines = await (
    await fetch(`${runs}/${requestId}/events`, { headers: { accept: "application/x-ndjson" } })
  ).text();
  expect(lines).toBe(
    framesOf(live)
      .map(({ data }) => `${data}\n`)
      .join(""),
  );
  const events = eventsOf(live);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(shownText(events)).toBe(words.join(""));
});

test("R-LOG-5 a cut at any byte of a short run loses and repeats nothing", async () => {
  const requestId = newName();
  house.provider.on(MAIN, answer(["é", "✓"]));
  await post(runs, startBody({ requestId }));
  await outcomeOf(house.origin, requestId);
  const { body } = await exchange(house.server.port, `/v1/runs/${requestId}/events`);
  const whole = frameBytes(body.toString("utf8"));
  for (let cutAfter = 1; cutAfter < body.length; cutAfter += 29) {
    expect(await readThroughCuts(requestId, [cutAfter])).toBe(whole);
  }
});

test("R-LOG-5 line separators inside of text stay inside of their frame and line", async () => {
  const requestId = newName();
  const text = "a\u2028b\u2029c\u0085d\u000be\u0000f";
  house.provider.on(MAIN, answer([text]));
  await post(runs, startBody({ requestId }));
  expect(await outcomeOf(house.origin, requestId)).toMatchObject({ finalText: text });
  const lines = await (
    await fetch(`${runs}/${requestId}/events`, { headers: { accept: "application/x-ndjson" } })
  ).text();
  const parsed = lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(shownText(parsed)).toBe(text);
  expect(lines).not.toContain("\u0000");
});

const malformed = [
  "abc",
  "-1",
  "1.5",
  "1e1",
  "0x1",
  "+1",
  "01",
  "1 2",
  "1,2",
  "NaN",
  "null",
  "true",
  "9".repeat(40),
  "9007199254740993",
  "9".repeat(4000),
  "%",
  "../1",
];

test("R-READ-3 a cursor that is no number is 400 and names its field", async () => {
  const requestId = newName();
  house.provider.on(MAIN, answer(["x"]));
  await post(runs, startBody({ requestId }));
  const outcome = await outcomeOf(house.origin, requestId);
  for (const cursor of malformed) {
    const byHeader = await fetch(`${runs}/${requestId}/events?after=0`, { headers: { "last-event-id": cursor } });
    expect(faultyFields(await problemOf(byHeader, 400, "invalid_request"))).toEqual(["header:Last-Event-ID"]);
    for (const name of ["after", "lastEventId"]) {
      const byQuery = await fetch(`${runs}/${requestId}/events?${name}=${encodeURIComponent(cursor)}`, {
        headers: { accept: "application/x-ndjson" },
      });
      const problem = await problemOf(byQuery, 400, "invalid_request");
      expect(faultyFields(problem)).toEqual([`query:${name}`]);
      expect(keywords(problem)).toEqual(["cursor"]);
    }
  }
  const odd = await fetch(`${runs}/${requestId}/events?from=yesterday`);
  expect(faultyFields(await problemOf(odd, 400, "invalid_request"))).toEqual(["query:from"]);
  const twice = await exchange(house.server.port, `/v1/runs/${requestId}/events`, {
    headers: { "last-event-id": ["1", "2"] },
  });
  expect(faultyFields(await problemOf(twice, 400, "invalid_request"))).toEqual(["header:Last-Event-ID"]);
  expect(await outcomeOf(house.origin, requestId)).toEqual(outcome);
});

test("R-READ-3 a cursor ahead of the run is 400 and names its field", async () => {
  const requestId = newName();
  house.provider.on(MAIN, answer(["x"]));
  const whole = framesOf(await (await post(runs, startBody({ requestId }), { accept: "text/event-stream" })).text());
  for (const ahead of [whole.length, 1_000_000, Number.MAX_SAFE_INTEGER]) {
    for (const [query, headers, field] of [
      ["", { "last-event-id": String(ahead) }, "header:Last-Event-ID"],
      [`?after=${ahead}`, {}, "query:after"],
      [`?lastEventId=${ahead}`, {}, "query:lastEventId"],
    ] satisfies [string, Record<string, string>, string][]) {
      const problem = await problemOf(
        await fetch(`${runs}/${requestId}/events${query}`, { headers }),
        400,
        "invalid_request",
      );
      expect(faultyFields(problem)).toEqual([field]);
      expect(problem.runId).toBe(requestId);
    }
  }
});

/** Exactly one `error` event without an id, and a browser told to stay away. */
function errorEvent(body: string): string[] {
  expect(body).toMatch(/^retry: 86400000\nevent: error\ndata: [^\n]+\n\n$/);
  const [frame] = framesOf(body);
  expect(frame).toMatchObject({ id: undefined, event: "error" });
  return faultyFields(checkProblem(JSON.parse(frame?.data ?? ""), "invalid_request"));
}

test("R-READ-3 an EventSource gets a bad cursor's error as a stream that it can read", async () => {
  const requestId = newName();
  house.provider.on(MAIN, answer(["x"]));
  await post(runs, startBody({ requestId }));
  await outcomeOf(house.origin, requestId);
  for (const cursor of [...malformed, "1000000"]) {
    const headers = { accept: "text/event-stream", "last-event-id": cursor };
    for (const response of [
      await fetch(`${runs}/${requestId}/events`, { headers }),
      await post(runs, startBody({ requestId }), headers),
    ]) {
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(errorEvent(await response.text())).toEqual(["header:Last-Event-ID"]);
    }
  }
});

test("R-READ-3 a start with a cursor of a run that is not there starts and pays nothing", async () => {
  house.provider.on(MAIN, answer(["x"]));
  for (const cursor of ["abc", "0", "1", "500"]) {
    const requestId = newName();
    const sse = await post(runs, startBody({ requestId }), { accept: "text/event-stream", "last-event-id": cursor });
    expect(errorEvent(await sse.text())).toEqual(["header:Last-Event-ID"]);
    const ndjson = await post(`${runs}?after=${cursor}`, startBody({ requestId }), { accept: "application/x-ndjson" });
    expect(faultyFields(await problemOf(ndjson, 400, "invalid_request"))).toEqual(["query:after"]);
    await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  }
  expect(house.provider.calls()).toHaveLength(0);
});
