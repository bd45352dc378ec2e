// Tickets: what they open, for how long, and that nothing but the server can make one.
import { createHash } from "node:crypto";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
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

const KEY = "key-of-a-41b6";
const OTHER_KEY = "key-of-b-77aa";
const hash = (key: string): string => createHash("sha256").update(key).digest("hex");
const API_KEYS = JSON.stringify({ [hash(KEY)]: "tenant-a", [hash(OTHER_KEY)]: "tenant-b" });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

let house: House;
let runs: string;
let tickets: string;

beforeAll(async () => {
  house = await openHouse({ vars: { API_KEYS, TICKET_SECRET: "ticket-secret" }, limits: { attachWaitMs: 0 } });
  runs = `${house.origin}/v1/runs`;
  tickets = `${house.origin}/v1/tickets`;
});
afterAll(() => house.stop());
beforeEach(() => {
  house.provider.reset();
  house.provider.on(MAIN, answer(["Hello."]));
});

const ticketSchema = v.strictObject({
  ticket: v.pipe(v.string(), v.regex(/^[\w-]+\.[\w-]+$/)),
  runId: v.string(),
  scope: v.array(v.string()),
  expiresAt: v.number(),
  url: v.string(),
});

async function ticketFor(
  runId: string,
  scope: string[],
  fields: object = {},
  key = KEY,
): Promise<v.InferOutput<typeof ticketSchema>> {
  const response = await post(tickets, { runId, scope, ...fields }, bearer(key));
  const text = await response.text();
  expect(response.status, text).toBe(201);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return v.parse(ticketSchema, JSON.parse(text));
}

/** A finished run of tenant a. */
async function finished(): Promise<string> {
  const { runId } = await handleOf(await post(`${runs}`, startBody(), bearer(KEY)));
  await (await fetch(`${runs}/${runId}/events`, { headers: bearer(KEY) })).text();
  return runId;
}

test("R-TICKET-1 a ticket names its run, scope and end, and its url opens the stream", async () => {
  const runId = await finished();
  const before = Date.now();
  const made = await ticketFor(runId, ["read", "read"]);
  expect(made).toMatchObject({
    runId,
    scope: ["read"],
    url: `${house.origin}/v1/runs/${runId}/events?ticket=${made.ticket}`,
  });
  expect(made.expiresAt).toBeGreaterThanOrEqual(before + 3_600_000);
  expect(made.expiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000);
  const stream = await fetch(made.url, { headers: { accept: "text/event-stream" } });
  expect(stream.status).toBe(200);
  expect(await stream.text()).toContain('"type":"terminal"');
  const long = await ticketFor(runId, ["cancel", "read"], { expiresIn: 86_400 });
  expect(long.expiresAt).toBeGreaterThanOrEqual(before + 86_400_000);
});

test("R-FEED-1 R-AUTH-2 no ticket allows to push, and no other tenant's key", async () => {
  const body = { ...startBody(), source: "push" };
  const { runId } = await handleOf(await post(runs, body, bearer(KEY)));
  const batch = { epoch: 1, sequence: 0, events: [] };
  const both = `ticket=${(await ticketFor(runId, ["read", "cancel"])).ticket}`;
  await problemOf(await post(`${runs}/${runId}/events?${both}`, batch), 401, "unauthorized");
  await problemOf(await post(`${runs}/${runId}/events`, batch, bearer(OTHER_KEY)), 404, "not_found");
  expect((await post(`${runs}/${runId}/events`, batch, bearer(KEY))).status).toBe(200);
});

