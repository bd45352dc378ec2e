// Hostile and mistaken input. Every answer is a valid IndeRunError with the right status that names the field and repeats nothing;
// nothing is started by it, and nothing that was there is lost.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { openRawClient } from "../support/fault-provider/raw-client.ts";
import {
  answer,
  exchange,
  faultyFields,
  keywords,
  MAIN,
  newName,
  openHouse,
  handleOf,
  outcomeOf,
  problemOf,
  type House,
} from "./house.ts";

const MIB = 1_048_576;
const MAX_PROMPT = 1000;
/** Stands in every bad value, and may come back nowhere. */
const MARKER = "mArKeR-5ec2e7-0f-a-pr0mpt";

let house: House;
let runs: string;
/** A finished run that must survive everything. */
const kept = newName();
let keptOutcome: unknown;
let logFrom = 0;

beforeAll(async () => {
  house = await openHouse({ limits: { attachWaitMs: 0, maxPromptBytes: MAX_PROMPT } });
  runs = `${house.origin}/v1/runs`;
  house.provider.on(MAIN, answer(["kept"]));
  await post(runs, startBody({ requestId: kept }));
  keptOutcome = await outcomeOf(house.origin, kept);
  logFrom = house.server.log().length;
});
afterAll(async () => {
  try {
    expect(house.server.log().slice(logFrom)).not.toContain(MARKER);
    expect(await outcomeOf(house.origin, kept)).toEqual(keptOutcome);
  } finally {
    await house.stop();
  }
});
beforeEach(() => {
  house.provider.reset();
  house.provider.on(MAIN, answer(["never"]));
});

