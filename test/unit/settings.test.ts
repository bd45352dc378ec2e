// The configuration: every fault names its field, what is left out has its default, and a request only shortens clocks.
import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import { checkConfig, planTarget, totalClock } from "../../src/run/settings.ts";

const remote = { id: "main", adapter: "openai-chat", baseUrl: "https://provider.test/v1", model: "m" };
const valid = { targets: [{ id: "demo", adapter: "demo" }, remote], routes: { default: ["demo"] } };

const check = (config: unknown) => checkConfig(JSON.parse(JSON.stringify(config)));
function pathsOf(config: unknown): string[] {
  const result = check(config);
  return result.ok ? [] : result.issues.map((issue) => issue.path);
}
const withTarget = (fields: object) => ({
  ...valid,
  targets: [
    { id: "demo", adapter: "demo" },
    { ...remote, ...fields },
  ],
});
const withFast = (fast: unknown) => ({ ...valid, routes: { ...valid.routes, fast } });
const shopTool = { name: "get_order", url: "https://shop.test/order" };
const withTool = (fields: object) => ({ ...valid, tools: [shopTool, { ...shopTool, name: "other", ...fields }] });
const shopServer = { id: "shop", url: "https://shop.test/mcp" };
const withServer = (fields: object) => ({
  ...valid,
  mcpServers: [shopServer, { ...shopServer, id: "more", ...fields }],
});
const withLimits = (limits: unknown) => ({ ...valid, limits });

