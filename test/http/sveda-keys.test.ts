// Who may do what at a server with keys: hosts by their tenant's key, visitors by tokens of that tenant, and nobody by anything else.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { post } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { keyOf, tokenOf } from "../support/sveda-token.ts";
import { mint, withToken } from "../support/sveda.ts";

const KEY = "key-of-a-41b6";
const OTHER_KEY = "key-of-b-77aa";
const hash = (key: string): string => createHash("sha256").update(key).digest("hex");
const API_KEYS = JSON.stringify({ [hash(KEY)]: "tenant-a", [hash(OTHER_KEY)]: "tenant-b" });
const SECRET = "a-long-secret";
const target = { id: "demo", adapter: "demo" };

let server: Holdfast;
let base: string;
let seconds: number;

beforeAll(async () => {
  const config = {
    targets: [target],
    routes: { default: ["demo"] },
    sveda: { policies: { support: {} }, origins: ["https://app.example"], limits: { token: "4,60" } },
  };
  server = await startBare({ config, vars: { API_KEYS, TICKET_SECRET: SECRET } });
  base = `${server.origin}/sveda`;
  seconds = Math.floor(Date.now() / 1000);
});
afterAll(() => server.stop());

/** What the widget's configuration answers to a token: it needs one, and no stored chat. */
const statusOf = async (token: string): Promise<number> =>
  (await fetch(`${base}/embed/config`, { headers: withToken(token) })).status;

const forge = (claims: Record<string, unknown>, key = keyOf(SECRET, "tenant-a")): string =>
  tokenOf(key, JSON.stringify({ tenant: "tenant-a", visitor_id: "ann", expires_at: seconds + 600, ...claims }));

test("R-SVH-3 a token is what its description says: anybody who has the tenant's key can make one", async () => {
  expect(await statusOf(forge({}))).toBe(200);
  expect(await statusOf(forge({ extra: { a: 1 }, admin: false, policy: null, grants: null }))).toBe(200);
  expect(await statusOf(forge({ expires_at: seconds + 600.5, visitor_id: `  ${"x".repeat(64)}  ` }))).toBe(200);
  expect(await statusOf(forge({ visitor_id: "sveda-admin", admin: true }))).toBe(200);
  expect(await statusOf(forge({ admin: true, grants: {} }))).toBe(200);
  expect(await statusOf(forge({ visitor_id: "sveda-admin", admin: "true", grants: {} }))).toBe(200);
  expect(await statusOf(forge({ policy: " support " }))).toBe(200);
});

test.each<[string, Record<string, unknown>]>([
  ["expired", { expires_at: 1 }],
  ["without an end", { expires_at: undefined }],
  ["with an end that is no number", { expires_at: "9999999999" }],
  ["without a visitor", { visitor_id: undefined }],
  ["with an empty visitor", { visitor_id: "  " }],
  ["with a visitor of 65 characters", { visitor_id: "x".repeat(65) }],
  ["with a visitor that is no text", { visitor_id: 5 }],
  ["without a tenant", { tenant: undefined }],
  ["of another tenant", { tenant: "tenant-b" }],
  ["of a tenant that has no key", { tenant: "tenant-c" }],
  ["with a policy that is no text", { policy: 5 }],
  ["with grants that are none", { grants: "all" }],
  ["with grants that are misspelt", { grants: { mcp: { allowed: ["*"] } } }],
  ["of the administrator with grants", { visitor_id: "sveda-admin", admin: true, grants: {} }],
  ["of the administrator with a policy", { visitor_id: "sveda-admin", admin: true, policy: "support" }],
])("R-SVH-3 a token %s is 401 with an empty body", async (_what, claims) => {
  const response = await fetch(`${base}/embed/config`, { headers: withToken(forge(claims)) });
  expect([response.status, await response.text()]).toEqual([401, ""]);
});

test("R-SVH-3 a token with a key of its own tenant that the server does not know is 401", async () => {
  expect(await statusOf(forge({ tenant: "tenant-c" }, keyOf(SECRET, "tenant-c")))).toBe(401);
  expect(await statusOf(forge({ tenant: "local" }, keyOf(SECRET, "local")))).toBe(401);
  expect(await statusOf(forge({}, keyOf("another-secret", "tenant-a")))).toBe(401);
  expect(await statusOf(forge({}, Buffer.from(SECRET)))).toBe(401);
});

test("R-SVH-3 any change to a token makes it invalid", async () => {
  const token = forge({});
  const dot = token.lastIndexOf(".");
  const [body, signature] = [token.slice(0, dot), token.slice(dot + 1)];
  for (const forged of [
    body,
    `${body}.`,
    `.${signature}`,
    `${body}.${signature}0`,
    `${body}.${signature.slice(1)}`,
    `${body}.${signature.toUpperCase()}`,
    `${body}.x.${signature}`,
    `${body}x.${signature}`,
    `${body}=.${signature}`,
    `${body}.${signature.slice(32)}${signature.slice(0, 32)}`,
    token.replace("sveda_embed_", "sveda_embed-"),
    tokenOf(keyOf(SECRET, "tenant-a"), "[]"),
    tokenOf(keyOf(SECRET, "tenant-a"), "{"),
    tokenOf(keyOf(SECRET, "tenant-a"), ""),
  ]) {
    expect([forged, await statusOf(forged)]).toEqual([forged, 401]);
  }
});

