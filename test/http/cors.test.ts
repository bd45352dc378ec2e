// Which web pages may read answers, and what they may send and see.
import { afterAll, beforeAll, expect, test } from "vitest";
import { post, startBody } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
import { answer, exchange, handleOf, MAIN, openHouse, outcomeOf, type House } from "./house.ts";

const APP = "https://app.example";
const EXPOSED = "Location, Content-Location, X-Run-Id, Retry-After, X-Sveda-Protocol-Version";

let house: House;
let runId: string;

beforeAll(async () => {
  house = await openHouse({ cors: { origins: [APP, "http://localhost:3000"] }, limits: { attachWaitMs: 0 } });
  house.provider.on(MAIN, answer(["x"]));
  runId = (await handleOf(await post(`${house.origin}/v1/runs`, startBody()))).runId;
  await outcomeOf(house.origin, runId);
});
afterAll(() => house.stop());

const preflight = (port: number, origin: string, path: string, asked: string) =>
  exchange(port, path, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": asked },
  });

test("R-CORS-1 a preflight of a configured origin allows the listed headers, and only those", async () => {
  const asked =
    "authorization, Content-Type,last-event-id, idempotency-key, x-api-key, x-csrf-token, x-sveda-trace, x-other, cookie";
  for (const origin of [APP, "http://localhost:3000"]) {
    for (const path of ["/v1/runs", `/v1/runs/${runId}/events`, "/v1/tickets"]) {
      const { status, headers, text } = await preflight(house.server.port, origin, path, asked);
      expect([status, text]).toEqual([204, ""]);
      expect(headers["access-control-allow-origin"]).toBe(origin);
      const allowed = (headers["access-control-allow-headers"] ?? "").split(", ");
      expect(allowed.toSorted()).toEqual(
        [
          "authorization",
          "content-type",
          "last-event-id",
          "idempotency-key",
          "x-api-key",
          "x-csrf-token",
          "x-sveda-trace",
        ].toSorted(),
      );
      expect(headers["access-control-allow-methods"]).toBe("GET, POST, DELETE, OPTIONS");
      expect(headers["vary"]).toContain("Origin");
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    }
  }
});

test("R-CORS-1 every answer to a configured origin may be read, with its headers: streams, errors, empty ones", async () => {
  const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
    exchange(house.server.port, path, { method, headers: { origin: APP, ...headers } });
  for (const [answered, status] of [
    [await ask("GET", `/v1/runs/${runId}`), 200],
    [await ask("GET", `/v1/runs/${runId}/events`), 200],
    [await ask("GET", `/v1/runs/${runId}/events?after=5`), 204],
    [await ask("GET", `/v1/runs/${runId}/events?after=x`), 400],
    [await ask("GET", `/v1/runs/${runId}/events?after=x`, { accept: "text/event-stream" }), 200],
    [await ask("GET", "/v1/runs/nobody"), 404],
    [await ask("PUT", "/v1/runs"), 405],
    [await ask("GET", "/v1/nowhere"), 404],
    [await ask("GET", "/healthz", { host: "evil.example" }), 200],
    [await ask("GET", "/v1/routes", { host: "evil.example" }), 403],
    [await ask("DELETE", "/v1/runs/nobody"), 404],
  ] satisfies [Awaited<ReturnType<typeof ask>>, number][]) {
    expect(answered.status).toBe(status);
    expect(answered.headers["access-control-allow-origin"]).toBe(APP);
    expect(answered.headers["access-control-expose-headers"]).toBe(EXPOSED);
    expect(answered.headers["vary"]).toContain("Origin");
  }
  const stream = await ask("GET", `/v1/runs/${runId}/events`);
  expect(stream.headers["cache-control"]).toBe("no-store, no-transform");
  expect(stream.headers["x-run-id"]).toBe(runId);
});

test("R-CORS-1 other origins get no CORS headers", async () => {
  const others = [
    "https://evil.example",
    "https://app.example.evil.example",
    "http://app.example",
    "https://app.example:8443",
    "https://APP.example",
    "null",
    "*",
  ];
  for (const origin of others) {
    for (const answered of [
      await exchange(house.server.port, `/v1/runs/${runId}/events`, { headers: { origin } }),
      await exchange(house.server.port, "/v1/runs/nobody", { headers: { origin } }),
      await preflight(house.server.port, origin, "/v1/runs", "content-type"),
    ]) {
      const names = Object.keys(answered.headers).filter((name) => name.startsWith("access-control-"));
      expect([origin, names]).toEqual([origin, []]);
      expect(answered.headers["vary"]).toContain("Origin");
    }
  }
  const plain = await fetch(`${house.origin}/v1/runs/${runId}`);
  expect(plain.headers.get("access-control-allow-origin")).toBeNull();
});

test("R-CORS-1 a configured * lets every origin read", async () => {
  const server = await startBare({
    config: { targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] }, cors: { origins: ["*"] } },
  });
  try {
    const answered = await exchange(server.port, "/v1/routes", { headers: { origin: "https://any.example" } });
    expect(answered.headers["access-control-allow-origin"]).toBe("*");
    const { headers } = await preflight(server.port, "https://any.example", "/v1/runs", "content-type");
    expect([headers["access-control-allow-origin"], headers["access-control-allow-headers"]]).toEqual([
      "*",
      "content-type",
    ]);
  } finally {
    await server.stop();
  }
});