describe("what is wrong", () => {
  const faults: [string, unknown][] = [
    ["", []],
    ["", null],
    ["", "text"],
    ["/targets", { routes: valid.routes }],
    ["/targets", { ...valid, targets: [] }],
    ["/targets", { ...valid, targets: {} }],
    ["/routes", { targets: valid.targets }],
    ["/routes", { ...valid, routes: "demo" }],
    ["/limit", { ...valid, limit: {} }],
    ["/cors/origin", { ...valid, cors: { origins: [], origin: "*" } }],
    ["/cors/origins/0", { ...valid, cors: { origins: ["https://app.test/path"] } }],
    ["/cors/origins/0", { ...valid, cors: { origins: ["app.test"] } }],
    ["/cors/origins", { ...valid, cors: {} }],
    ["/targets/1/id", withTarget({ id: "demo" })],
    ["/targets/1/id", withTarget({ id: "" })],
    ["/targets/1/id", withTarget({ id: "a b" })],
    ["/targets/1/id", withTarget({ id: "x".repeat(65) })],
    ["/targets/1/adapter", withTarget({ adapter: "openai" })],
    ["/targets/1/adapter", withTarget({ adapter: undefined })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: undefined })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: undefined, preset: "azure" })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: undefined, preset: "vllm" })],
    ["/targets/1/preset", withTarget({ preset: "open-ai" })],
    ["/targets/1/preset", withTarget({ preset: "openai", adapter: "anthropic-messages" })],
    ["/targets/0/preset", { ...valid, targets: [{ id: "demo", adapter: "demo", preset: "openai" }] }],
    ["/targets/1/baseUrl", withTarget({ baseUrl: "ftp://provider.test" })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: "provider.test" })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: "https://user:pass@provider.test" })],
    ["/targets/1/headers/x-a", withTarget({ headers: { "x-a": "a\nb" } })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: "https://provider.test/?key=1" })],
    ["/targets/1/baseUrl", withTarget({ baseUrl: "https://provider.test/#a" })],
    ["/targets/1/model", withTarget({ model: undefined })],
    ["/targets/1/model", withTarget({ model: "" })],
    ["/targets/1/url", withTarget({ url: "https://provider.test" })],
    ["/targets/1/keyVar", withTarget({ keyVar: "openai_key" })],
    ["/targets/1/keyVar", withTarget({ keyVar: "API_KEYS" })],
    ["/targets/1/keyVar", withTarget({ keyVar: "TICKET_SECRET" })],
    ["/targets/1/keyVar", withTarget({ keyVar: "CONFIG" })],
    ["/targets/1/headers/bad header", withTarget({ headers: { "bad header": "x" } })],
    ["/targets/1/headers/x-a", withTarget({ headers: { "x-a": 5 } })],
    ["/targets/1/headers", withTarget({ headers: [] })],
    ["/targets/1/query/v", withTarget({ query: { v: 1 } })],
    ["/targets/1/locality", withTarget({ locality: "moon" })],
    ["/targets/1/clocks/idleMs", withTarget({ clocks: { idleMs: 0 } })],
    ["/targets/1/clocks/idleMs", withTarget({ clocks: { idleMs: "5" } })],
    ["/targets/1/clocks/idle", withTarget({ clocks: { idle: 5 } })],
    ["/targets/1/clocks", withTarget({ clocks: [] })],
    ["/routes/default", { ...valid, routes: {} }],
    ["/routes/default", { ...valid, routes: { other: ["demo"] } }],
    ["/routes/default", { ...valid, routes: { default: [] } }],
    ["/routes/default", { ...valid, routes: { default: "demo" } }],
    ["/routes/default", { ...valid, routes: { default: Array(17).fill("demo") } }],
    ["/routes/default/1", { ...valid, routes: { default: ["demo", "nobody"] } }],
    ["/routes/default/1", { ...valid, routes: { default: ["demo", "demo"] } }],
    ["/routes/a b", { ...valid, routes: { ...valid.routes, "a b": ["demo"] } }],
    ["/routes/__proto__", { ...valid, routes: { ...valid.routes, ["__proto__"]: ["demo"] } }],
    ["/routes/constructor", { ...valid, routes: { ...valid.routes, constructor: ["demo"] } }],
    ["/routes/prototype", { ...valid, routes: { ...valid.routes, prototype: ["demo"] } }],
    ["/__proto__", { ...valid, ["__proto__"]: {} }],
    ["/limits/constructor", withLimits({ constructor: 5 })],
    ["/limits/toString", withLimits({ toString: 5 })],
    ["/targets/1/__proto__", withTarget({ ["__proto__"]: { model: "m" } })],
    ["/targets/1/headers/constructor", withTarget({ headers: { constructor: "x" } })],
    ["/targets/1/query/__proto__", withTarget({ query: { ["__proto__"]: "x" } })],
    ["/routes/fast/targets/0", withFast({ targets: ["nobody", "demo"] })],
    ["/routes/fast/hedge", withFast({ targets: ["demo"], hedge: {} })],
    ["/routes/fast/hedge/afterMs", withFast({ targets: ["demo", "main"], hedge: { afterMs: 0 } })],
    ["/routes/fast/hedge/budgetPercent", withFast({ targets: ["demo", "main"], hedge: { budgetPercent: 101 } })],
    ["/routes/fast/hedge/budget", withFast({ targets: ["demo", "main"], hedge: { budget: 5 } })],
    ["/targets/1/retries", withTarget({ retries: 6 })],
    ["/targets/1/retries", withTarget({ retries: -1 })],
    ["/breaker/failures", { ...valid, breaker: { failures: 1.5 } }],
    ["/breaker/coolDownMs", { ...valid, breaker: { coolDownMs: 99 } }],
    ["/breaker/cooldown", { ...valid, breaker: { cooldown: 5000 } }],
    ["/breaker", { ...valid, breaker: [] }],
    ["/limits/retryBudgetMs", withLimits({ retryBudgetMs: -1 })],
    ["/limits", withLimits([])],
    ["/limits/heartbeat", withLimits({ heartbeat: 5 })],
    ["/limits/heartbeatMs", withLimits({ heartbeatMs: 99 })],
    ["/limits/heartbeatMs", withLimits({ heartbeatMs: 60_001 })],
    ["/limits/maxBodyBytes", withLimits({ maxBodyBytes: 1023 })],
    ["/limits/maxOutputBytes", withLimits({ maxOutputBytes: 0 })],
    ["/limits/maxActiveRuns", withLimits({ maxActiveRuns: 1.5 })],
    ["/limits/maxSteps", withLimits({ maxSteps: 0 })],
    ["/limits/maxToolOutputBytes", withLimits({ maxToolOutputBytes: 63 })],
    ["/limits/maxThreadBytes", withLimits({ maxThreadBytes: 1_048_575 })],
    ["/tools", { ...valid, tools: {} }],
    [
      "/tools",
      { ...valid, tools: Array.from({ length: 129 }, (_, index) => ({ ...shopTool, name: `tool-${index}` })) },
    ],
    ["/tools/1/name", withTool({ name: "get_order" })],
    ["/tools/1/name", withTool({ name: "get order" })],
    ["/tools/1/name", withTool({ name: "x".repeat(65) })],
    ["/tools/1/name", withTool({ name: undefined })],
    ["/tools/1/url", withTool({ url: undefined })],
    ["/tools/1/url", withTool({ url: "ftp://shop.test" })],
    ["/tools/1/url", withTool({ url: "https://user:pass@shop.test" })],
    ["/tools/1/parameters", withTool({ parameters: "none" })],
    ["/tools/1/parameters/type", withTool({ parameters: { type: "array" } })],
    ["/tools/1/parameters/properties/a/type", withTool({ parameters: { properties: { a: { type: "text" } } } })],
    ["/tools/1/mode", withTool({ mode: "burn" })],
    ["/tools/1/domain", withTool({ domain: "" })],
    ["/tools/1/confirmation", withTool({ confirmation: true })],
    ["/tools/1/idempotent", withTool({ idempotent: "yes" })],
    ["/tools/1/timeoutMs", withTool({ timeoutMs: 0 })],
    ["/tools/1/timeoutMs", withTool({ timeoutMs: 600_001 })],
    ["/tools/1/keyVar", withTool({ keyVar: "TICKET_SECRET" })],
    ["/tools/1/keyVar", withTool({ keyVar: "shop-key" })],
    ["/tools/1/key", withTool({ key: "secret" })],
    [
      "/mcpServers",
      { ...valid, mcpServers: Array.from({ length: 17 }, (_, index) => ({ ...shopServer, id: `s-${index}` })) },
    ],
    ["/mcpServers/1/id", withServer({ id: "shop" })],
    ["/mcpServers/1/id", withServer({ id: "host" })],
    ["/mcpServers/1/id", withServer({ id: undefined })],
    ["/mcpServers/1/url", withServer({ url: "shop.test" })],
    ["/mcpServers/1/keyVar", withServer({ keyVar: "API_KEYS" })],
    ["/mcpServers/1/allow/0", withServer({ allow: ["a*b"] })],
    ["/mcpServers/1/allow/0", withServer({ allow: [""] })],
    ["/mcpServers/1/token", withServer({ token: "secret" })],
    ["/sveda/mcpOrigins", { ...valid, sveda: { mcpOrigins: [] } }],
    ["/sveda/mcpOrigins/0", { ...valid, sveda: { mcpOrigins: ["https://shop.test/mcp"] } }],
    ["/limits/retentionOutcomeMs", withLimits({ retentionEventsMs: 5000, retentionOutcomeMs: 4999 })],
  ];

  test.each(faults)("R-CONF-1 names %s", (path, config) => {
    expect(pathsOf(config)).toContain(path);
  });

  test("R-CONF-1 tells every fault at once, each with its own words", () => {
    const result = check({
      targets: [
        { id: "a", adapter: "openai-chat" },
        { id: "a", adapter: "demo" },
      ],
      routes: { default: ["b"], ["__proto__"]: ["a"] },
    });
    expect(result.ok ? [] : result.issues).toEqual([
      { path: "/routes/__proto__", message: "is a name that cannot be used", keyword: "propertyNames" },
      { path: "/targets/0/baseUrl", message: "is missing", keyword: "required" },
      { path: "/targets/0/model", message: "is missing", keyword: "required" },
      { path: "/targets/1/id", message: "is used twice", keyword: "uniqueItems" },
      { path: "/routes/default/0", message: "names no configured target", keyword: "enum" },
    ]);
  });
});