test("R-SVH-4 a host shows its tenant's key: in its own header, which wins, or as a bearer that is no token", async () => {
  const ask = async (headers: Record<string, string>) => {
    const response = await fetch(`${base}/content-reports`, { headers });
    return [response.status, await response.text()];
  };
  const ok = [200, '{"reports":[]}'];
  const refused = [401, ""];
  expect(await ask({ "x-sveda-host-key": KEY })).toEqual(ok);
  expect(await ask({ authorization: `Bearer ${KEY}` })).toEqual(ok);
  expect(await ask({ "x-sveda-host-key": KEY, authorization: "Bearer nonsense" })).toEqual(ok);
  expect(await ask({ "x-sveda-host-key": "nonsense", authorization: `Bearer ${KEY}` })).toEqual(refused);
  expect(await ask({ authorization: `Bearer ${forge({})}` })).toEqual(refused);
  expect(await ask({ "x-sveda-embed-token": forge({}) })).toEqual(refused);
  expect(await ask({ authorization: KEY })).toEqual(refused);
  expect(await ask({})).toEqual(refused);
  expect(await ask({ "x-sveda-host-key": hash(KEY) })).toEqual(refused);
});

test("R-SVH-4 a tenant's reports are its own", async () => {
  const { token } = await mint(server.origin, { visitor_id: "bob" }, OTHER_KEY);
  expect((await post(`${base}/content-reports`, { reason: "rude" }, withToken(token))).status).toBe(201);
  const reports = async (key: string) =>
    (await fetch(`${base}/content-reports`, { headers: { "x-sveda-host-key": key } })).text();
  expect(await reports(KEY)).toBe('{"reports":[]}');
  expect(await reports(OTHER_KEY)).toContain('"visitor":"bob"');
});

test("R-SVH-6 a tenant makes so many tokens per window and no more, also after a restart; wrong keys use none up", async () => {
  const ask = (key: string, body: unknown = {}) => post(`${base}/embed/token`, body, { "x-sveda-host-key": key });
  for (let attempt = 0; attempt < 6; attempt++) expect((await ask("wrong")).status).toBe(401);
  for (const body of [{}, { policy: "nobody" }, {}]) await ask(KEY, body);
  expect((await ask(KEY)).status).toBe(200);
  await server.kill();
  await server.start();
  const refused = await ask(KEY, { policy: "nobody" });
  expect([refused.status, await refused.json()]).toEqual([429, { message: "Too Many Attempts." }]);
  const retryAfter = Number(refused.headers.get("retry-after"));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(3600);
  expect((await ask(OTHER_KEY)).status).toBe(200);
});

test("R-SVH-12 with listed origins only those may call; the others get no CORS headers", async () => {
  const ask = (origin: string, method = "GET") => fetch(`${base}/health`, { method, headers: { origin } });
  const listed = await ask("https://app.example");
  expect(listed.headers.get("access-control-allow-origin")).toBe("https://app.example");
  for (const origin of ["https://evil.example", "https://app.example:8443", "null"]) {
    for (const method of ["GET", "OPTIONS"]) {
      const other = await ask(origin, method);
      expect(other.status).toBe(200);
      expect(other.headers.get("access-control-allow-origin")).toBeNull();
      expect(other.headers.get("access-control-allow-methods")).toBeNull();
      expect(other.headers.get("vary")).toContain("Origin");
    }
  }
});

test("R-SVH-7 R-SVH-10 embed: false takes tokens and the widget's configuration away; without a secret nothing is ready", async () => {
  const closed = await startBare({
    config: { targets: [target], routes: { default: ["demo"] }, sveda: { embed: false } },
    vars: { API_KEYS },
  });
  try {
    const url = `${closed.origin}/sveda`;
    for (const response of [
      await post(`${url}/embed/token`, {}, { "x-sveda-host-key": KEY }),
      await post(`${url}/embed/token`, "{"),
      await fetch(`${url}/embed/config`),
      await fetch(`${url}/embed/token`),
      await fetch(`${url}/embed/config/`, { method: "DELETE" }),
    ]) {
      expect([response.status, await response.text()]).toEqual([404, ""]);
    }
    const ready = await fetch(`${url}/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      ok: false,
      runtime: "holdfast",
      error: expect.stringContaining("TICKET_SECRET"),
    });
    expect((await fetch(`${url}/health`)).status).toBe(200);
  } finally {
    await closed.stop();
  }
});

test("R-SVH-1 R-SVH-10 R-SVH-12 a wrong configuration is told in the family's own shape, to any page", async () => {
  const broken = await startBare({ config: { targets: [], routes: {} } });
  try {
    const headers = { origin: "https://shop.example" };
    const answered = await fetch(`${broken.origin}/sveda/chat-histories`, { headers });
    expect(answered.status).toBe(500);
    expect(answered.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    expect(await answered.json()).toEqual({ message: expect.stringContaining("/targets") });
    const ready = await fetch(`${broken.origin}/sveda/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { ok: false, error: expect.stringContaining("/targets") },
    ]);
    expect((await fetch(`${broken.origin}/sveda/health`)).status).toBe(200);
  } finally {
    await broken.stop();
  }
});