test("R-TICKET-1 scope read opens events, state and outcome; scope cancel opens cancel; nothing else is opened", async () => {
  const runId = await finished();
  const read = `ticket=${(await ticketFor(runId, ["read"])).ticket}`;
  const cancel = `ticket=${(await ticketFor(runId, ["cancel"])).ticket}`;
  for (const rest of ["", "/events", "/outcome"]) {
    expect((await fetch(`${runs}/${runId}${rest}?${read}`)).status).toBe(200);
    const problem = await problemOf(await fetch(`${runs}/${runId}${rest}?${cancel}`), 403, "forbidden");
    expect(problem.errorClass).toBe("AuthError");
  }
  expect((await post(`${runs}/${runId}/cancel?${cancel}`, {})).status).toBe(200);
  await problemOf(await post(`${runs}/${runId}/cancel?${read}`, {}), 403, "forbidden");
  const both = `ticket=${(await ticketFor(runId, ["read", "cancel"])).ticket}`;
  await problemOf(await fetch(`${runs}/${runId}?${both}`, { method: "DELETE" }), 401, "unauthorized");
  await problemOf(await post(`${runs}?${both}`, startBody()), 401, "unauthorized");
  await problemOf(await post(`${tickets}?${both}`, { runId, scope: ["read"] }), 401, "unauthorized");
  await problemOf(await fetch(`${house.origin}/v1/routes?${both}`), 401, "unauthorized");
});

