// What the Sveda family answers before and beside turns: paths, bodies, tokens, configuration, health, reports, CORS.
import { afterAll, beforeAll, expect, test } from "vitest";
import { post } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { mint, withToken } from "../support/sveda.ts";
import { exchange } from "./house.ts";

const targets = [
  { id: "demo", adapter: "demo" },
  { id: "Claude", adapter: "anthropic-messages", baseUrl: "http://127.0.0.1:9", model: "claude-test" },
  { id: "Twin", adapter: "anthropic-messages", baseUrl: "http://127.0.0.1:9", model: "claude-test" },
  { id: "Lone", adapter: "openai-chat", baseUrl: "http://127.0.0.1:9", model: "lone-test" },
];
const policies = {
  support: {
    web: true,
    code: true,
    mcp: { allow: ["crm_*"], domains: ["crm", "mail"], max_mode: "write" },
    client: { allow: ["*"] },
  },
  bare: {},
};
const appearance = { preset: "soft", radius: 8, tokens: { primary: "10 20% 30%" } };

let server: Holdfast;
let base: string;
let token: string;

beforeAll(async () => {
  server = await startBare({
    config: {
      targets,
      routes: { default: ["demo"], thinker: ["Claude", "demo"] },
      sveda: { policies, appearance, welcomeMessage: "Hello!", tokenTtl: 30, limits: { token: "1000,1" } },
    },
  });
  base = `${server.origin}/sveda`;
  ({ token } = await mint(server.origin, { visitor_id: "visitor" }));
});
afterAll(() => server.stop());

async function said(response: Response): Promise<[number, unknown]> {
  const text = await response.text();
  const json = response.headers.get("content-type")?.startsWith("application/json") === true;
  return [response.status, json ? JSON.parse(text) : text];
}

const mintWith = (body: unknown) => post(`${base}/embed/token`, body);

test("R-SVH-1 a path that is not there is not_found, whatever the method, and a method that is not is 405", async () => {
  for (const path of ["", "/", "/nowhere", "/embed", "/chat-histories/a/b", "/runs"]) {
    for (const method of ["GET", "POST", "PUT"]) {
      const { status, text } = await exchange(server.port, `/sveda${path}`, { method });
      expect([status, text]).toEqual([404, '{"ok":false,"error":"not_found"}']);
    }
  }
  for (const [method, path, allow] of [
    ["PUT", "/chat-histories/a", "GET, HEAD, PATCH, DELETE"],
    ["GET", "/stream", "POST"],
    ["HEAD", "/stream", "POST"],
    ["POST", "/health", "GET, HEAD"],
    ["DELETE", "/ready", "GET, HEAD"],
    ["DELETE", "/ready/", "GET, HEAD"],
    ["GET", "/embed/token", "POST"],
  ] as const) {
    const wrong = await exchange(server.port, `/sveda${path}`, { method });
    expect([path, wrong.status, wrong.text, wrong.headers["allow"]]).toEqual([path, 405, "", allow]);
  }
});

test("R-SVH-1 a slash at the end changes nothing, and HEAD is GET without its body", async () => {
  for (const [path, status] of [
    ["/health", 200],
    ["/ready", 200],
    ["/chat-histories", 200],
    ["/chat-histories/nobody", 404],
    ["/embed/config", 200],
    ["/runs/nobody", 404],
  ] as const) {
    const headers = withToken(token);
    const plain = await exchange(server.port, `/sveda${path}`, { headers });
    const slash = await exchange(server.port, `/sveda${path}/`, { headers });
    const head = await exchange(server.port, `/sveda${path}/`, { method: "HEAD", headers });
    expect([path, plain.status]).toEqual([path, status]);
    expect([path, slash.status, slash.text]).toEqual([path, status, plain.text]);
    expect([path, head.status, head.text]).toEqual([path, status, ""]);
    expect(head.headers["content-type"]).toBe(plain.headers["content-type"]);
  }
  const unasked = await exchange(server.port, "/sveda/chat-histories", { method: "HEAD" });
  expect(unasked.status).toBe(401);
});

