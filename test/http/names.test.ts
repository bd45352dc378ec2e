// What names a run, and what a repeat, a contradiction and a crowd of starts with one name get. Also how a run is forgotten.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, framesOf, post, shownText, startBody } from "../support/api.ts";
import {
  answer,
  exchange,
  faultyFields,
  handleOf,
  keywords,
  MAIN,
  newName,
  objectOf,
  openHouse,
  outcomeOf,
  problemOf,
  type House,
} from "./house.ts";

let house: House;
let runs: string;

beforeAll(async () => {
  house = await openHouse({ limits: { attachWaitMs: 0 } });
  runs = `${house.origin}/v1/runs`;
});
afterAll(() => house.stop());
beforeEach(() => {
  house.provider.reset();
  house.provider.on(MAIN, answer(["Hello", " world."]));
});

const keyed = (key: string) => ({ "idempotency-key": key });

test("R-NAME-1 requestId names the run, with every character it may have", async () => {
  for (const requestId of [`A-z0.9_:~-${newName()}`, newName().padEnd(128, "x"), `.${newName()}`, `~${newName()}`]) {
    expect((await handleOf(await post(runs, startBody({ requestId })))).runId).toBe(requestId);
    expect(await outcomeOf(house.origin, requestId)).toMatchObject({ runId: requestId, outcome: "completed" });
  }
});

