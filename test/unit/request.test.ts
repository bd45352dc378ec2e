// What a start request may say: every field's wrong values, contradictions, depth, secret-looking keys, and what must pass untouched.
import { describe, expect, test } from "vitest";
import { MAX_JSON_DEPTH } from "../../src/run/canonical.ts";
import { checkStartRequest, promptBytes } from "../../src/run/request.ts";
import { checkConfig } from "../../src/run/settings.ts";
import { planBody } from "./planned.ts";

const base = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Say something." };

/** As it arrives: JSON text, so that keys like `__proto__` are keys. */
const check = (fields: Record<string, unknown>) =>
  checkStartRequest(JSON.parse(JSON.stringify({ ...base, ...fields })));

function issuesOf(fields: Record<string, unknown>) {
  const result = check(fields);
  return result.ok ? [] : result.issues;
}
const pathsOf = (fields: Record<string, unknown>) => issuesOf(fields).map(({ path }) => path);

const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const tool = (fields: object = {}) => ({ name: "weather", parameters: { type: "object" }, ...fields });

describe("what passes", () => {
  test.each([
    ["a prompt", {}],
    ["messages", { prompt: undefined, ...user("Hi") }],
    ["prompt and messages", user("Hi")],
    ["fields nobody knows", { futureField: { deep: [1] }, task: { kind: "text_to_text", hint: 1 } }],
    [
      "parts",
      user([
        { type: "text", text: "What is it?" },
        { type: "image", url: "https://example.org/a.png" },
      ]),
    ],
    ["an image as data", user([{ type: "image", data: "aGk=", mediaType: "image/png" }])],
    [
      "a conversation with tools",
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "weather", input: {} }] },
          { role: "tool", toolCallId: "c", output: null },
          { role: "tool", toolCallId: "c", output: [1], isError: true },
        ],
        tools: [tool({ description: "", execution: "client" })],
        toolChoice: { name: "weather" },
      },
    ],
    ["every generation field", { generation: { maxOutputTokens: 1, temperature: 0, topP: 1, seed: -5, stop: [] } }],
    ["an output schema", { generation: { output: { schema: { type: "object" } } } }],
    ["the longest id", { requestId: "aZ9._:~-".padEnd(128, "x") }],
    ["totalTokens and the like", { metadata: { totalTokens: 3, monkey: 1 } }],
  ])("R-START-5 %s", (_what, fields) => {
    expect(issuesOf(fields)).toEqual([]);
  });

  test("R-START-5 what passes is the body itself: no user key is lost, whatever its name", () => {
    const text =
      '{"schemaVersion":"1.0","task":{"kind":"text_to_text"},"prompt":"x","metadata":{"constructor":1,"prototype":2,"__proto__":3},' +
      '"messages":[{"role":"assistant","toolCalls":[{"toolCallId":"c","toolName":"t","input":{"prototype":"p","constructor":"q"}}]}],' +
      '"tools":[{"name":"t","parameters":{"constructor":true}}]}';
    const result = checkStartRequest(JSON.parse(text));
    expect(result.ok && JSON.stringify(result.request)).toBe(text);
  });

  test("R-START-5 a key __proto__ smuggles in no field", () => {
    const result = checkStartRequest(
      JSON.parse('{"schemaVersion":"1.0","task":{"kind":"text_to_text"},"prompt":"x","__proto__":{"route":"hidden"}}'),
    );
    expect(result.ok && result.request.route).toBeUndefined();
    const missing = checkStartRequest(
      JSON.parse('{"schemaVersion":"1.0","task":{"kind":"text_to_text"},"__proto__":{"prompt":"x"}}'),
    );
    expect(missing.ok).toBe(false);
  });
});

