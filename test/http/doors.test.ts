// Who may come in: API keys, tenants, and the open mode that answers on localhost only.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
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

const KEY_A = "key-of-a-0d1f7c";
const KEY_B = "key-of-b-9e2b44";
const hash = (key: string): string => createHash("sha256").update(key).digest("hex");
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

let house: House;
let open: House;
let runs: string;
let logFrom = 0;

beforeAll(async () => {
  house = await openHouse({
    vars: {
      API_KEYS: JSON.stringify({ [hash(KEY_A)]: "tenant-a", [hash(KEY_B)]: "tenant-b" }),
      TICKET_SECRET: "s3cr3t-of-tickets",
    },
    limits: { attachWaitMs: 0 },
  });
  open = await openHouse({ limits: { attachWaitMs: 0 } });
  runs = `${house.origin}/v1/runs`;
  logFrom = house.server.log().length;
});
afterAll(async () => {
  try {
    const log = house.server.log().slice(logFrom);
    for (const secret of [KEY_A, KEY_B, hash(KEY_A), "s3cr3t"]) expect(log).not.toContain(secret);
  } finally {
    await house.stop();
    await open.stop();
  }
});
beforeEach(() => {
  for (const { provider } of [house, open]) {
    provider.reset();
    provider.on(MAIN, answer(["Hello."]));
  }
});

/** Every route that acts for a tenant. */
const guarded = (runId: string): [string, string][] => [
  ["POST", "/v1/runs"],
  ["GET", `/v1/runs/${runId}`],
  ["GET", `/v1/runs/${runId}/events`],
  ["GET", `/v1/runs/${runId}/outcome`],
  ["POST", `/v1/runs/${runId}/cancel`],
  ["DELETE", `/v1/runs/${runId}`],
  ["POST", "/v1/tickets"],
  ["GET", "/v1/routes"],
];

const send = (port: number, [method, path]: [string, string], headers: Record<string, string | string[]> = {}) =>
  exchange(port, path, {
    method,
    headers: { ...(method === "POST" && { "content-type": "application/json" }), ...headers },
    ...(method === "POST" && { body: JSON.stringify(startBody()) }),
  });

test("R-AUTH-1 a key names its tenant: a run of its own under the same name", async () => {
  const requestId = newName();
  await handleOf(await post(runs, startBody({ requestId, prompt: "a" }), bearer(KEY_A)));
  await handleOf(await post(runs, startBody({ requestId, prompt: "b" }), { authorization: `bearer   ${KEY_B}` }));
  for (const key of [KEY_A, KEY_B]) {
    const response = await fetch(`${runs}/${requestId}/outcome?wait=20`, { headers: bearer(key) });
    expect(await objectOf(response)).toMatchObject({ runId: requestId, outcome: "completed" });
  }
  expect(house.provider.calls(MAIN)).toHaveLength(2);
  const named = await handleOf(await post(runs, startBody(), { ...bearer(KEY_A), "idempotency-key": "k" }));
  expect(named.runId).toBe(`run_${hash("tenant-a\nk").slice(0, 32)}`);
  // Over before a later test counts calls.
  await objectOf(await fetch(`${runs}/${named.runId}/outcome?wait=20`, { headers: bearer(KEY_A) }));
});

test("R-AUTH-1 R-ERR-2 missing, malformed and unknown keys are 401 on every route, and nothing is started", async () => {
  const headers: Record<string, string | string[]>[] = [
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { authorization: KEY_A },
    { authorization: `Basic ${Buffer.from(`user:${KEY_A}`).toString("base64")}` },
    { authorization: `Bearer ${KEY_A} ${KEY_A}` },
    { authorization: `Bearer ${KEY_A}x` },
    { authorization: `Bearer ${hash(KEY_A)}` },
    { authorization: "Bearer __proto__" },
    { authorization: [`Bearer ${KEY_A}`, `Bearer ${KEY_B}`] },
    { "x-api-key": KEY_A },
    { cookie: `authorization=${KEY_A}` },
  ];
  for (const route of guarded(newName())) {
    for (const tried of headers) {
      const answered = await send(house.server.port, route, tried);
      const problem = await problemOf(answered, 401, "unauthorized");
      expect(problem.errorClass).toBe("AuthError");
      expect(answered.headers["www-authenticate"]).toBe("Bearer");
      expect(answered.text).not.toContain(KEY_A);
    }
  }
});

