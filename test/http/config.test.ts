// The configuration: the shipped one works without any key, a wrong one says everywhere what is wrong with it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import { exchange, handleOf, objectOf, problemOf } from "./house.ts";

let shipped: Holdfast;
let runs: string;

beforeAll(async () => {
  shipped = await startHoldfast();
  runs = `${shipped.origin}/v1/runs`;
});
afterAll(() => shipped.stop());

const stream = (route?: string) =>
  post(runs, startBody(route === undefined ? {} : { route }), { accept: "text/event-stream" });

test("R-DESC-1 the console stands at /, and its files do not shadow a path of the API", async () => {
  const response = await fetch(`${shipped.origin}/`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(eventsOf(await (await stream()).text()).at(-1)?.type).toBe("terminal");
});

test("R-CONF-2 without any key the route default streams from the demo target", async () => {
  const events = eventsOf(await (await stream()).text());
  expect(events.at(-1)?.payload).toMatchObject({
    outcome: "completed",
    finishReason: "stop",
    finalText: shownText(events),
  });
  expect(events.filter(({ type }) => type === "content_delta").length).toBeGreaterThan(20);
  expect(events.at(-1)?.payload["usage"]).toMatchObject({ inputTokens: expect.any(Number) });
});

test.each(["once", "again"])(
  "R-CONF-2 R-BREAK-3 demo-fallback, %s, shows a fallback that shows nothing of the failed target",
  async () => {
    const events = eventsOf(await (await stream("demo-fallback")).text());
    const attempts = events
      .filter(({ type }) => type === "attempt")
      .map(({ payload }) => [payload["targetId"], payload["phase"]]);
    expect(attempts).toEqual([
      ["demo-busy", "started"],
      ["demo-busy", "failed"],
      ["demo", "started"],
      ["demo", "committed"],
    ]);
    expect(events.at(-1)?.payload).toMatchObject({ outcome: "completed", provenance: { fallbackOccurred: true } });
  },
);

test("R-CONF-2 demo-cut shows a cut after content", async () => {
  const events = eventsOf(await (await stream("demo-cut")).text());
  const text = shownText(events);
  expect(text).not.toBe("");
  expect(events.at(-1)?.payload).toMatchObject({
    outcome: "error",
    partialText: text,
    error: { details: { failureClass: "truncated" } },
  });
});

test("R-CONF-2 demo-silent shows a silent provider, demo-slow a slow one; both can be cancelled", async () => {
  for (const [route, mark] of [
    ["demo-silent", ": hb\n"],
    ["demo-slow", '"content_delta"'],
  ]) {
    const { runId } = await handleOf(await post(runs, startBody({ route })));
    const seen = await exchange(shipped.port, `/v1/runs/${runId}/events`, {
      cutWhen: (text) => text.includes(mark ?? ""),
    });
    expect(seen.text.includes('"content_delta"')).toBe(route === "demo-slow");
    expect(await objectOf(await post(`${runs}/${runId}/cancel`, {}))).toMatchObject({ outcome: "cancelled" });
  }
});

test("R-CONF-2 R-TITLE-1 demo-tools calls a page's tool in a chat, which keeps the prompt for its title", async () => {
  const { token } = await objectOf(await post(`${shipped.origin}/sveda/embed/token`, {}));
  const answered = await post(
    `${shipped.origin}/sveda/stream`,
    {
      messages: [{ id: "m1", role: "user", content: "Ring the bell." }],
      model: "demo-tools",
      clientTools: [{ name: "look_out" }, { name: "ring_bell", description: "Rings." }],
    },
    { "x-sveda-embed-token": String(token) },
  );
  const frames = (await answered.text()).match(/^data: .*$/gm) ?? [];
  expect(frames.join("\n")).toContain('"toolName":"ring_bell","target":"frontend"');
  expect(frames.filter((frame) => frame.includes("chat.title"))).toEqual([
    expect.stringContaining('"title":"Ring the bell."'),
  ]);
  expect(frames.at(-1)).toBe("data: [DONE]");
});

test("R-CONF-1 CONFIG replaces the shipped configuration whole", async () => {
  const server = await startBare({
    config: { targets: [{ id: "only", adapter: "demo" }], routes: { default: ["only"] } },
  });
  try {
    expect((await handleOf(await post(`${server.origin}/v1/runs`, startBody()))).providerId).toBe("only");
    const { routes } = v.parse(
      v.looseObject({ routes: v.array(v.looseObject({ id: v.string() })) }),
      await (await fetch(`${server.origin}/v1/routes`)).json(),
    );
    expect(routes.map(({ id }) => id)).toEqual(["default"]);
  } finally {
    await server.stop();
  }
});

const demo = { targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } };
const SECRET = "sk-mistaken-for-a-field";