describe("what is left out", () => {
  test("R-CONF-1 has its default", () => {
    const result = check(valid);
    expect(result.ok && result.config).toMatchObject({
      limits: {
        retentionEventsMs: 86_400_000,
        retentionOutcomeMs: 2_592_000_000,
        heartbeatMs: 5000,
        attachWaitMs: 5000,
        disconnectGraceMs: 10_000,
        maxBodyBytes: 1_048_576,
        maxPromptBytes: 524_288,
        maxOutputBytes: 8_388_608,
        maxActiveRuns: 100,
      },
      cors: { origins: [] },
    });
    const some = check(withLimits({ maxActiveRuns: 1 }));
    expect(some.ok && some.config.limits).toMatchObject({ maxActiveRuns: 1, heartbeatMs: 5000 });
  });

  test.each(["openai", "openrouter", "deepseek", "mistral", "groq", "xai", "perplexity", "together"])(
    "R-CONF-1 the address that the preset %s brings",
    (preset) => expect(pathsOf(withTarget({ baseUrl: undefined, preset }))).toEqual([]),
  );

  test("R-CONF-1 R-PROV-16 workers-ai needs no address, but a model", () => {
    const edge = { adapter: "workers-ai", baseUrl: undefined };
    expect(pathsOf(withTarget(edge))).toEqual([]);
    expect(pathsOf(withTarget({ ...edge, model: undefined }))).toEqual(["/targets/1/model"]);
  });

  test("R-CONF-1 the shipped configuration is valid", () => {
    const file = path.resolve(import.meta.dirname, "../../holdfast.config.json");
    expect(checkConfig(JSON.parse(readFileSync(file, "utf8"))).ok).toBe(true);
  });

  test.each([
    [{ id: "a", adapter: "demo" }, "edge"],
    [{ id: "a", adapter: "ollama" }, "cloud"],
    [{ id: "a", adapter: "ollama", locality: "local" }, "local"],
    [{ id: "a", adapter: "demo", locality: "cloud" }, "cloud"],
  ] as const)("R-CONF-1 the locality of %j is %s", (target, locality) => {
    expect(planTarget(target, true).locality).toBe(locality);
  });
});