test("R-NAME-1 a requestId with other characters is 400", async () => {
  for (const requestId of [
    "",
    "a/b",
    "a b",
    "ä",
    "a\n",
    "\u0000",
    "a%2Fb",
    "x".repeat(129),
    7,
    null,
    ["a"],
    { a: 1 },
  ]) {
    const problem = await problemOf(await post(runs, startBody({ requestId })), 400, "invalid_request");
    expect(faultyFields(problem)).toEqual(["/requestId"]);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-NAME-1 a requestId that a URL would swallow is 400: nobody could ever read that run", async () => {
  for (const requestId of [".", ".."]) {
    const problem = await problemOf(await post(runs, startBody({ requestId })), 400, "invalid_request");
    expect(faultyFields(problem)).toEqual(["/requestId"]);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-NAME-1 an Idempotency-Key names the run by hash, and neither gives random names", async () => {
  const key = newName();
  const digest = createHash("sha256").update(`local\n${key}`).digest("hex");
  const { runId } = await handleOf(await post(runs, startBody(), keyed(key)));
  expect(runId).toBe(`run_${digest.slice(0, 32)}`);
  const random = await Promise.all([0, 1, 2].map(async () => (await handleOf(await post(runs, startBody()))).runId));
  expect(new Set(random).size).toBe(3);
  for (const name of random) expect(name).toMatch(/^run_[0-9a-f]{32}$/);
  // Over before a later test counts calls.
  for (const name of [runId, ...random]) await outcomeOf(house.origin, name);
});

test("R-NAME-1 with both, requestId names the run and the key is kept with it", async () => {
  const requestId = newName();
  const key = newName();
  expect((await handleOf(await post(runs, startBody({ requestId }), keyed(key)))).runId).toBe(requestId);
  expect((await handleOf(await post(runs, startBody({ requestId }), keyed(key)))).runId).toBe(requestId);
  const problem = await problemOf(await post(runs, startBody({ requestId }), keyed(newName())), 409, "conflict");
  expect(faultyFields(problem)).toEqual(["header:Idempotency-Key"]);
  // Over before the next test counts calls.
  await outcomeOf(house.origin, requestId);
});

test("R-NAME-1 an Idempotency-Key that is no key is 400", async () => {
  for (const headers of [
    { "idempotency-key": "" },
    { "idempotency-key": "two words" },
    { "idempotency-key": "x".repeat(256) },
    { "idempotency-key": "k\u00e9y" },
    { "idempotency-key": ["one", "two"] },
  ]) {
    const answered = await exchange(house.server.port, "/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(startBody()),
    });
    expect(faultyFields(await problemOf(answered, 400, "invalid_request"))).toEqual(["header:Idempotency-Key"]);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-NAME-2 a repeat of a name or a key is the same run: same handle, one provider call", async () => {
  const requestId = newName();
  const key = newName();
  const first = [
    await handleOf(await post(runs, startBody({ requestId }))),
    await handleOf(await post(runs, startBody(), keyed(key))),
  ];
  for (const { runId } of first) await outcomeOf(house.origin, runId);
  const again = [
    await handleOf(await post(runs, startBody({ requestId }))),
    await handleOf(await post(runs, startBody(), keyed(key))),
  ];
  expect(again).toEqual(first);
  expect(house.provider.calls(MAIN)).toHaveLength(2);
});

test("R-NAME-2 the same body in other words is the same body", async () => {
  const requestId = newName();
  const first = await handleOf(
    await post(runs, startBody({ requestId, metadata: { a: 1, b: { c: [1, 2], d: "é" } } })),
  );
  const rewritten = `{ "metadata": {"b":{"d":"\\u00e9","c":[1,2.0]},\n"a":1e0}, "requestId": "${requestId}",
    "prompt":"Say something.", "task":{"kind":"text_to_text"}, "schemaVersion":"1.0" }`;
  expect(await handleOf(await post(runs, rewritten))).toEqual(first);
  await outcomeOf(house.origin, requestId);
  expect(house.provider.calls(MAIN)).toHaveLength(1);
});

test("R-NAME-2 a repeat that asks for a stream gets it from the cursor it carries", async () => {
  const requestId = newName();
  const sse = { accept: "text/event-stream" };
  const whole = await (await post(runs, startBody({ requestId }), sse)).text();
  expect(await (await post(runs, startBody({ requestId }), sse)).text()).toBe(whole);
  const rest = await post(runs, startBody({ requestId }), { ...sse, "last-event-id": "1" });
  expect(rest.headers.get("x-run-id")).toBe(requestId);
  expect(framesOf(await rest.text())).toEqual(framesOf(whole).slice(2));
  const byQuery = await post(`${runs}?after=1`, startBody({ requestId }), sse);
  expect(framesOf(await byQuery.text())).toEqual(framesOf(whole).slice(2));
  const last = String(framesOf(whole).length - 1);
  expect((await post(runs, startBody({ requestId }), { ...sse, "last-event-id": last })).status).toBe(204);
  expect(house.provider.calls(MAIN)).toHaveLength(1);
});

test("R-NAME-3 a repeat with another body is 409, and the run stays as it is", async () => {
  const requestId = newName();
  const key = newName();
  await post(runs, startBody({ requestId }));
  const { runId } = await handleOf(await post(runs, startBody(), keyed(key)));
  const before = [await outcomeOf(house.origin, requestId), await outcomeOf(house.origin, runId)];
  for (const other of [{ prompt: "Other." }, { metadata: {} }, { route: "both" }]) {
    const named = await problemOf(await post(runs, startBody({ requestId, ...other })), 409, "conflict");
    expect(named.runId).toBe(requestId);
    expect(keywords(named)).toEqual(["conflict"]);
    const byKey = await problemOf(await post(runs, startBody(other), keyed(key)), 409, "conflict");
    expect(byKey.runId).toBe(runId);
  }
  expect([await outcomeOf(house.origin, requestId), await outcomeOf(house.origin, runId)]).toEqual(before);
  expect(house.provider.calls(MAIN)).toHaveLength(2);
});

test("R-NAME-3 lone surrogates and NUL tell bodies apart, and their spelling does not", async () => {
  const requestId = newName();
  const body = (prompt: string) => JSON.stringify(startBody({ requestId })).replace("Say something.", prompt);
  await handleOf(await post(runs, body("a\\ud800")));
  await problemOf(await post(runs, body("a\\ud801")), 409, "conflict");
  await problemOf(await post(runs, body("a\\ufffd")), 409, "conflict");
  await problemOf(await post(runs, body("a\\u0000")), 409, "conflict");
  await handleOf(await post(runs, body("a\\uD800")));
  // Over before the next test counts calls.
  await outcomeOf(house.origin, requestId);
});

test("R-NAME-4 twenty concurrent starts of one name start one run", async () => {
  for (const [fields, headers] of [
    [{ requestId: newName() }, {}],
    [{}, keyed(newName())],
  ] satisfies [object, Record<string, string>][]) {
    house.provider.reset();
    house.provider.on(MAIN, answer(["one"], { gateBefore: { index: 1, name: "text" } }));
    const handles = await Promise.all(
      Array.from({ length: 20 }, async () => handleOf(await post(runs, startBody({ ...fields }), headers))),
    );
    expect(new Set(handles.map((handle) => JSON.stringify(handle))).size).toBe(1);
    house.provider.open("text");
    const { runId } = handles[0] ?? { runId: "" };
    expect(await outcomeOf(house.origin, runId)).toMatchObject({ outcome: "completed", finalText: "one" });
    expect(house.provider.calls()).toHaveLength(1);
  }
});

test("R-NAME-4 of concurrent starts with different bodies one wins and the others are 409", async () => {
  const requestId = newName();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => post(runs, startBody({ requestId, prompt: `p${index}` }))),
  );
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  await outcomeOf(house.origin, requestId);
  expect(house.provider.calls()).toHaveLength(1);
});