test("R-AUTH-1 a key in a URL is 400 naming the parameter, also next to a good key", async () => {
  for (const name of [
    "key",
    "apiKey",
    "api_key",
    "api-key",
    "token",
    "access_token",
    "authorization",
    "secret",
    "password",
    "x-api-key",
  ]) {
    for (const route of guarded(newName())) {
      const answered = await send(house.server.port, [route[0], `${route[1]}?${name}=${KEY_A}`], bearer(KEY_A));
      const problem = await problemOf(answered, 400, "invalid_request");
      expect(faultyFields(problem)).toEqual([`query:${name}`]);
      expect(keywords(problem)).toEqual(["forbiddenSecretKey"]);
      expect(answered.text).not.toContain(KEY_A);
    }
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-AUTH-1 what describes the server is open to all", async () => {
  for (const path of ["/healthz", "/openapi.json", "/schemas", "/schemas/StartRequest.json"]) {
    expect((await fetch(`${house.origin}${path}`)).status).toBe(200);
  }
});

test("R-AUTH-2 another tenant's run is the same 404 as no run, for every verb, and stays as it is", async () => {
  house.provider.on(MAIN, answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }));
  const requestId = newName();
  await handleOf(await post(runs, startBody({ requestId }), bearer(KEY_A)));
  await house.provider.reached("rest");
  const nobody = newName();
  for (const [method, rest] of [
    ["GET", ""],
    ["GET", "/events"],
    ["GET", "/events?after=0"],
    ["GET", "/outcome"],
    ["GET", "/outcome?wait=1"],
    ["POST", "/cancel"],
    ["DELETE", ""],
  ] satisfies [string, string][]) {
    const [theirs, none] = [
      await exchange(house.server.port, `/v1/runs/${requestId}${rest}`, { method, headers: bearer(KEY_B) }),
      await exchange(house.server.port, `/v1/runs/${nobody}${rest}`, { method, headers: bearer(KEY_B) }),
    ];
    await problemOf(theirs, 404, "not_found");
    expect(theirs.text.replaceAll(requestId, nobody)).toBe(none.text);
    const names = (headers: object) => Object.keys(headers).toSorted();
    expect(names(theirs.headers)).toEqual(names(none.headers));
  }
  house.provider.open("rest");
  const outcome = await objectOf(await fetch(`${runs}/${requestId}/outcome?wait=20`, { headers: bearer(KEY_A) }));
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "onetwo" });
});

test("R-AUTH-2 a run name cannot be spelt into another tenant", async () => {
  const requestId = newName();
  await handleOf(await post(runs, startBody({ requestId }), bearer(KEY_A)));
  for (const name of [`..%2Ftenant-a%2F${requestId}`, `%2E%2E%2Ftenant-a%2F${requestId}`, `tenant-a%2F${requestId}`]) {
    await problemOf(
      await exchange(house.server.port, `/v1/runs/${name}`, { headers: bearer(KEY_B) }),
      404,
      "not_found",
    );
  }
});

test("R-AUTH-3 without API_KEYS everybody on localhost is the tenant local", async () => {
  const requestId = newName();
  for (const host of [
    `localhost:${open.server.port}`,
    "localhost",
    `127.0.0.1:${open.server.port}`,
    "127.0.0.1",
    "[::1]:80",
    "[::1]",
    "LOCALHOST",
  ]) {
    const answered = await exchange(open.server.port, "/v1/runs", {
      method: "POST",
      headers: { host, "content-type": "application/json", authorization: "Bearer whatever" },
      body: JSON.stringify(startBody({ requestId })),
    });
    expect([host, answered.status]).toEqual([host, 202]);
  }
  await outcomeOf(open.origin, requestId);
  expect(open.provider.calls(MAIN)).toHaveLength(1);
  const { runId } = await handleOf(await post(`${open.origin}/v1/runs`, startBody(), { "idempotency-key": "k" }));
  // The provider has been called for it when the next test begins.
  await outcomeOf(open.origin, runId);
  expect(runId).toBe(`run_${hash("local\nk").slice(0, 32)}`);
});

test("R-AUTH-3 without API_KEYS any other host name is 403 on every route", async () => {
  const hosts = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "127.0.0.2",
    "0.0.0.0",
    "10.0.0.1",
    "[::]",
    "[::ffff:7f00:1]",
    "local",
    "localhost.",
  ];
  for (const host of hosts) {
    for (const route of guarded(newName())) {
      const answered = await send(open.server.port, route, { host });
      expect([host, route[1], answered.status]).toEqual([host, route[1], 403]);
      const problem = await problemOf(answered, 403, "forbidden");
      expect(problem.errorClass).toBe("AuthError");
      expect(problem.message).toContain("API_KEYS");
    }
  }
  const runId = newName();
  const made = await post(`${open.origin}/v1/tickets`, { runId, scope: ["read"] });
  const { ticket } = await objectOf(made, 201);
  // A valid ticket opens no other door either.
  const answered = await send(open.server.port, ["GET", `/v1/runs/${runId}/events?ticket=${String(ticket)}`], {
    host: "evil.example",
  });
  await problemOf(answered, 403, "forbidden");
  expect(open.provider.calls()).toHaveLength(0);
});

test("R-AUTH-1 API_KEYS that are no map of hashes to tenants are a clear 500, and let nobody in", async () => {
  for (const keys of ["not json", JSON.stringify({ [KEY_A]: "tenant-a" })]) {
    const broken = await startBare({ vars: { API_KEYS: keys } });
    try {
      for (const route of guarded(newName())) {
        const answered = await send(broken.port, route, bearer(KEY_A));
        const problem = await problemOf(answered, 500, "bug");
        expect(problem.message).toContain("API_KEYS");
        expect(answered.text).not.toContain(KEY_A);
        expect(answered.text).not.toContain("not json");
      }
    } finally {
      await broken.stop();
    }
  }
});
