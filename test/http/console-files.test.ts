// The console's files as a browser asks for them. What the page does is tested in Chromium.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { problemOf } from "./house.ts";

let server: Holdfast;

beforeAll(async () => {
  server = await startBare();
});
afterAll(() => server.stop());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.origin}${path}`, { headers });

/** All that the page loads by itself. */
async function loaded(): Promise<string[]> {
  const page = await (await get("/")).text();
  return [...page.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
}

test("R-PAGE-1 the page and all that it loads are there, as what they are, and may run nothing else", async () => {
  const paths = await loaded();
  expect(paths).toHaveLength(5);
  for (const path of ["/", "/index.html", ...paths.map((name) => new URL(name, server.origin).pathname)]) {
    const response = await get(path);
    const type = { css: "text/css", js: "text/javascript", svg: "image/svg+xml" }[path.split(".")[1] ?? ""];
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get("content-type")).toContain(type ?? "text/html");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await response.text()).not.toBe("");
  }
  expect(await (await get("/index.html")).text()).toBe(await (await get("/?a=b")).text());
  expect((await get("/other.js")).status).toBe(404);
});

test("R-PAGE-1 a file that the asker has is not sent again", async () => {
  const etag = (await get("/main.js")).headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  for (const held of [etag, `W/${etag}`, `"a", ${etag}`, "*"]) {
    const response = await get("/main.js", { "if-none-match": held });
    expect([held, response.status, await response.text()]).toEqual([held, 304, ""]);
    expect(response.headers.get("etag")).toBe(etag);
  }
  expect((await get("/main.js", { "if-none-match": '"a"' })).status).toBe(200);
  expect((await get("/style.css", { "if-none-match": etag })).status).toBe(200);
});

test("R-PAGE-1 HEAD gives the headers alone, another method is refused with those that are taken", async () => {
  const head = await fetch(`${server.origin}/`, { method: "HEAD" });
  expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
    200,
    "text/html; charset=utf-8",
    "",
  ]);
  for (const method of ["POST", "DELETE", "PUT"]) {
    const response = await fetch(`${server.origin}/main.js`, { method });
    expect(response.headers.get("allow")).toBe("GET, HEAD");
    await problemOf(response, 405, "method_not_allowed");
  }
});

test("R-PAGE-1 the console comes without a key, and also with a wrong configuration", async () => {
  const locked = await startBare({ vars: { API_KEYS: "{}" } });
  const wrong = await startBare({ vars: { CONFIG: "{" } });
  try {
    for (const { origin } of [locked, wrong]) expect((await fetch(`${origin}/`)).status).toBe(200);
    expect((await fetch(`${locked.origin}/v1/routes`)).status).toBe(401);
    expect((await fetch(`${wrong.origin}/v1/routes`)).status).toBe(500);
  } finally {
    await Promise.all([locked.stop(), wrong.stop()]);
  }
});