const paths = [
  "/v1/runs",
  "/v1/runs/a",
  "/v1/runs/a/events",
  "/v1/runs/a/outcome",
  "/v1/runs/a/cancel",
  "/v1/tickets",
  "/v1/routes",
  "/healthz",
  "/openapi.json",
  "/schemas",
  "/schemas/Config.json",
  "/nowhere",
];

test("R-CONF-1 a configuration that is not valid answers every request with a 500 that names the field", async () => {
  const server = await startBare({
    config: { ...demo, targets: [{ id: "demo", adapter: "telepathy", keyVar: SECRET }], limit: {} },
  });
  try {
    for (const at of paths) {
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        const answered = await exchange(server.port, at, { method });
        const { message } = await problemOf(answered, 500, "bug");
        expect(message).toContain("/targets/0/adapter");
        expect(message).toContain("/targets/0/keyVar");
        expect(message).toContain("/limit");
        expect(message).not.toContain(SECRET);
      }
    }
  } finally {
    await server.stop();
  }
});

test("R-CONF-1 CONFIG that is no JSON says so", async () => {
  const server = await startBare({ vars: { CONFIG: `{"targets": ${SECRET}` } });
  try {
    const { message } = await problemOf(await fetch(`${server.origin}/healthz`), 500, "bug");
    expect(message).toMatch(/CONFIG.*JSON/);
    expect(message).not.toContain(SECRET);
  } finally {
    await server.stop();
  }
});

test("R-CONF-1 check:config says the same before a deploy", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast-config-"));
  const check = (content?: string) => {
    const file = path.join(directory, "config.json");
    if (content !== undefined) writeFileSync(file, content);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["scripts/check-config.ts", ...(content === undefined ? [] : [file])],
      {
        cwd: path.resolve(import.meta.dirname, "../.."),
        encoding: "utf8",
      },
    );
    return { status, printed: stdout + stderr };
  };
  try {
    expect(check()).toMatchObject({ status: 0 });
    expect(check(JSON.stringify(demo))).toMatchObject({ status: 0 });
    for (const [config, field] of [
      [{ ...demo, targets: [] }, "/targets"],
      [{ ...demo, routes: {} }, "/routes/default"],
      [{ ...demo, routes: { default: ["nobody"] } }, "/routes/default/0"],
      [{ ...demo, routes: { default: ["demo", "demo"] } }, "/routes/default/1"],
      [{ ...demo, limits: { heartbeatMs: 0 } }, "/limits/heartbeatMs"],
      [{ ...demo, limits: { heartbeat: 1000 } }, "/limits/heartbeat"],
      [{ ...demo, limits: { retentionEventsMs: 5000, retentionOutcomeMs: 1000 } }, "/limits/retentionOutcomeMs"],
      [{ ...demo, cors: { origins: ["https://a.example/path"] } }, "/cors/origins/0"],
      [{ ...demo, targets: [...demo.targets, ...demo.targets] }, "/targets/1/id"],
      [{ ...demo, targets: [{ id: "demo", adapter: "openai-chat", model: "m" }] }, "/targets/0/baseUrl"],
      [
        { ...demo, targets: [{ id: "demo", adapter: "openai-chat", model: "m", baseUrl: "ftp://x" }] },
        "/targets/0/baseUrl",
      ],
      [
        {
          ...demo,
          targets: [{ id: "demo", adapter: "openai-chat", model: "m", baseUrl: "http://x", keyVar: "API_KEYS" }],
        },
        "/targets/0/keyVar",
      ],
    ] satisfies [object, string][]) {
      const { status, printed } = check(JSON.stringify(config));
      expect([field, status]).toEqual([field, 1]);
      expect(printed).toContain(`${field} `);
    }
    expect(check("{")).toMatchObject({ status: 1, printed: expect.stringContaining("is not JSON") });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