/** A body that is accepted; its run is over before the next test counts the provider's calls. */
async function accepted(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<void> {
  const { runId } = await handleOf(await post(runs, body, headers));
  await outcomeOf(house.origin, runId);
}

interface Refused {
  status: number;
  code: string;
  fields?: string[];
  keyword?: string;
}

/** Sends a body under a fresh name and under the kept run's, and checks that it did nothing. */
async function refuses(
  bodyFor: (requestId: string) => string | Record<string, unknown>,
  expected: Refused,
): Promise<void> {
  const fresh = newName();
  for (const requestId of [fresh, kept]) {
    for (const accept of ["*/*", "text/event-stream"]) {
      const problem = await problemOf(await post(runs, bodyFor(requestId), { accept }), expected.status, expected.code);
      if (expected.fields !== undefined) expect(faultyFields(problem)).toEqual(expected.fields);
      if (expected.keyword !== undefined) expect(keywords(problem)).toContain(expected.keyword);
      expect(JSON.stringify(problem)).not.toContain(MARKER);
      expect(problem.message.length).toBeLessThan(500);
    }
  }
  await problemOf(await fetch(`${runs}/${fresh}`), 404, "not_found");
  expect(house.provider.calls()).toHaveLength(0);
}

const invalid = (...fields: string[]): Refused => ({ status: 400, code: "invalid_request", fields });

test.for([
  ["nothing but text", MARKER],
  ["cut off", `{"schemaVersion":"1.0","prompt":"${MARKER}`],
  ["single quotes", `{'prompt':'${MARKER}'}`],
  ["a trailing comma", `{"prompt":"${MARKER}",}`],
  ["a raw control character", `{"prompt":"${MARKER}\n"}`],
  ["two values", `{"prompt":"${MARKER}"}{}`],
  ["white space", "  \n "],
  ["a NUL byte", `{"prompt":"${MARKER}"}\u0000`],
  ["an array", JSON.stringify([startBody({ prompt: MARKER })])],
  ["a string", JSON.stringify(MARKER)],
  ["null", "null"],
  ["a number", "7"],
] satisfies [string, string][])("R-START-5 R-ERR-1 R-ERR-2 a body that is %s is 400", async ([, body]) => {
  await refuses(() => body, { status: 400, code: "invalid_request" });
});

test("R-START-5 an empty body is 400, however it is framed", async () => {
  for (const body of ["", []] satisfies (string | string[])[]) {
    const answered = await exchange(house.server.port, "/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(faultyFields(await problemOf(answered, 400, "invalid_request"))).not.toHaveLength(0);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-START-5 bytes that are not UTF-8 are 400", async () => {
  const [before = "", after = ""] = JSON.stringify(startBody({ prompt: "?" })).split("?");
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
    const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    const answered = await exchange(house.server.port, "/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(keywords(await problemOf(answered, 400, "invalid_request"))).toEqual(["encoding"]);
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test.for([
  [{ schemaVersion: "2.0" }, "/schemaVersion"],
  [{ schemaVersion: 1 }, "/schemaVersion"],
  [{ task: { kind: "image" } }, "/task/kind"],
  [{ task: MARKER }, "/task"],
  [{ prompt: "" }, "/prompt"],
  [{ prompt: [MARKER] }, "/prompt"],
  [{ prompt: undefined }, ""],
  [{ messages: [] }, "/messages"],
  [{ messages: MARKER }, "/messages"],
  [{ messages: [{ role: MARKER, content: "x" }] }, "/messages/0/role"],
  [{ messages: [{ role: "user" }] }, "/messages/0/content"],
  [{ messages: [{ role: "assistant" }] }, "/messages/0/content"],
  [{ messages: [{ role: "user", content: [{ type: "image", url: "x" }] }] }, "/messages/0/content/0/url"],
  [{ messages: [{ role: "tool", toolCallId: "c" }] }, "/messages/0/output"],
  [{ generation: { temperature: 3 } }, "/generation/temperature"],
  [{ generation: { maxOutputTokens: 1.5 } }, "/generation/maxOutputTokens"],
  [{ generation: { topP: "0.5" } }, "/generation/topP"],
  [{ generation: { stop: MARKER } }, "/generation/stop"],
  [{ constraints: { privacy: MARKER } }, "/constraints/privacy"],
  [{ constraints: { cloud: true } }, "/constraints/cloud"],
  [{ constraints: { timeoutMs: 0 } }, "/constraints/timeoutMs"],
  [{ constraints: { privacy: "local_required", cloud: "required" } }, "/constraints"],
  [{ constraints: { privacy: "cloud_required", cloud: "forbidden" } }, "/constraints"],
  [{ preferences: { optimizeFor: MARKER } }, "/preferences/optimizeFor"],
  [{ telemetry: { level: MARKER } }, "/telemetry/level"],
  [{ telemetry: { tags: { a: 1 } } }, "/telemetry/tags/a"],
  [{ route: MARKER }, "/route"],
  [{ route: { id: MARKER } }, "/route"],
  [{ targets: [MARKER] }, "/targets/0"],
  [{ targets: "main" }, "/targets"],
  [{ onDisconnect: MARKER }, "/onDisconnect"],
  [{ onMidStreamFailure: MARKER }, "/onMidStreamFailure"],
  [{ durability: MARKER }, "/durability"],
  [{ clocks: { totalMs: -1 } }, "/clocks/totalMs"],
  [{ clocks: { nap: 1 } }, "/clocks/nap"],
  [{ metadata: MARKER }, "/metadata"],
  [{ tools: [{ name: `${MARKER} x`, parameters: {} }] }, "/tools/0/name"],
  [{ tools: [{ name: "a" }] }, "/tools/0/parameters"],
  [{ toolChoice: { name: MARKER } }, "/toolChoice/name"],
  [{ toolChoice: "required" }, "/toolChoice"],
  [{ toolChoice: MARKER }, "/toolChoice"],
  [{ maxSteps: 0 }, "/maxSteps"],
  [{ source: MARKER }, "/source"],
  [{ authContextRef: "" }, "/authContextRef"],
] satisfies [Record<string, unknown>, string][])("R-START-5 R-ERR-2 %j is 400 at its field", async ([fields, path]) => {
  await refuses((requestId) => startBody({ prompt: MARKER.slice(1), requestId, ...fields }), invalid(path));
});

test.for(["generation", "constraints", "preferences", "telemetry", "metadata", "clocks"])(
  "R-START-5 a list where %s is an object is 400",
  async (field) => {
    await refuses((requestId) => startBody({ requestId, [field]: [] }), invalid(`/${field}`));
  },
);

test("R-START-5 a list where a tool's parameters or input is an object is 400", async () => {
  await refuses(
    (requestId) => startBody({ requestId, tools: [{ name: "a", parameters: [] }] }),
    invalid("/tools/0/parameters"),
  );
  const messages = [{ role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "a", input: [] }] }];
  await refuses((requestId) => startBody({ requestId, messages }), invalid("/messages/0/toolCalls/0/input"));
});

test("R-START-5 contradicting constraints have their keyword", async () => {
  const constraints = { privacy: "local_required", cloud: "required" };
  await refuses((requestId) => startBody({ requestId, constraints }), {
    ...invalid("/constraints"),
    keyword: "routingConstraintConflict",
  });
});

test("R-START-5 JSON nested deeper than 64 levels is 400, however deep", async () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  for (const depth of [64, 1000, 500_000]) {
    const body = (requestId: string) =>
      JSON.stringify(startBody({ requestId, metadata: { a: "HERE" } })).replace('"HERE"', nested(depth));
    await refuses(body, { status: 400, code: "invalid_request", keyword: "maxDepth" });
  }
  await refuses(() => '{"a":'.repeat(150_000), { status: 400, code: "invalid_request" });
});

test.for([
  ["/apiKey", { apiKey: MARKER }],
  ["/generation/API-key", { generation: { "API-key": MARKER } }],
  ["/metadata/a/0/client_secret", { metadata: { a: [{ client_secret: MARKER }] } }],
  ["/metadata/Authorization", { metadata: { Authorization: `Bearer ${MARKER}` } }],
  ["/metadata/nextToken", { metadata: { nextToken: MARKER } }],
  ["/metadata/pass~1word", { metadata: { "pass/word": MARKER } }],
  ["/tools/0/password", { tools: [{ name: "a", parameters: {}, password: MARKER }] }],
  ["/messages/0/token", { messages: [{ role: "user", content: "x", token: MARKER }] }],
] satisfies [string, Record<string, unknown>][])(
  "R-START-6 R-ERR-2 a key that looks like a secret is refused: %s",
  async ([path, fields]) => {
    await refuses((requestId) => startBody({ requestId, ...fields }), {
      ...invalid(path),
      keyword: "forbiddenSecretKey",
    });
  },
);

test("R-START-5 __proto__ and its like are names like any other, and change nothing", async () => {
  const body = (requestId: string) =>
    `{"__proto__":{"prompt":"${MARKER}"},"constructor":{"prototype":{"x":1}},"schemaVersion":"1.0","task":{"kind":"text_to_text"},"requestId":"${requestId}"}`;
  await refuses(body, invalid(""));
  await refuses((requestId) => body(requestId).replace("prompt", "apiKey"), {
    ...invalid("/__proto__/apiKey"),
    keyword: "forbiddenSecretKey",
  });
});

test("R-START-7 R-ERR-2 a body over the limit is 413, with a length and without", async () => {
  const body = JSON.stringify(startBody({ requestId: newName(), prompt: MARKER.repeat(MIB / MARKER.length) }));
  expect(body.length).toBeGreaterThan(MIB);
  const pieces = Array.from({ length: 40 }, (_, index) =>
    body.slice((index * body.length) / 40, ((index + 1) * body.length) / 40),
  );
  const large = Array.from({ length: 60 }, () => Buffer.alloc(100_000, 0x20));
  for (const sent of [body, pieces, large]) {
    for (const [path, headers] of [
      ["/v1/runs", {}],
      ["/v1/runs", { accept: "text/event-stream" }],
      ["/v1/tickets", {}],
      [`/v1/runs/${kept}/cancel`, {}],
    ] satisfies [string, Record<string, string>][]) {
      const answered = await exchange(house.server.port, path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: sent,
      });
      const problem = await problemOf(answered, 413, "too_large");
      expect(JSON.stringify(problem)).not.toContain(MARKER);
      expect(keywords(problem)).toEqual(["maxBytes"]);
    }
  }
  expect(house.provider.calls()).toHaveLength(0);
});

test("R-START-7 a client that sends all of a body that is too large always sees the answer", async () => {
  const body = `"${"x".repeat(12 * MIB)}"`;
  const answers = Array.from({ length: 6 }, () => post(runs, body));
  for (const answer of await Promise.all(answers)) await problemOf(answer, 413, "too_large");
});

test("R-START-7 a body of exactly the limit is read", async () => {
  for (const [size, status, code] of [
    [MIB, 400, "invalid_request"],
    [MIB + 1, 413, "too_large"],
  ] satisfies [number, number, string][]) {
    await problemOf(await post(runs, "[]".padEnd(size)), status, code);
    const pieces = ["[]".padEnd(size - 10), " ".repeat(10)];
    const chunked = await exchange(house.server.port, "/v1/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: pieces,
    });
    await problemOf(chunked, status, code);
  }
});

test("R-START-7 R-ERR-2 a prompt over maxPromptBytes is 413, counted in bytes", async () => {
  const tooLarge = (path: string): Refused => ({ status: 413, code: "too_large", fields: [path], keyword: "maxBytes" });
  const long = MARKER.repeat(MAX_PROMPT / MARKER.length + 1);
  await refuses((requestId) => startBody({ requestId, prompt: long }), tooLarge("/prompt"));
  await refuses((requestId) => startBody({ requestId, prompt: "é".repeat(MAX_PROMPT / 2 + 1) }), tooLarge("/prompt"));
  await refuses(
    (requestId) => startBody({ requestId, messages: [{ role: "user", content: long }] }),
    tooLarge("/messages"),
  );
  await accepted(startBody({ prompt: "é".repeat(MAX_PROMPT / 2) }));
});

test("R-START-7 a body that is not application/json is 415: no foreign page can start a run", async () => {
  const body = JSON.stringify(startBody({ prompt: MARKER }));
  for (const type of [
    "text/plain",
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "text/json",
    "",
  ]) {
    for (const path of ["/v1/runs", "/v1/tickets", `/v1/runs/${kept}/cancel`]) {
      const answered = await exchange(house.server.port, path, {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
      expect(faultyFields(await problemOf(answered, 415, "unsupported_media_type"))).toEqual(["header:Content-Type"]);
    }
  }
  const untyped = await exchange(house.server.port, "/v1/runs", { method: "POST", body });
  await problemOf(untyped, 415, "unsupported_media_type");
  const twice = await exchange(house.server.port, "/v1/runs", {
    method: "POST",
    headers: Object.fromEntries([["content-type", ["application/json", "text/plain"]]]),
    body,
  });
  await problemOf(twice, 415, "unsupported_media_type");
  // As large as may be, in pieces: whoever is still sending gets the answer too.
  const pieces = Array.from({ length: 12 }, () => "x".repeat(MIB));
  for (const body of [[pieces[0] ?? ""], pieces]) {
    const large = await exchange(house.server.port, "/v1/runs", {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body,
    });
    await problemOf(large, 415, "unsupported_media_type");
  }
  expect(house.provider.calls()).toHaveLength(0);
  for (const type of ["application/json", "APPLICATION/JSON; charset=utf-8"]) {
    await accepted(startBody(), { "content-type": type });
  }
});

test("R-START-7 the largest body that is allowed can be started, stored and read back", async () => {
  const metadata = { filler: "m".repeat(MIB - 1000) };
  const requestId = newName();
  const response = await post(`${runs}?wait=20`, startBody({ requestId, metadata }));
  expect([response.status, (await response.text()).slice(0, 200)]).toEqual([
    200,
    expect.stringContaining('"outcome":"completed"'),
  ]);
  const state: unknown = await (await fetch(`${runs}/${requestId}`)).json();
  expect(state).toMatchObject({ status: "completed", metadata: { filler: expect.stringMatching(/^m+$/) } });
});

test("R-ERR-1 a cancel whose body is wrong is 400 and cancels nothing", async () => {
  house.provider.on(MAIN, answer(["one"], { gateBefore: { index: 1, name: "text" } }));
  const requestId = newName();
  await post(runs, startBody({ requestId }));
  for (const body of ["{", "[]", "null", "7", '"x"', `{"reason":7}`, `{"reason":["${MARKER}"]}`]) {
    const problem = await problemOf(await post(`${runs}/${requestId}/cancel`, body), 400, "invalid_request");
    expect(JSON.stringify(problem)).not.toContain(MARKER);
  }
  house.provider.open("text");
  expect(await outcomeOf(house.origin, requestId)).toMatchObject({ outcome: "completed" });
});

test("R-ERR-3 another method is 405 with Allow, and an unknown path is 404", async () => {
  for (const [path, allow] of [
    ["/v1/runs", "POST"],
    [`/v1/runs/${kept}`, "GET, DELETE"],
    [`/v1/runs/${kept}/events`, "GET, POST"],
    [`/v1/runs/${kept}/outcome`, "GET"],
    [`/v1/runs/${kept}/cancel`, "POST"],
    ["/v1/tickets", "POST"],
    ["/v1/routes", "GET"],
    ["/healthz", "GET"],
    ["/openapi.json", "GET"],
    ["/schemas", "GET"],
    ["/schemas/Config.json", "GET"],
  ] satisfies [string, string][]) {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]) {
      if (allow.split(", ").includes(method)) continue;
      const answered = await exchange(house.server.port, path, { method });
      expect([path, method, answered.status]).toEqual([path, method, 405]);
      expect(answered.headers.allow).toBe(allow);
      if (method === "HEAD") expect(answered.text).toBe("");
      else await problemOf(answered, 405, "method_not_allowed");
    }
  }
  for (const path of [
    "/v1",
    "/v2/runs",
    `/v1/runs/${kept}/event`,
    `/v1/runs/${kept}/events/0`,
    "/v1/tickets/x",
    "/schemas/Nope.json",
    "/schemas/__proto__.json",
    "/schemas/constructor",
  ]) {
    for (const method of path.startsWith("/schemas") ? ["GET"] : ["GET", "POST", "DELETE"]) {
      await problemOf(await exchange(house.server.port, path, { method }), 404, "not_found");
    }
  }
});

test("R-ERR-1 hostile run names in paths reach no run, and percent-encoding reaches the right one", async () => {
  for (const name of [
    newName(),
    "nobody",
    "a%2F..%2Fb",
    "%2e%2e",
    "..%2f..%2fhealthz",
    "%00",
    "%ff",
    "%",
    "a%0d%0aset-cookie:x",
    "x".repeat(5000),
    "local%2Fa",
  ]) {
    for (const rest of ["", "/events", "/outcome"]) {
      const answered = await exchange(house.server.port, `/v1/runs/${name}${rest}`);
      expect(answered.headers["set-cookie"]).toBeUndefined();
      await problemOf(answered, 404, "not_found");
    }
  }
  const requestId = `${newName()}:a~b`;
  await post(runs, startBody({ requestId }));
  await outcomeOf(house.origin, requestId);
  for (const spelt of [
    requestId,
    requestId.replace(":", "%3A"),
    requestId.replace(":", "%3a"),
    requestId.replace("~", "%7E"),
  ]) {
    const answered = await exchange(house.server.port, `/v1/runs/${spelt}/events`);
    expect([answered.status, answered.headers["x-run-id"]]).toEqual([200, requestId]);
    expect((await exchange(house.server.port, `/v1/runs/${spelt}`)).status).toBe(200);
  }
});

test("R-ERR-1 a request line and headers that are no HTTP do not hurt the server", async () => {
  for (const bytes of [
    "\u0000\u0001\u0002\r\n\r\n",
    "GET /v1/runs/a HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\u00002\r\n\r\n",
    "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
  ]) {
    const client = await openRawClient(house.server.port);
    try {
      client.send(bytes);
      await client.ended;
      expect(client.text()).not.toMatch(/^HTTP\/1\.1 [23]/);
    } finally {
      client.close();
    }
  }
  expect((await fetch(`${house.origin}/healthz`)).status).toBe(200);
});