/** Field, wrong values. Every one must be refused, and the issue must name the field. */
const wrong: [string, unknown[]][] = [
  ["/schemaVersion", [undefined, null, 1, "2.0"]],
  ["/task", [undefined, null, "text_to_text", 5]],
  ["/task/kind", [{ kind: "image" }, {}, { kind: null }].map((task) => ({ task }))],
  ["/requestId", ["", "a b", "a/b", "ä", "x".repeat(129), 5, null, ["a"]]],
  ["/prompt", ["", 5, null, ["x"], {}]],
  ["/messages", [[], {}, "x", null]],
  ["/messages/0/role", [{ role: "robot", content: "x" }, { content: "x" }].map((one) => ({ messages: [one] }))],
  ["/messages/0/content", ["", 5, null, [], {}, undefined].map(user)],
  ["/messages/0/content/0/type", [[{ type: "audio" }], [{ text: "x" }]].map(user)],
  ["/messages/0/content/0/text", [[{ type: "text" }], [{ type: "text", text: "" }]].map(user)],
  ["/messages/0/content/0/url", [[{ type: "image", url: "not a url" }], [{ type: "image", url: 5 }]].map(user)],
  [
    "/messages/0/content/0",
    [[{ type: "image" }], [{ type: "image", url: "https://x.test/", data: "aGk=", mediaType: "image/png" }]].map(user),
  ],
  [
    "/messages/0/content/0/mediaType",
    [[{ type: "image", data: "aGk=" }], [{ type: "image", data: "aGk=", mediaType: "text/html" }]].map(user),
  ],
  ["/messages/0/toolCallId", [{ messages: [{ role: "tool", output: 1 }] }]],
  ["/messages/0/output", [{ messages: [{ role: "tool", toolCallId: "c" }] }]],
  ["/messages/0/isError", [{ messages: [{ role: "tool", toolCallId: "c", output: 1, isError: "no" }] }]],
  ["/messages/0/content", [{ messages: [{ role: "assistant" }] }]],
  ["/messages/0/toolCalls", [[], {}, "x"].map((toolCalls) => ({ messages: [{ role: "assistant", toolCalls }] }))],
  [
    "/messages/0/toolCalls/0/input",
    ["{}", [], null, undefined].map((input) => ({
      messages: [{ role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "t", input }] }],
    })),
  ],
  ["/generation", ["x", null, []]],
  [
    "/generation/maxOutputTokens",
    [0, -1, 1.5, "5", null].map((maxOutputTokens) => ({ generation: { maxOutputTokens } })),
  ],
  ["/generation/temperature", [-0.1, 2.1, "1"].map((temperature) => ({ generation: { temperature } }))],
  ["/generation/topP", [-0.1, 1.1, "1"].map((topP) => ({ generation: { topP } }))],
  ["/generation/seed", [1.5, "1"].map((seed) => ({ generation: { seed } }))],
  ["/generation/stop", ["x", {}].map((stop) => ({ generation: { stop } }))],
  ["/generation/stop/0", [{ generation: { stop: [5] } }]],
  ["/generation/output", ["yaml", 5, { schema: "x" }, { schema: [] }].map((output) => ({ generation: { output } }))],
  ["/constraints", ["x", null, []]],
  ["/preferences", ["x", []]],
  ["/telemetry", ["x", []]],
  ["/telemetry/tags", [{ telemetry: { tags: [] } }]],
  ["/constraints/privacy", ["x", null].map((privacy) => ({ constraints: { privacy } }))],
  ["/constraints/cloud", ["maybe", true].map((cloud) => ({ constraints: { cloud } }))],
  ["/constraints/timeoutMs", [0, -5, 1.5, "5"].map((timeoutMs) => ({ constraints: { timeoutMs } }))],
  [
    "/constraints",
    [
      { constraints: { privacy: "local_required", cloud: "required" } },
      { constraints: { privacy: "cloud_required", cloud: "forbidden" } },
    ],
  ],
  ["/preferences/optimizeFor", [{ preferences: { optimizeFor: "speed" } }]],
  ["/telemetry/consent", [{ telemetry: { consent: "yes" } }]],
  ["/telemetry/level", [{ telemetry: { level: "loud" } }]],
  ["/telemetry/tags/team", [{ telemetry: { tags: { team: 5 } } }]],
  ["/authContextRef", ["", 5]],
  ["/route", ["", 5, null]],
  ["/targets", [[], "demo", {}, Array(17).fill("demo"), { targets: ["demo"], route: "default" }]],
  ["/targets/0", [[""], [5]].map((targets) => ({ targets }))],
  ["/onDisconnect", ["stop", true]],
  ["/onMidStreamFailure", ["retry", null]],
  ["/durability", ["none"]],
  ["/clocks", [5, "x", []]],
  ["/clocks/idleMs", [0, 1.5, "5"].map((idleMs) => ({ clocks: { idleMs } }))],
  ["/clocks/idle", [{ clocks: { idle: 5 } }]],
  ["/metadata", ["x", 5, null, []]],
  ["/tools", ["x", {}, Array(129).fill(tool())]],
  [
    "/tools/0/name",
    [tool({ name: "" }), tool({ name: "a b" }), tool({ name: "x".repeat(65) }), { parameters: {} }].map((one) => ({
      tools: [one],
    })),
  ],
  [
    "/tools/0/parameters",
    [tool({ parameters: "x" }), tool({ parameters: undefined }), tool({ parameters: [] })].map((one) => ({
      tools: [one],
    })),
  ],
  ["/tools/0/execution", [{ tools: [tool({ execution: "server" })] }]],
  ["/tools/1/name", [{ tools: [tool(), tool()] }]],
  ["/toolChoice", ["maybe", { name: "" }, { tool: "x" }, "required"]],
  ["/toolChoice/name", [{ toolChoice: { name: "other" }, tools: [tool()] }]],
  ["/maxSteps", [0, 1.5, "2"]],
  ["/threadId", ["", 5, "a b", "a".repeat(65), "a.b", "a/b", "ä"]],
  ["/source", ["pull"]],
  ["/previousRunId", ["a b", 5]],
  ["/toolResults", [[], "x"]],
  ["/toolDecisions/0/decision", [{ toolDecisions: [{ toolCallId: "c", decision: "maybe" }] }]],
];