test("R-DELETE-1 a finished run is forgotten, and its name is free", async () => {
  const requestId = newName();
  await post(runs, startBody({ requestId }));
  await outcomeOf(house.origin, requestId);
  const deleted = await fetch(`${runs}/${requestId}`, { method: "DELETE" });
  expect([deleted.status, await deleted.text()]).toEqual([204, ""]);
  for (const path of ["", "/events", "/outcome"])
    await problemOf(await fetch(`${runs}/${requestId}${path}`), 404, "not_found");
  await problemOf(await post(`${runs}/${requestId}/cancel`, {}), 404, "not_found");
  await problemOf(await fetch(`${runs}/${requestId}`, { method: "DELETE" }), 404, "not_found");
  const stream = await post(runs, startBody({ requestId, prompt: "Another body." }), { accept: "text/event-stream" });
  const events = eventsOf(await stream.text());
  expect(events[0]?.sequence).toBe(0);
  expect(shownText(events)).toBe("Hello world.");
  expect(house.provider.calls(MAIN)).toHaveLength(2);
});

test("R-DELETE-1 a live run is cancelled first, with the reason deleted", async () => {
  house.provider.on(MAIN, answer(["shown", "never"], { gateBefore: { index: 2, name: "rest" } }));
  const requestId = newName();
  const reader = await post(runs, startBody({ requestId }), { accept: "text/event-stream" });
  const call = await house.provider.waitForCall(MAIN);
  await house.provider.reached("rest");
  const deleted = await fetch(`${runs}/${requestId}`, { method: "DELETE" });
  expect(deleted.status).toBe(204);
  await call.closed;
  // A reader that was there learns how the run ended.
  const end = eventsOf(await reader.text()).find(({ type }) => type === "terminal");
  expect(end?.payload).toMatchObject({ outcome: "cancelled", reason: "deleted" });
  await problemOf(await fetch(`${runs}/${requestId}`), 404, "not_found");
  const again = await handleOf(await post(runs, startBody({ requestId })));
  expect(again.runId).toBe(requestId);
});

test("R-DELETE-1 a run that is not there is 404", async () => {
  await problemOf(await fetch(`${runs}/${newName()}`, { method: "DELETE" }), 404, "not_found");
  expect(await objectOf(await fetch(`${house.origin}/healthz`))).toEqual({ status: "ok" });
});