test.each([
  ["POST", "/stream"],
  ["POST", "/message"],
  ["PATCH", "/chat-histories/a"],
  ["POST", "/content-reports"],
  ["POST", "/embed/token"],
])("R-SVH-2 %s %s: what is wrong with a body is plain text and comes before the token", async (method, path) => {
  const send = (body: string, type?: string) =>
    exchange(server.port, `/sveda${path}`, {
      method,
      body,
      headers: type === undefined ? {} : { "content-type": type },
    });
  const json = "application/json";
  const field = {
    "/stream": '{"prompt":5}',
    "/message": '{"messages":[{"role":"robot"}]}',
    "/content-reports": '{"reason":5}',
  };
  for (const [answered, status] of [
    [await send("{}"), 415],
    [await send("{}", "text/plain"), 415],
    [await send("{", json), 400],
    [await send("[]", json), 422],
    [await send('"x"', json), 422],
    [await send(`${'{"a":'.repeat(70)}1${"}".repeat(70)}`, json), 422],
    [await send(JSON.stringify({ a: "x".repeat(1_048_576) }), json), 413],
    [await send(Object.entries(field).find(([name]) => name === path)?.[1] ?? '{"title":5,"policy":5}', json), 422],
  ] as const) {
    expect(answered.status, answered.text).toBe(status);
    expect(answered.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(answered.text).not.toBe("");
    expect(answered.text).not.toContain("schemaVersion");
  }
});

test("R-SVH-2 a body of the right shape is not looked at further without a token", async () => {
  for (const [method, path, body] of [
    ["POST", "/stream", '{"prompt":"hi"}'],
    ["POST", "/message", '{"prompt":"hi","model":"nobody"}'],
    ["PATCH", "/chat-histories/a", '{"title":""}'],
    ["POST", "/content-reports", "{}"],
    ["POST", "/runs/a/cancel", ""],
    ["GET", "/chat-histories", ""],
    ["GET", "/chat-histories/a", ""],
    ["DELETE", "/chat-histories/a", ""],
    ["GET", "/runs/a", ""],
    ["GET", "/embed/config", ""],
    ["POST", "/documents/extract", "x"],
  ] as const) {
    const headers = { "content-type": "application/json" };
    const answered = await exchange(server.port, `/sveda${path}`, { method, body, headers });
    expect([path, answered.status, answered.text]).toEqual([path, 401, ""]);
    expect(answered.headers["www-authenticate"]).toBeUndefined();
  }
});

test("R-SVH-3 a token comes in its own header, which wins, or as a bearer", async () => {
  const ask = async (headers: Record<string, string>) => (await fetch(`${base}/chat-histories`, { headers })).status;
  expect(await ask(withToken(token))).toBe(200);
  expect(await ask({ authorization: `Bearer ${token}` })).toBe(200);
  expect(await ask({ authorization: `bearer ${token}` })).toBe(200);
  expect(await ask({ ...withToken("sveda_embed_x.y"), authorization: `Bearer ${token}` })).toBe(401);
  expect(await ask({ ...withToken(token), authorization: "Bearer something-else" })).toBe(200);
  expect(await ask({ authorization: `Bearer ${token.slice("sveda_embed_".length)}` })).toBe(401);
  expect(await ask({ authorization: token })).toBe(401);
  expect(await ask(withToken(""))).toBe(401);
});

test("R-SVH-5 a token is made for the visitor that is named, or for a new one, and lives at least a minute", async () => {
  const [status, named] = await said(await mintWith({ visitor_id: "  ann  ", unknown: 1, policy: null, grants: null }));
  expect([status, named]).toEqual([
    200,
    {
      token: expect.stringMatching(/^sveda_embed_[\w-]+\.[0-9a-f]{64}$/),
      visitor_id: "ann",
      expires_in: 60,
      appearance,
    },
  ]);
  for (const body of [{}, { visitor_id: "" }, { visitor_id: "   " }, { visitor_id: null }]) {
    const [, made] = await said(await mintWith(body));
    expect(made).toMatchObject({ visitor_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/) });
  }
  expect((await fetch(`${base}/embed/token`, { method: "POST" })).status).toBe(200);
});

