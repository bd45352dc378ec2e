// Limits of a tenant and of a request: how many runs at once, and how much of it is stored.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, post, startBody } from "../support/api.ts";
import { answer, handleOf, MAIN, newName, openHouse, outcomeOf, problemOf, until, type House } from "./house.ts";

const MIB = 1_048_576;

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse({
    limits: { maxActiveRuns: 1, maxBodyBytes: 8 * MIB, maxPromptBytes: 8 * MIB, attachWaitMs: 0, heartbeatMs: 100 },
  });
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => house.provider.reset());

const held = () => answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } });

test("R-START-11 a tenant with all of its runs live gets 429 with Retry-After, and nothing is started", async () => {
  house.provider.on(MAIN, held());
  const requestId = newName();
  await handleOf(await post(runs, startBody({ requestId })));
  await house.provider.reached("rest");
  const refused = newName();
  for (const accept of ["*/*", "text/event-stream"]) {
    const response = await post(runs, startBody({ requestId: refused }), { accept });
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    const problem = await problemOf(response, 429, "rate_limited");
    expect(problem).toMatchObject({ errorClass: "RateLimited", retryable: true, runId: refused });
    expect(problem.retryAfterMs).toBeGreaterThan(0);
  }
  await problemOf(await fetch(`${runs}/${refused}`), 404, "not_found");
  expect(house.provider.calls()).toHaveLength(1);
  house.provider.open("rest");
  await outcomeOf(house.origin, requestId);
  await handleOf(await post(runs, startBody({ requestId: refused })));
  await outcomeOf(house.origin, refused);
});

test("R-START-11 repeats of a run are answered while all slots are taken, and so are conflicts", async () => {
  house.provider.on(MAIN, answer(["done"]));
  const finished = newName();
  await post(runs, startBody({ requestId: finished }));
  await outcomeOf(house.origin, finished);
  house.provider.on(MAIN, held());
  const live = newName();
  const handle = await handleOf(await post(runs, startBody({ requestId: live })));
  expect(await handleOf(await post(runs, startBody({ requestId: live })))).toEqual(handle);
  expect((await handleOf(await post(runs, startBody({ requestId: finished })))).runId).toBe(finished);
  const replay = await post(runs, startBody({ requestId: finished }), { accept: "text/event-stream" });
  expect(eventsOf(await replay.text()).at(-1)?.type).toBe("terminal");
  await problemOf(await post(runs, startBody({ requestId: finished, prompt: "Other." })), 409, "conflict");
  house.provider.open("rest");
  await outcomeOf(house.origin, live);
  expect(house.provider.calls()).toHaveLength(2);
});

test("R-START-11 the slot is free once the terminal is visible: 20 runs, each started on the terminal of the one before", async () => {
  house.provider.on(MAIN, answer(["x"]));
  for (let count = 0; count < 20; count++) {
    const stream = await post(runs, startBody(), { accept: "text/event-stream" });
    expect([count, stream.status]).toEqual([count, 200]);
    const decoder = new TextDecoder();
    const reader = stream.body?.getReader();
    let text = "";
    // The terminal itself is the signal, not the end of the body.
    while (!text.includes('"type":"terminal"')) {
      const read = await reader?.read();
      if (read === undefined || read.done) throw new Error(`no terminal in ${text}`);
      text += decoder.decode(read.value, { stream: true });
    }
    await reader?.cancel();
  }
  expect(house.provider.calls()).toHaveLength(20);
});

test("R-START-11 the slot is free after the answer of wait, of cancel and of DELETE", async () => {
  house.provider.on(MAIN, answer(["x"]));
  for (let count = 0; count < 3; count++) expect((await post(`${runs}?wait=20`, startBody())).status).toBe(200);
  house.provider.on(MAIN, held());
  for (let count = 0; count < 3; count++) {
    const { runId } = await handleOf(await post(runs, startBody()));
    expect((await post(`${runs}/${runId}/cancel`, {})).status).toBe(200);
  }
  for (let count = 0; count < 3; count++) {
    const { runId } = await handleOf(await post(runs, startBody()));
    expect((await fetch(`${runs}/${runId}`, { method: "DELETE" })).status).toBe(204);
  }
});

test("R-START-11 of many concurrent starts exactly as many run as there are slots", async () => {
  house.provider.on(MAIN, held());
  const answers = await Promise.all(Array.from({ length: 10 }, () => post(runs, startBody())));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(9);
  const { runId } = await handleOf(answers.find(({ status }) => status === 202) ?? Response.error());
  house.provider.open("rest");
  await outcomeOf(house.origin, runId);
});

test("R-START-7 what does not fit into a row of storage is stored all the same", async () => {
  house.provider.on(MAIN, answer(["x"]));
  for (const fields of [
    { metadata: { filler: "m".repeat(1.9 * MIB) } },
    { metadata: { filler: "é".repeat(MIB) }, prompt: "p".repeat(MIB / 2) },
    { prompt: "p".repeat(3 * MIB) },
    { prompt: "é".repeat(3 * MIB) },
  ]) {
    const requestId = newName();
    await handleOf(await post(runs, startBody({ requestId, ...fields })));
    expect(await outcomeOf(house.origin, requestId)).toMatchObject({ outcome: "completed" });
    const sent: { messages: unknown } = JSON.parse(house.provider.calls().at(-1)?.body ?? "{}");
    const { prompt = startBody()["prompt"] } = fields;
    expect(sent.messages).toEqual([{ role: "user", content: prompt }]);
  }
});

test("R-START-11 a run whose only reader has left gives its slot back at its end", async () => {
  house.provider.on(MAIN, held());
  const aborter = new AbortController();
  const requestId = newName();
  await post(runs, startBody({ requestId }), { accept: "text/event-stream" }, aborter.signal);
  await house.provider.reached("rest");
  aborter.abort();
  house.provider.open("rest");
  const ended = async () => (await fetch(`${runs}/${requestId}/outcome`)).status === 200;
  await until(ended, "the run's end without a reader");
  const next = await handleOf(await post(runs, startBody()));
  await outcomeOf(house.origin, next.runId);
});
