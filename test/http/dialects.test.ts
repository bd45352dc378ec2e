// A run read in another dialect than the native one, over sockets: framing, cursors, the end, and what cannot be shown.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { framesOf, post, startBody, type WireFrame } from "../support/api.ts";
import { answer, faultyFields, handleOf, MAIN, openHouse, outcomeOf, problemOf, SPARE, type House } from "./house.ts";

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse();
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => house.provider.reset());

async function finishedRun(fields: Record<string, unknown> = {}): Promise<string> {
  const { runId } = await handleOf(await post(runs, startBody(fields)));
  await outcomeOf(house.origin, runId);
  return runId;
}

const typesOf = (frames: readonly WireFrame[]): unknown[] =>
  frames.map(({ data }) => (data === "[DONE]" ? data : JSON.parse(data).type));

test("R-READ-12 R-SV-1 R-SV-7 a native run reads as Sveda, and goes on at every cursor", async () => {
  house.provider.on(MAIN, answer(["Hé", "llo"]));
  const runId = await finishedRun();
  const url = `${runs}/${runId}/events?dialect=sveda`;
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const wire = await response.text();
  expect(wire.startsWith("retry: 1000\nid: ")).toBe(true);
  const frames = framesOf(wire);
  expect(typesOf(frames)).toEqual(["message.start", "text.delta", "text.delta", "message.end", "[DONE]"]);
  const numbered = frames.flatMap(({ id }, index) => (id === undefined ? [] : [{ id, index }]));
  for (const { id, index } of numbered.slice(0, -1)) {
    const rest = await fetch(url, { headers: { "last-event-id": id } });
    expect(framesOf(await rest.text())).toEqual(frames.slice(index + 1));
  }
});

test("R-DIAL-6 R-READ-12 R-DF-12 a native run reads as DeerFlow, and goes on at every id", async () => {
  house.provider.on(MAIN, answer(["Hé", "llo"]));
  const runId = await finishedRun();
  const url = `${runs}/${runId}/events?dialect=deerflow`;
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const wire = await response.text();
  expect(wire.startsWith("retry: 1000\nevent: metadata\n")).toBe(true);
  expect(wire.endsWith("event: end\ndata: null\n\n")).toBe(true);
  expect(wire).toContain('"content":"Héllo"');
  const ids = [...wire.matchAll(/^id: (.+)$/gm)].map(([, id = ""]) => id);
  for (const id of ids) {
    const rest = await (await fetch(url, { headers: { "last-event-id": id } })).text();
    expect(rest).toBe(`retry: 1000\n${wire.slice(wire.indexOf(`\nid: ${id}\n\n`) + `\nid: ${id}\n\n`.length)}`);
  }
  expect(await (await fetch(url, { headers: { "last-event-id": "-1" } })).text()).toBe(wire);
  const now = await (await fetch(`${url}&from=now`)).text();
  expect(now.match(/^event: .*$/gm)?.at(-1)).toBe("event: end");
  const snapshot = await problemOf(await fetch(`${url}&from=snapshot`), 400, "invalid_request");
  expect(faultyFields(snapshot)).toEqual(["query:from"]);
});

test("R-DIAL-4 a reader with everything seen gets the end mark, and a native one nothing", async () => {
  house.provider.on(MAIN, answer(["x"]));
  const url = `${runs}/${await finishedRun()}/events`;
  const last = framesOf(await (await fetch(`${url}?dialect=sveda`)).text()).at(-1);
  const headers = { "last-event-id": last?.id ?? "" };
  const again = await fetch(`${url}?dialect=sveda`, { headers });
  expect(again.status).toBe(200);
  expect(again.headers.get("content-type")).toBe("text/event-stream");
  expect(await again.text()).toBe("retry: 1000\ndata: [DONE]\n\n");
  expect((await fetch(url, { headers })).status).toBe(204);
});

test("R-DIAL-5 R-READ-12 what a dialect does not have is 400", async () => {
  house.provider.on(MAIN, answer(["x"]));
  const url = `${runs}/${await finishedRun()}/events?dialect=sveda`;
  const snapshot = await problemOf(await fetch(`${url}&from=snapshot`), 400, "invalid_request");
  expect(faultyFields(snapshot)).toEqual(["query:from"]);
  const ndjson = await fetch(url, { headers: { accept: "application/x-ndjson" } });
  expect(faultyFields(await problemOf(ndjson, 400, "invalid_request"))).toEqual(["query:dialect"]);
  const now = framesOf(await (await fetch(`${url}&from=now`)).text());
  expect(typesOf(now)).toEqual(["message.end", "[DONE]"]);
});

test("R-DIAL-2 R-SV-6 a retraction ends a Sveda reader with a failure", async () => {
  house.provider.on(MAIN, answer(["wrong"], {}, { finishReason: null, done: false }));
  house.provider.on(SPARE, answer(["right"]));
  const runId = await finishedRun({ route: "both", onMidStreamFailure: "retract" });
  const frames = framesOf(await (await fetch(`${runs}/${runId}/events?dialect=sveda`)).text());
  expect(typesOf(frames)).toEqual(["message.start", "text.delta", "error", "message.end", "[DONE]"]);
  expect(frames.slice(2).every(({ id }) => id === undefined)).toBe(true);
  expect(JSON.stringify(frames)).not.toContain("right");
});