/** A value for the field itself, or a whole set of body fields when the value is an object made for it. */
function fieldsFor(path: string, value: unknown): Record<string, unknown> {
  const [, first = "", ...deeper] = path.split("/");
  if (deeper.length > 0) return { ...Object(value) };
  const isFields = typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, first);
  return isFields ? { ...value } : { [first]: value };
}

describe("what is refused", () => {
  test.each(wrong.flatMap(([path, values]) => values.map((value) => [path, value] as const)))(
    "R-START-5 %s: %j",
    (path, value) => {
      const issues = issuesOf(fieldsFor(path, value));
      expect(issues.map((one) => one.path).filter((one) => one === path || one.startsWith(`${path}/`))).not.toEqual([]);
      for (const issue of issues) {
        expect(issue.message).not.toBe("");
        expect(issue.keyword).not.toBe("");
      }
    },
  );

  test.each([[null], [5], ["text"], [[]], [true], [{}]])("R-START-5 a body %j", (body) => {
    expect(checkStartRequest(body).ok).toBe(false);
  });

  test("R-START-5 an array is no body, and the fault is the body's", () => {
    expect(checkStartRequest([])).toMatchObject({ ok: false, issues: [{ path: "" }] });
  });

  test("R-START-5 a body that was not sent", () => {
    expect(checkStartRequest(undefined).ok).toBe(false);
  });

  test("R-START-5 neither prompt nor messages", () => {
    expect(issuesOf({ prompt: undefined })).toEqual([
      { path: "", message: "needs 'prompt' or 'messages'", keyword: "anyOf" },
    ]);
  });

  test("R-START-5 all faults at once, at most 20 of them", () => {
    expect(pathsOf({ route: 5, clocks: { idleMs: 0 }, metadata: 1 }).toSorted()).toEqual([
      "/clocks/idleMs",
      "/metadata",
      "/route",
    ]);
    expect(issuesOf({ generation: { stop: Array(100).fill(5) } })).toHaveLength(20);
    const secrets = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`secret${index}`, 1]));
    expect(issuesOf({ metadata: secrets })).toHaveLength(20);
  });

  test("R-START-5 what is missing is called missing, and no message repeats a value", () => {
    expect(issuesOf({ schemaVersion: undefined })).toEqual([
      { path: "/schemaVersion", message: "is missing", keyword: "loose_object" },
    ]);
    const value = "my-own-words";
    for (const fields of [
      { requestId: `${value}!` },
      { onDisconnect: value },
      { clocks: value },
      { toolChoice: value },
      user([{ type: value }]),
    ]) {
      expect(JSON.stringify(issuesOf(fields))).not.toContain(value);
    }
  });

  test("R-START-5 a pointer escapes what must be escaped", () => {
    expect(pathsOf({ telemetry: { tags: { "a/b~c": 5 } } })).toEqual(["/telemetry/tags/a~1b~0c"]);
  });

  const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}1${"]".repeat(depth)}`);

  test("R-START-5 JSON deeper than 64 levels, wherever it is, and however deep", () => {
    // The body itself is one level, `metadata` the second.
    expect(issuesOf({ metadata: { deep: nested(MAX_JSON_DEPTH - 2) } })).toEqual([]);
    for (const depth of [MAX_JSON_DEPTH - 1, 1000]) {
      expect(issuesOf({ metadata: { deep: nested(depth) } })).toEqual([
        { path: "", message: "is nested deeper than 64 levels", keyword: "maxDepth" },
      ]);
    }
    for (const fields of [
      { metadata: { deep: nested(200_000) } },
      { tools: [tool({ parameters: { deep: nested(200_000) } })] },
    ]) {
      const result = checkStartRequest({ ...base, ...fields });
      expect(result.ok).toBe(false);
    }
  });
});

describe("secret-looking keys", () => {
  test.each([
    [{ apiKey: "k" }, ["/apiKey"]],
    [{ metadata: { a: { b: [{ client_secret: "s" }] } } }, ["/metadata/a/b/0/client_secret"]],
    [
      { provider: { openaiApiKey: "a", bearerToken: "b", password: null } },
      ["/provider/openaiApiKey", "/provider/bearerToken", "/provider/password"],
    ],
    [{ tools: [tool({ token: "x" })] }, ["/tools/0/token"]],
    [{ messages: [{ role: "user", content: "x", authorization: "y" }] }, ["/messages/0/authorization"]],
    [
      { messages: [{ role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "t", input: {}, apiKey: 1 }] }] },
      ["/messages/0/toolCalls/0/apiKey"],
    ],
    [{ telemetry: { tags: { "x-api-key": "k" } } }, ["/telemetry/tags/x-api-key"]],
  ])("R-START-6 %j", (fields, paths) => {
    const issues = issuesOf(fields);
    expect(issues.map(({ path }) => path).toSorted()).toEqual(paths.toSorted());
    expect(issues.every(({ keyword }) => keyword === "forbiddenSecretKey")).toBe(true);
  });

  test.each([
    [
      {
        tools: [
          tool({ parameters: { type: "object", properties: { apiKey: { type: "string" }, nested: { token: {} } } } }),
        ],
      },
    ],
    [
      {
        messages: [{ role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "t", input: { nextToken: "p2" } }] }],
      },
    ],
    [
      {
        messages: [
          { role: "assistant", toolCalls: [{ toolCallId: "c", toolName: "t", input: {}, echo: { aToken: 1 } }] },
        ],
      },
    ],
    [{ messages: [{ role: "tool", toolCallId: "c", output: { list: [{ secret: 1 }] } }] }],
  ])("R-START-6 user material may have them: %j", (fields) => {
    expect(issuesOf(fields)).toEqual([]);
  });

  test("R-START-6 a value that looks like a secret is no matter: only names count", () => {
    expect(issuesOf({ prompt: "sk-123 password=hunter2", metadata: { note: "apiKey" } })).toEqual([]);
  });
});

describe("sizes", () => {
  test("R-START-7 the prompt's size is counted in UTF-8 over prompt, messages and tools", () => {
    const result = check({ prompt: "é" });
    expect(result.ok && promptBytes(result.request)).toBe(2);
    const more = check({ prompt: "é", ...user("日"), tools: [tool()] });
    const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;
    expect(more.ok && promptBytes(more.request)).toBe(2 + bytes(user("日").messages) + bytes([tool()]));
  });

  test("R-START-7 one byte over maxPromptBytes is too large", async () => {
    const settings = checkConfig({
      targets: [{ id: "demo", adapter: "demo" }],
      routes: { default: ["demo"] },
      limits: { maxPromptBytes: 4 },
    });
    if (!settings.ok) throw new Error("the configuration is valid");
    const { config } = settings;
    expect((await planBody({ ...base, prompt: "日a" }, config)).ok).toBe(true);
    expect(await planBody({ ...base, prompt: "日é" }, config)).toMatchObject({
      problem: { code: "too_large", issues: [{ path: "/prompt" }] },
    });
    const messages = [{ role: "user", content: "a" }];
    const tools = [tool({ description: "x".repeat(40) })];
    expect(await planBody({ ...base, messages, tools }, config)).toMatchObject({
      problem: { code: "too_large", issues: [{ path: "/tools" }] },
    });
  });

  test("R-START-7 a request above 15,000,000 bytes is too large for its object", async () => {
    const settings = checkConfig({ targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } });
    if (!settings.ok) throw new Error("the configuration is valid");
    expect((await planBody({ ...base, metadata: { filler: "m".repeat(14_000_000) } }, settings.config)).ok).toBe(true);
    expect(await planBody({ ...base, metadata: { filler: "m".repeat(15_000_000) } }, settings.config)).toMatchObject({
      problem: { code: "too_large", issues: [{ path: "" }] },
    });
  });
});

describe("a run that is pushed", () => {
  const settings = checkConfig({ targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } });
  const body = { schemaVersion: "1.0", task: { kind: "text_to_text" }, source: "push" };

  test.each([
    [{ route: "default" }, "/route"],
    [{ generation: {} }, "/generation"],
    [{ constraints: { cloud: "allowed" } }, "/constraints/cloud"],
    [{ preferences: {} }, "/preferences"],
    [{ onMidStreamFailure: "fail" }, "/onMidStreamFailure"],
    [{ clocks: { headersMs: 1 } }, "/clocks/headersMs"],
    [{ clocks: { progressMs: 1 } }, "/clocks/progressMs"],
    [{ toolChoice: "auto" }, "/toolChoice"],
    [{ serverTools: ["*"] }, "/serverTools"],
  ])("R-START-10 takes no %j", async (fields, path) => {
    if (!settings.ok) throw new Error("the configuration is valid");
    expect(await planBody({ ...body, ...fields }, settings.config)).toMatchObject({
      ok: false,
      problem: { code: "invalid_request", issues: [{ path }] },
    });
  });

  test("R-START-10 R-CLOCK-3 R-FEED-9 has no chain, and its clocks are shortened", async () => {
    if (!settings.ok) throw new Error("the configuration is valid");
    const { config } = settings;
    expect(await planBody(body, config)).toMatchObject({
      value: { chain: [], totalMs: config.limits.producerTotalMs, push: { leaseMs: config.limits.producerLeaseMs } },
    });
    const fields = {
      clocks: { idleMs: 5, totalMs: 90 },
      constraints: { timeoutMs: 80 },
      prompt: "x",
      metadata: { a: 1 },
    };
    expect(await planBody({ ...body, ...fields }, config)).toMatchObject({
      value: { totalMs: 80, push: { leaseMs: 5 }, metadata: { a: 1 } },
    });
  });
});
