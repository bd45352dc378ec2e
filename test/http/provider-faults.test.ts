// What providers really send: truncated bodies in every format, pages and JSON where a stream was asked for, retry hints,
// redirects, compression and awkward packets. Every byte is scripted; every outcome is read over the product's own HTTP.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { anthropicEvent, anthropicMessages } from "../support/provider-bytes/anthropic-messages.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import {
  openAiChat,
  openAiCompletion,
  openAiDelta,
  openAiErrorEvent,
  openAiEvent,
} from "../support/provider-bytes/openai-chat.ts";
import {
  answerScript,
  errorScript,
  joinBytes,
  splitBytes,
  streamScript,
  type StreamOptions,
} from "../support/provider-bytes/scripts.ts";
import {
  anthropic,
  formats,
  ollama,
  responses,
  openAi,
  pathOf,
  scriptedConfig,
  type ScriptedFormat,
} from "../support/scripted-targets.ts";

const KEY = "sk-live-0123456789";
const SECRET_PROMPT = "the merger of Ajax and Zeta";

let provider: FaultProvider;
let server: Holdfast;
let startupLog = "";

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startBare({
    config: scriptedConfig(provider.origin, {
      fields: { keyVar: "PROVIDER_KEY" },
      targets: ["UNSET_KEY", "BLANK_KEY", "ODD_KEY", "PASTED_KEY"].map((keyVar) => ({
        id: keyVar,
        adapter: "openai-chat",
        baseUrl: `${provider.origin}/openai-a`,
        model: "m",
        keyVar,
      })),
      clocks: { headersMs: 2000, idleMs: 800 },
    }),
    vars: { PROVIDER_KEY: KEY, BLANK_KEY: " ", ODD_KEY: `${KEY}é✓`, PASTED_KEY: ` ${KEY}\n` },
  });
  startupLog = server.log();
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

async function run(fields: Record<string, unknown>) {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const body = await response.text();
  const events = eventsOf(body);
  const last = events.at(-1);
  expect(last?.type).toBe("terminal");
  const attempt = events.find(({ type, payload }) => type === "attempt" && payload["phase"] === "failed")?.payload;
  return { body, events, attempt, outcome: last?.payload ?? {}, text: shownText(events), runId: last?.runId ?? "" };
}

const only = (format: ScriptedFormat) => ({ targets: [`${format.name}-a`] });
const stream = (format: ScriptedFormat, events: readonly string[], options: StreamOptions = {}): Script =>
  streamScript(format.contentType, events, options);

const untold: readonly [name: string, format: ScriptedFormat, events: readonly string[]][] = [
  ["openai: content without a finish_reason", openAi, openAi.part(["a"])],
  ["openai: [DONE] alone proves nothing", openAi, openAiChat({ deltas: ["a"], finishReason: null })],
  [
    "openai: usage and [DONE] prove nothing",
    openAi,
    openAiChat({
      deltas: ["a"],
      finishReason: null,
      usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
    }),
  ],
  [
    "openai: an empty finish_reason is none",
    openAi,
    [...openAi.part([]), openAiDelta({ content: "a" }, {}, ""), openAiEvent("[DONE]")],
  ],
  ["openai: the last event is cut in two", openAi, [...openAi.part(["a"]), 'data: {"choices":[{"index":0,"del']],
  ["anthropic: content without a message_delta", anthropic, anthropic.part(["a"])],
  ["anthropic: a stop_reason without message_stop", anthropic, anthropicMessages({ deltas: ["a"], stop: false })],
  ["anthropic: message_stop without a stop_reason", anthropic, anthropicMessages({ deltas: ["a"], stopReason: null })],
  ["responses: content, its done events and no last event", responses, responses.part(["a"])],
  ["responses: [DONE] proves nothing", responses, [...responses.part(["a"]), "data: [DONE]\n\n"]],
  ["responses: the last event is cut in two", responses, [responses.whole(["a"]).join("").slice(0, -40)]],
  ["ollama: no line with done: true", ollama, ollama.part(["a"])],
  ["ollama: the last line is cut in two", ollama, [...ollama.part(["a"]), '{"model":"m","done":tr']],
];
test.each(untold)("R-PROV-1 %s: truncated, never completed", async (_name, format, events) => {
  provider.on(pathOf(format), stream(format, events));
  const { outcome, text } = await run(only(format));
  expect(text).toBe("a");
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "a",
    error: { errorClass: "Internal", details: { failureClass: "truncated" } },
  });
});