test("R-TICKET-2 a malformed, truncated or forged ticket is 401", async () => {
  const runId = await finished();
  const { ticket } = await ticketFor(runId, ["read"]);
  const [claim = "", signature = ""] = ticket.split(".");
  const altered = (change: object): string => {
    const parsed: unknown = JSON.parse(Buffer.from(claim, "base64url").toString("utf8"));
    return Buffer.from(JSON.stringify(Object.assign({}, parsed, change))).toString("base64url");
  };
  const flipped = (text: string, at: number) =>
    `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
  const bad = [
    "",
    ".",
    "..",
    "x",
    "null",
    "%00",
    "a.b",
    `${ticket}.`,
    `${ticket}.x`,
    ticket.slice(0, -1),
    ticket.slice(0, -10),
    ticket.slice(1),
    claim,
    `${claim}.`,
    `.${signature}`,
    `${claim}.${flipped(signature, 3)}`,
    `${flipped(claim, 3)}.${signature}`,
    `${altered({ scope: ["read", "cancel"] })}.${signature}`,
    `${altered({ expires: 9e15 })}.${signature}`,
    `${altered({ tenant: "tenant-b" })}.${signature}`,
    `${signature}.${claim}`,
    `${claim}.${claim}`,
    "a".repeat(10_000),
  ];
  for (const tried of bad) {
    for (const rest of ["/events", "", "/outcome"]) {
      const answered = await fetch(`${runs}/${runId}${rest}?ticket=${tried}`, {
        headers: { accept: "text/event-stream" },
      });
      const problem = await problemOf(answered, 401, "unauthorized");
      expect(problem.errorClass).toBe("AuthError");
      if (tried.length > 10) expect(JSON.stringify(problem)).not.toContain(tried);
    }
  }
});

test("R-TICKET-2 a ticket for another run is 404, as if the run were not there", async () => {
  const [runId, other] = [await finished(), await finished()];
  const { ticket } = await ticketFor(other, ["read"]);
  const theirs = await fetch(`${runs}/${runId}/events?ticket=${ticket}`);
  const none = await fetch(`${runs}/${newName()}/events?ticket=${ticket}`);
  const [a, b] = [await problemOf(theirs, 404, "not_found"), await problemOf(none, 404, "not_found")];
  expect(a).toEqual(b);
});

test("R-TICKET-2 another tenant's ticket for the same name opens that tenant's run only", async () => {
  const runId = await finished();
  const { ticket } = await ticketFor(runId, ["read"], {}, OTHER_KEY);
  await problemOf(await fetch(`${runs}/${runId}?ticket=${ticket}`), 404, "not_found");
});

test("R-TICKET-2 R-TICKET-3 a ticket is used until it expires, then it is 401; a stream that is open stays", async () => {
  house.provider.on(MAIN, answer(["one", "two"], { gateBefore: { index: 2, name: "rest" } }));
  const { runId } = await handleOf(await post(runs, startBody(), bearer(KEY)));
  const { url, expiresAt } = await ticketFor(runId, ["read"], { expiresIn: 3 });
  const [path = ""] = url.split(house.origin).slice(1);
  const reader = fetch(url);
  const again = await exchange(house.server.port, path, { cutWhen: (text) => text.includes('"one"') });
  expect(again.status).toBe(200);
  const stream = await reader;
  expect(stream.status).toBe(200);
  await until(async () => (await fetch(`${runs}/${runId}?${path.split("?")[1]}`)).status === 401, "the ticket's end");
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
  await problemOf(await fetch(url), 401, "unauthorized");
  house.provider.open("rest");
  expect(await stream.text()).toContain('"finalText":"onetwo"');
});

test("R-TICKET-1 a ticket request that breaks a rule is 400 naming the field", async () => {
  for (const [body, path] of [
    [{ runId: "a b", scope: ["read"] }, "/runId"],
    [{ runId: 7, scope: ["read"] }, "/runId"],
    [{ scope: ["read"] }, "/runId"],
    [{ runId: "a" }, "/scope"],
    [{ runId: "a", scope: "read" }, "/scope"],
    [{ runId: "a", scope: [] }, "/scope"],
    [{ runId: "a", scope: ["read", "write"] }, "/scope/1"],
    [{ runId: "a", scope: ["read"], expiresIn: 0 }, "/expiresIn"],
    [{ runId: "a", scope: ["read"], expiresIn: 86_401 }, "/expiresIn"],
    [{ runId: "a", scope: ["read"], expiresIn: 1.5 }, "/expiresIn"],
    [{ runId: "a", scope: ["read"], expiresIn: "60" }, "/expiresIn"],
    [{ runId: "a", scope: ["read"], expires: 60 }, "/expires"],
  ] satisfies [object, string][]) {
    expect(faultyFields(await problemOf(await post(tickets, body, bearer(KEY)), 400, "invalid_request"))).toEqual([
      path,
    ]);
  }
  for (const body of ["", "[]", "null", "{"]) {
    await problemOf(await post(tickets, body, bearer(KEY)), 400, "invalid_request");
  }
});

test("R-TICKET-3 with API_KEYS and without TICKET_SECRET tickets are 503 naming the secret", async () => {
  const server = await startBare({ vars: { API_KEYS } });
  try {
    const problem = await problemOf(
      await post(`${server.origin}/v1/tickets`, { runId: "a", scope: ["read"] }, bearer(KEY)),
      503,
      "unavailable",
    );
    expect(problem.message).toContain("TICKET_SECRET");
    expect(problem.errorClass).toBe("Unavailable");
    const { ticket } = await ticketFor("a", ["read"]);
    const used = await problemOf(await fetch(`${server.origin}/v1/runs/a?ticket=${ticket}`), 503, "unavailable");
    expect(used.message).toContain("TICKET_SECRET");
  } finally {
    await server.stop();
  }
});

test("R-TICKET-3 in open mode a random key is kept, over a restart too", async () => {
  const open = await openHouse({ limits: { attachWaitMs: 0 } });
  try {
    open.provider.on(MAIN, answer(["Hello."]));
    const { runId } = await handleOf(await post(`${open.origin}/v1/runs`, startBody()));
    await outcomeOf(open.origin, runId);
    const made = await post(`${open.origin}/v1/tickets`, { runId, scope: ["read"] });
    const { url } = v.parse(ticketSchema, await made.json());
    expect((await fetch(url)).status).toBe(200);
    await problemOf(await fetch(`${url.slice(0, -4)}AAAA`), 401, "unauthorized");
    const { ticket: foreign } = await ticketFor(runId, ["read"]);
    await problemOf(await fetch(`${open.origin}/v1/runs/${runId}?ticket=${foreign}`), 401, "unauthorized");
    await open.server.kill();
    await open.server.start();
    expect((await fetch(url)).status).toBe(200);
  } finally {
    await open.stop();
  }
});