describe("clocks", () => {
  const target: Target = { id: "a", adapter: "demo", clocks: { headersMs: 100, idleMs: 200, totalMs: 5000 } };

  test("R-CLOCK-3 a request shortens what it names and leaves the rest", () => {
    expect(planTarget(target, true, { headersMs: 50, idleMs: 900, firstOutputMs: 10 }).clocks).toEqual({
      headersMs: 50,
      idleMs: 200,
      firstOutputMs: 10,
      progressMs: 60_000,
      minBytesPerSecond: 0,
    });
    expect(planTarget({ id: "a", adapter: "demo" }, false).clocks).toEqual({
      headersMs: 15_000,
      firstOutputMs: 30_000,
      idleMs: 30_000,
      progressMs: 60_000,
      minBytesPerSecond: 0,
    });
  });

  test("R-CLOCK-3 the total clock is the longest of the chain, shortened by clocks.totalMs and timeoutMs", () => {
    const slow: Target = { id: "b", adapter: "demo", clocks: { totalMs: 9000 } };
    expect(totalClock([target])).toBe(5000);
    expect(totalClock([target, slow])).toBe(9000);
    expect(totalClock([{ id: "c", adapter: "demo" }])).toBe(600_000);
    expect(totalClock([target, slow], { totalMs: 70 })).toBe(70);
    expect(totalClock([target, slow], {}, 60)).toBe(60);
    expect(totalClock([target, slow], { totalMs: 70 }, 60)).toBe(60);
    expect(totalClock([target, slow], { totalMs: 99_000 }, 99_000)).toBe(9000);
  });

  test("R-CLOCK-3 no request can lengthen any clock", () => {
    const ms = fc.integer({ min: 1, max: 1_000_000 });
    const names = { headersMs: ms, firstOutputMs: ms, idleMs: ms, progressMs: ms, totalMs: ms };
    const clocks = fc.record(names, { requiredKeys: [] });
    fc.assert(
      fc.property(clocks, clocks, fc.option(ms, { nil: undefined }), (configured, request, timeoutMs) => {
        const own: Target = { id: "a", adapter: "demo", clocks: configured };
        const before = planTarget(own, true).clocks;
        const after = planTarget(own, true, request).clocks;
        for (const name of ["headersMs", "firstOutputMs", "idleMs", "progressMs"] as const) {
          expect(after[name]).toBe(Math.min(before[name], request[name] ?? before[name]));
        }
        expect(totalClock([own], request, timeoutMs)).toBeLessThanOrEqual(totalClock([own]));
      }),
      { numRuns: 200 },
    );
  });
});