const told: readonly [name: string, format: ScriptedFormat, events: readonly string[], options: StreamOptions][] = [
  ["openai: a finish_reason and a clean end without [DONE]", openAi, openAiChat({ deltas: ["a"], done: false }), {}],
  [
    "openai: a finish_reason and a body that lasts until the close",
    openAi,
    openAiChat({ deltas: ["a"], done: false }),
    { framing: "until-close" },
  ],
  [
    "openai: [DONE] without a line end",
    openAi,
    [...openAiChat({ deltas: ["a"], done: false }), "data: [DONE]"],
    { framing: "length" },
  ],
  ["openai: a connection that stays open after [DONE]", openAi, openAiChat({ deltas: ["a"] }), { end: "hang" }],
  ["anthropic: message_stop and a connection that stays open", anthropic, anthropic.whole(["a"]), { end: "hang" }],
  [
    "responses: response.completed and a connection that stays open",
    responses,
    responses.whole(["a"]),
    { end: "hang" },
  ],
  ["responses: response.completed without a line end", responses, [responses.whole(["a"]).join("").trimEnd()], {}],
  [
    "ollama: done: true without a line end",
    ollama,
    ollama.whole(["a"]).map((line, index, all) => (index === all.length - 1 ? line.trimEnd() : line)),
    {},
  ],
];
test.each(told)("R-PROV-1 %s: completed", async (_name, format, events, options) => {
  provider.on(pathOf(format), stream(format, events, options));
  const { outcome } = await run(only(format));
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "a", finishReason: "stop" });
  // The socket is not left behind: it is closed, or its answer was read to the end.
  if (options.end === "hang") await provider.calls(pathOf(format))[0]?.closed;
});

const html = { "content-type": "text/html" };
const page = "<!doctype html><title>Oops</title>";
const notStreams: readonly [name: string, failureClass: string, script: (format: ScriptedFormat) => Script][] = [
  ["a page with a 200", "bad_gateway_page", () => errorScript(200, html, page)],
  [
    "a page that calls itself a stream",
    "bad_gateway_page",
    ({ contentType }) => streamScript(contentType, [`\n\n ${page}`]),
  ],
  ["a page with a 502", "upstream_5xx", () => errorScript(502, html, page)],
  ["a page with a 429", "rate_limited", () => errorScript(429, html, page)],
  ["an empty body", "truncated", ({ contentType }) => errorScript(200, { "content-type": contentType }, "")],
  ["an empty stream", "truncated", ({ contentType }) => streamScript(contentType, [])],
  ["blank lines only", "truncated", ({ contentType }) => streamScript(contentType, ["\n", "\n\n"])],
  ["an empty answer without a body", "truncated", () => [{ step: "head", status: 204 }]],
  [
    "an error status whose body is cut",
    "upstream_5xx",
    () => streamScript("application/json", ['{"error":'], { status: 500, end: "rst" }),
  ],
  [
    "an error status whose body never ends",
    "rate_limited",
    () => streamScript("application/json", ['{"error":'], { status: 429, end: "hang" }),
  ],
  ["an error status and no body at all", "overloaded", () => errorScript(503, {}, "")],
  [
    "an error body of 3 MB",
    "upstream_5xx",
    () => errorScript(500, {}, `{"error":{"message":"${"x".repeat(3_000_000)}"}}`),
  ],
];
test.each(
  formats.flatMap((format) =>
    notStreams.map(([name, failureClass, script]) => ({ format, name, failureClass, script })),
  ),
)(
  "R-PROV-3 $format.name gets $name: an attempt failure of class $failureClass",
  async ({ format, failureClass, script }) => {
    const next = format === openAi ? anthropic : openAi;
    provider.on(pathOf(format), script(format));
    provider.on(pathOf(next, "b"), stream(next, next.whole(["fine"])));
    const { attempt, outcome } = await run({ targets: [`${format.name}-a`, `${next.name}-b`] });
    expect(attempt).toMatchObject({ failureClass });
    expect(outcome).toMatchObject({ outcome: "completed", finalText: "fine" });
  },
);