test.each([
  [{ host_mcp_token: "t", policy: "?" }, "host_mcp_token requires host_mcp_url"],
  [{ host_mcp_url: "ftp://example.com/x", visitor_id: "sveda-admin" }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: "example.com" }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: "https://example.com/a b" }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: " https://example.com/" }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: `https://example.com/${"x".repeat(2048)}` }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: "http://example.com/" }, "host_mcp_url must be a valid URL"],
  [{ host_mcp_url: "https://10.0.0.1/" }, "host_mcp_url must be a valid URL"],
  [{ visitor_id: " Sveda-ADMIN ", policy: "?" }, "visitor_id is reserved"],
  [{ visitor_id: "x".repeat(65), policy: "?" }, "visitor_id is too long"],
  [{ visitor_id: "é".repeat(33) }, "visitor_id is too long"],
  [{ policy: "" }, "policy name is invalid"],
  [{ policy: "a b" }, "policy name is invalid"],
  [{ policy: "x".repeat(65), grants: 5 }, "policy name is invalid"],
  [{ policy: "nobody", grants: 5 }, "unknown policy"],
  [{ policy: "constructor" }, "unknown policy"],
  [{ grants: 5 }, "grants are invalid"],
  [{ grants: [] }, "grants are invalid"],
  [{ grants: { mcp: { allow: "*" } } }, "grants are invalid"],
  [{ grants: { mcp: [] } }, "grants are invalid"],
  [{ grants: { mcp: { allow: [5] } } }, "grants are invalid"],
  [{ grants: { mcp: { max_mode: 1 } } }, "grants are invalid"],
  [{ grants: { client: { allow: [null] } } }, "grants are invalid"],
  [{ grants: { tools: {} } }, "grants are invalid"],
  [{ policy: "support", grants: { web: "yes" } }, "grants are invalid"],
])("R-SVH-5 refuses %j", async (body, message) => {
  expect(await said(await mintWith(body))).toEqual([422, { message }]);
});

test("R-SVH-5 takes names up to their limits, and policies with surrounding space", async () => {
  for (const body of [
    { visitor_id: "é".repeat(32) },
    { visitor_id: "x".repeat(64) },
    { policy: " support " },
    { grants: {} },
    { grants: { web: null, mcp: { allow: ["", "a*b", "**"], domains: [""], max_mode: "admin" }, client: null } },
    { policy: "bare", grants: { web: true, mcp: { allow: ["a*", "*b", "c"], domains: [], max_mode: "delete" } } },
    { host_mcp_url: "http://localhost:9/mcp", host_mcp_token: "t" },
    { host_mcp_url: "https://example.com/mcp" },
  ]) {
    expect((await mintWith(body)).status, JSON.stringify(body)).toBe(200);
  }
});

test("R-SVH-8 the widget's configuration: models of routes and targets, appearance, capabilities", async () => {
  const response = await fetch(`${base}/embed/config`, { headers: withToken(token) });
  const model = (id: string, label: string, protocol: string) => ({
    id,
    label,
    protocol,
    supports_thinking: false,
    supportsThinking: false,
  });
  expect(await said(response)).toEqual([
    200,
    {
      default_model: "default",
      model: "default",
      models: [
        model("default", "default", "responses"),
        model("thinker", "thinker", "anthropic"),
        model("demo", "demo", "responses"),
        model("Claude", "claude-test (Claude)", "anthropic"),
        model("Twin", "claude-test (Twin)", "anthropic"),
        model("Lone", "lone-test", "responses"),
      ],
      welcome_message: "Hello!",
      appearance,
      capabilities: { restricted: false },
    },
  ]);
});

test("R-SVH-8 R-SVH-9 the configuration says what policy and grants allow together", async () => {
  const grants = { web: false, mcp: { allow: ["crm_read*", "mail_*"], max_mode: "read" } };
  const { token: restricted } = await mint(server.origin, { policy: "support", grants });
  const response = await fetch(`${base}/embed/config`, { headers: withToken(restricted) });
  expect(await said(response)).toMatchObject([
    200,
    {
      capabilities: {
        restricted: true,
        web: false,
        code: true,
        mcp: { allow: ["crm_read*"], domains: ["crm", "mail"], max_mode: "read" },
        client: { allow: ["*"] },
      },
    },
  ]);
});