const json = { "content-type": "application/json" };
test.each<[string, ScriptedFormat, string, Script]>([
  ["a whole JSON answer", openAi, "protocol", answerScript(openAiCompletion("the answer"))],
  [
    "an error object with a 200",
    openAi,
    "rate_limited",
    errorScript(200, json, '{"error":{"message":"m","type":"rate_limit_error","code":"rate_limit_exceeded"}}'),
  ],
  [
    "an error object with a 200",
    anthropic,
    "overloaded",
    errorScript(200, json, '{"type":"error","error":{"type":"overloaded_error","message":"m"}}'),
  ],
  ["an error object with a 200", ollama, "upstream_5xx", errorScript(200, json, '{"error":"model runner stopped"}')],
  [
    "an error in the first event",
    openAi,
    "quota",
    stream(openAi, [openAiErrorEvent("insufficient_quota", "insufficient_quota")]),
  ],
  [
    "an error event without an error object",
    anthropic,
    "unknown",
    stream(anthropic, [anthropicEvent("error", { message: "m" })]),
  ],
  ["text that is not JSON", openAi, "malformed", stream(openAi, ["data: hello\n\n"])],
  ["text that is not JSON", anthropic, "malformed", stream(anthropic, ["event: message_start\ndata: hello\n\n"])],
  ["text that is not JSON", ollama, "malformed", stream(ollama, ["hello\n", "world\n"])],
  [
    "binary bytes",
    openAi,
    "truncated",
    streamScript("text/event-stream", [new Uint8Array([0, 255, 1, 254, 200, 10, 3])]),
  ],
  [
    "binary bytes",
    ollama,
    "malformed",
    streamScript("application/x-ndjson", [new Uint8Array([0, 255, 1, 254, 200, 10, 3])]),
  ],
])("R-PROV-3 %s (%o): class %s, and the next target is tried", async (_name, format, failureClass, script) => {
  const next = format === openAi ? anthropic : openAi;
  provider.on(pathOf(format), script);
  provider.on(pathOf(next, "b"), stream(next, next.whole(["fine"])));
  const { attempt, outcome } = await run({ targets: [`${format.name}-a`, `${next.name}-b`] });
  expect(attempt).toMatchObject({ failureClass });
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "fine" });
});

test.each([
  ["retry-after in seconds", () => ({ "retry-after": "3" }), 3000, 3000],
  ["retry-after as a date", () => ({ "retry-after": new Date(Date.now() + 60_000).toUTCString() }), 55_000, 60_000],
  ["a date in the past", () => ({ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }), 0, 0],
  ["retry-after-ms", () => ({ "retry-after-ms": "250" }), 250, 250],
  ["retry-after-ms beside retry-after", () => ({ "retry-after-ms": "250", "retry-after": "9" }), 250, 250],
])("R-PROV-4 %s becomes retryAfterMs", async (_name, headers, low, high) => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(429, "no", headers())));
  const { attempt, outcome } = await run(only(openAi));
  const hint = Number(attempt?.["retryAfterMs"]);
  expect(hint).toBeGreaterThanOrEqual(low);
  expect(hint).toBeLessThanOrEqual(high);
  expect(outcome).toMatchObject({ error: { retryAfterMs: hint } });
});

test("R-PROV-4 nonsense in Retry-After is no hint", async () => {
  provider.on(pathOf(openAi), answerScript(openAi.refusal(429, "no", { "retry-after": "soon" })));
  const { attempt, outcome } = await run(only(openAi));
  expect(attempt).not.toHaveProperty("retryAfterMs");
  expect(outcome["error"]).not.toHaveProperty("retryAfterMs");
});

test.each([
  ["UNSET_KEY", "not set"],
  ["BLANK_KEY", "not set"],
  ["ODD_KEY", "characters"],
])("R-PROV-17 a target with the secret %s fails as auth, and nothing is called", async (name, words) => {
  const { attempt, body } = await run({ targets: [name] });
  expect(attempt).toMatchObject({ failureClass: "auth", message: expect.stringMatching(`${name}.*${words}`) });
  expect(body).not.toContain(KEY);
  expect(provider.calls()).toHaveLength(0);
});

test("R-PROV-17 a secret is sent without the white space around it", async () => {
  provider.on(pathOf(openAi), stream(openAi, openAi.whole(["fine"])));
  expect((await run({ targets: ["PASTED_KEY"] })).text).toBe("fine");
  expect(provider.calls()[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
});

test("R-PROV-6 silence after a finish_reason completes the run after 5 s and closes the socket", async () => {
  const events = openAiChat({ deltas: ["whole"], done: false });
  provider.on(pathOf(openAi), stream(openAi, events, { end: "hang" }));
  const started = performance.now();
  // The idle clock of this target is shorter than the wait: the answer is over, so it no longer counts.
  const { outcome } = await run(only(openAi));
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "whole", finishReason: "stop" });
  expect(outcome).not.toHaveProperty("usage");
  expect(performance.now() - started).toBeGreaterThan(4800);
  expect(performance.now() - started).toBeLessThan(7000);
  expect((await provider.calls(pathOf(openAi))[0]?.closed)?.how).not.toBe("local");
});