test("R-SVH-9 grants may hold patterns that match nothing or a name alone, and a mode that is not known reads only", async () => {
  const grants = { mcp: { allow: ["", "a*b", "c*"], max_mode: "admin" }, client: { allow: [""] } };
  const { token: odd } = await mint(server.origin, { grants });
  const response = await fetch(`${base}/embed/config`, { headers: withToken(odd) });
  expect(await said(response)).toMatchObject([
    200,
    {
      capabilities: {
        mcp: { allow: ["a*b", "c*"], domains: [], max_mode: "read" },
        client: { allow: [] },
      },
    },
  ]);
});

test("R-SVH-10 health and readiness are told to anybody", async () => {
  const state = { ok: true, runtime: "holdfast", version: expect.stringMatching(/^v\d+\.\d+\.\d+$/) };
  expect(await said(await fetch(`${base}/health`))).toEqual([200, state]);
  expect(await said(await fetch(`${base}/ready`))).toEqual([200, state]);
});

test("R-SVH-11 a report needs a reason of at most 80 characters; what is quoted is cut", async () => {
  const report = (body: unknown, headers = withToken(token)) => post(`${base}/content-reports`, body, headers);
  const refusal = [400, { message: "A report reason is required." }];
  for (const body of [{}, { reason: "  " }, { reason: "x".repeat(81) }, { reason: null }, { excerpt: "x" }]) {
    expect(await said(await report(body))).toEqual(refusal);
  }
  expect(await said(await report({ reason: ` ${"é".repeat(80)} `, excerpt: ` ${"🎉".repeat(4001)}` }))).toEqual([
    201,
    { ok: true },
  ]);
  expect(await said(await report({ reason: "rude" }))).toEqual([201, { ok: true }]);
  const listed = await said(await fetch(`${base}/content-reports`));
  const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(listed).toEqual([
    200,
    {
      reports: [
        { visitor: "visitor", reason: "rude", excerpt: "", createdAt },
        { visitor: "visitor", reason: "é".repeat(80), excerpt: "🎉".repeat(4000), createdAt },
      ],
    },
  ]);
});

const EXPOSED = "Location, Content-Location, X-Run-Id, Retry-After, X-Sveda-Protocol-Version";

test("R-SVH-12 any page may call by default, without credentials: preflights are 200, answers of all kinds may be read", async () => {
  const origin = "https://shop.example";
  for (const path of ["/sveda/stream", "/sveda/nowhere", "/sveda/embed/token"]) {
    const answered = await exchange(server.port, path, { method: "OPTIONS", headers: { origin } });
    expect([answered.status, answered.text]).toEqual([200, ""]);
    expect(answered.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
      "access-control-allow-headers":
        "Accept, Authorization, Content-Type, X-Requested-With, X-Sveda-Embed-Token, X-Sveda-Host-Key, X-Sveda-Admin-Key, X-Sveda-Protocol, Last-Event-ID, Idempotency-Key",
      vary: "Origin",
    });
    expect(answered.headers["access-control-allow-credentials"]).toBeUndefined();
  }
  for (const [path, status] of [
    ["/sveda/health", 200],
    ["/sveda/chat-histories", 401],
    ["/sveda/nowhere", 404],
  ] as const) {
    const answered = await exchange(server.port, path, { headers: { origin } });
    expect(answered.status).toBe(status);
    expect(answered.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": EXPOSED,
    });
    expect((await exchange(server.port, path)).headers["access-control-allow-origin"]).toBeUndefined();
  }
});

test("R-SVH-4 an open server answers on localhost only, and needs no host key", async () => {
  const headers = { host: "chat.example", "content-type": "application/json", ...withToken(token) };
  for (const [method, path] of [
    ["POST", "/sveda/embed/token"],
    ["GET", "/sveda/chat-histories"],
    ["GET", "/sveda/content-reports"],
  ] as const) {
    const answered = await exchange(server.port, path, { method, headers });
    expect(answered.status).toBe(403);
    expect(JSON.parse(answered.text)).toEqual({ message: expect.stringContaining("API_KEYS") });
  }
  expect((await exchange(server.port, "/sveda/health", { headers })).status).toBe(200);
});