test("R-PROV-6 output that follows a finish_reason all the same begins the wait anew", async () => {
  // A server that finishes with every token.
  const token = (content: string) => sseEvent({ choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] });
  const events = ["a", "b", "c", "d"].map(token);
  provider.on(pathOf(openAi), stream(openAi, [...events, sseEvent("[DONE]")], { delayMs: 1900 }));
  const { outcome } = await run(only(openAi));
  expect(outcome).toMatchObject({ outcome: "completed", finalText: "abcd" });
});

test("R-PROV-6 usage that comes within the wait is counted", async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const events = openAiChat({ deltas: ["whole"], usage });
  provider.on(pathOf(openAi), stream(openAi, events, { gateBefore: { index: events.length - 2, name: "usage" } }));
  const running = run(only(openAi));
  await provider.reached("usage");
  provider.open("usage");
  expect((await running).outcome).toMatchObject({
    outcome: "completed",
    usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
  });
});

test.each([301, 302, 303, 307, 308])(
  "R-PROV-9 a %i redirect is not followed; the next target is tried",
  async (status) => {
    const location = `${provider.origin}/elsewhere/chat/completions`;
    provider.on("/elsewhere/chat/completions", stream(openAi, openAi.whole(["wrong place"])));
    provider.on(pathOf(openAi), errorScript(status, { location }, ""));
    provider.on(pathOf(anthropic, "b"), stream(anthropic, anthropic.whole(["fine"])));
    const { attempt, outcome, body } = await run({});
    expect(provider.calls("/elsewhere/chat/completions")).toHaveLength(0);
    expect(attempt).toMatchObject({ httpStatus: status });
    expect(outcome).toMatchObject({ outcome: "completed", finalText: "fine" });
    expect(body).not.toContain("elsewhere");
  },
);

test("R-PROV-9 nothing that a provider says, and neither key nor address, is passed on or logged", async () => {
  const leak = `Bad key ${KEY} for ${provider.origin}: prompt was ${SECRET_PROMPT}`;
  const refusals: readonly [ScriptedFormat, Script][] = [
    [openAi, answerScript(openAi.refusal(401, leak))],
    [anthropic, answerScript(anthropic.refusal(500, leak))],
    [ollama, stream(ollama, [JSON.stringify({ error: leak }), "\n"])],
  ];
  for (const [format, script] of refusals) provider.on(pathOf(format), script);
  const { body, outcome, runId } = await run({
    targets: ["openai-a", "anthropic-a", "ollama-a"],
    prompt: SECRET_PROMPT,
    telemetry: { level: "debug" },
  });
  expect(outcome).toMatchObject({ outcome: "error", error: { errorClass: "Unavailable" } });
  const sent = provider.calls().map(({ headers }) => headers["authorization"] ?? headers["x-api-key"]);
  expect(sent).toEqual([`Bearer ${KEY}`, KEY, `Bearer ${KEY}`]);
  const state = await (await fetch(`${server.origin}/v1/runs/${runId}`)).text();
  const standing = await (await fetch(`${server.origin}/v1/runs/${runId}/outcome`)).text();
  const logged = server.log().slice(startupLog.length);
  expect(logged).toContain("stream_failed");
  for (const told of [body, state, standing, logged]) {
    for (const secret of [KEY, SECRET_PROMPT, `127.0.0.1:${provider.port}`, "Bad key"])
      expect(told).not.toContain(secret);
  }
});

const deltas = Array.from({ length: 48 }, (_, index) => `${index} 北京 🙂 é "\\ `);
const bytesOf = (format: ScriptedFormat) => joinBytes(format.whole(deltas));
const packets: readonly [name: string, script: (format: ScriptedFormat) => Script][] = [
  ["one event per packet", (format) => stream(format, format.whole(deltas))],
  ["16 events per packet", (format) => stream(format, format.whole(deltas), { perPacket: 16 })],
  ["all in one packet", (format) => stream(format, format.whole(deltas), { perPacket: 1000, framing: "length" })],
  [
    "one byte per packet",
    (format) => streamScript(format.contentType, splitBytes(bytesOf(format), [...bytesOf(format).keys()])),
  ],
  ["gzip, piece by piece", (format) => stream(format, format.whole(deltas), { gzip: true })],
];
test.each(formats.flatMap((format) => packets.map(([name, script]) => ({ format, name, script }))))(
  "R-PROV-2 $format.name in $name: the same text",
  async ({ format, script }) => {
    provider.on(pathOf(format), script(format));
    const { outcome, text } = await run(only(format));
    expect(text).toBe(deltas.join(""));
    expect(outcome).toMatchObject({ outcome: "completed", finalText: deltas.join(""), usage: { outputTokens: 48 } });
  },
);
