// Runs against Gemini's format: what is sent over the socket, and what comes of both framings, of blocks and of errors. Every
// byte is scripted; every outcome is read over the product's own HTTP.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import {
  GEMINI_ARRAY_TYPE,
  GEMINI_STREAM_TYPE,
  geminiAnswer,
  geminiArray,
  geminiChunk,
  geminiError,
  geminiErrorObject,
  geminiEvents,
  retryInfo,
} from "../support/provider-bytes/gemini.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";

const pathOf = (id: string): string => `/${id}/v1beta/models/gemini-x:streamGenerateContent`;
const EVENTS = pathOf("events");
const ARRAY = pathOf("array");

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const target = (id: string, fields: Record<string, unknown> = {}) => ({
    id,
    adapter: "gemini",
    baseUrl: `${provider.origin}/${id}`,
    model: "gemini-x",
    keyVar: "GEMINI_API_KEY",
    ...fields,
  });
  server = await startBare({
    config: {
      targets: [target("events"), target("array", { query: { alt: "json" } })],
      routes: { default: ["events", "array"] },
    },
    vars: { GEMINI_API_KEY: "AIza-0123456789" },
  });
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
  expect(events.at(-1)?.type).toBe("terminal");
  const failures = events.filter(({ type, payload }) => type === "attempt" && payload["phase"] === "failed");
  return { body, outcome: events.at(-1)?.payload ?? {}, text: shownText(events), failure: failures[0]?.payload };
}

const events = (chunks: readonly unknown[]): string[] => geminiEvents(chunks, { lineEnd: "\r\n" });
const answer = geminiAnswer({
  thoughts: ["Hm"],
  deltas: ["Hel", "lo ✓"],
  model: "gemini-x-001",
  usage: { promptTokenCount: 12, candidatesTokenCount: 7, thoughtsTokenCount: 3, totalTokenCount: 22 },
});
const whole = {
  outcome: "completed",
  finalText: "Hello ✓",
  stopReason: "stop",
  usage: { inputTokens: 12, outputTokens: 10, reasoningTokens: 3, totalTokens: 22 },
  provenance: { reportedModel: "gemini-x-001" },
};
const begun = geminiAnswer({ deltas: ["Hi"], finishReason: null });

test("R-PROV-5 R-PROV-7 events: the key arrives in its header, the answer is read", async () => {
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events(answer)));
  const { outcome, body } = await run({ targets: ["events"], prompt: "Grüße" });
  expect(outcome).toMatchObject(whole);
  expect(body).not.toContain("AIza");
  const [call] = provider.calls(EVENTS);
  expect(call?.query).toBe("?alt=sse");
  expect(call?.headers).toMatchObject({ "x-goog-api-key": "AIza-0123456789", accept: "text/event-stream" });
  expect(JSON.parse(call?.body ?? "")).toMatchObject({ contents: [{ role: "user", parts: [{ text: "Grüße" }] }] });
});

test("R-PROV-1 R-PROV-5 an array: complete at its bracket, though the connection stays open", async () => {
  provider.on(ARRAY, streamScript(GEMINI_ARRAY_TYPE, geminiArray(answer), { end: "hang" }));
  expect((await run({ targets: ["array"] })).outcome).toMatchObject(whole);
  expect(provider.calls(ARRAY)[0]?.query).toBe("?alt=json");
  await provider.calls(ARRAY)[0]?.closed;
});

test("R-PROV-6 silence after a finishReason completes the run after 5 s and closes the socket", async () => {
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events(answer), { end: "hang" }));
  expect((await run({ targets: ["events"] })).outcome).toMatchObject(whole);
  await provider.calls(EVENTS)[0]?.closed;
}, 20_000);

test.each([
  ["events", EVENTS, GEMINI_STREAM_TYPE, events(begun)],
  ["array", ARRAY, GEMINI_ARRAY_TYPE, geminiArray(geminiAnswer({ deltas: ["Hi"] }), false)],
])("R-PROV-1 %s that end before the end are truncated", async (target, path, type, pieces) => {
  provider.on(path, streamScript(type, pieces));
  expect((await run({ targets: [target] })).outcome).toMatchObject({
    outcome: "error",
    partialText: "Hi",
    error: { details: { failureClass: "truncated" } },
  });
});

test("R-PROV-25 R-PROV-27 a client that goes on by itself hands a call's echo back, and the provider gets its signature", async () => {
  const functionCall = { name: "look", args: { at: "世" } };
  const chunks = [geminiChunk([{ functionCall, thoughtSignature: "c2ln" }], { finishReason: "STOP" })];
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events(chunks)));
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const response = await post(`${server.origin}/v1/runs`, startBody({ targets: ["events"], tools }), {
    accept: "text/event-stream",
  });
  const call = eventsOf(await response.text()).find(({ type }) => type === "tool_call")?.payload ?? {};
  expect(call["echo"]).toEqual({ adapter: "gemini", target: "events", model: "gemini-x", thoughtSignature: "c2ln" });

  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events(answer)));
  const { toolCallId, toolName, input, echo } = call;
  const messages = [
    { role: "user", content: "Look." },
    { role: "assistant", toolCalls: [{ toolCallId, toolName, input, echo }] },
    { role: "tool", toolCallId, output: "a cat" },
  ];
  expect((await run({ targets: ["events"], tools, messages })).outcome).toMatchObject(whole);
  const parts = [{ functionCall: { id: "call_0", ...functionCall }, thoughtSignature: "c2ln" }];
  const result = { functionResponse: { id: "call_0", name: "look", response: { output: "a cat" } } };
  expect(JSON.parse(provider.calls(EVENTS).at(-1)?.body ?? "")).toMatchObject({
    contents: [{}, { role: "model", parts }, { role: "user", parts: [result] }],
  });
});

// B19, P16
const overload = geminiErrorObject(503, "UNAVAILABLE");
test.each([
  ["an event", events([...begun, overload])],
  ["a tail without data:", [...events(begun), JSON.stringify(overload, null, 2)]],
])("R-PROV-3 an error after text, as %s, is named as the cause", async (_name, pieces) => {
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, pieces));
  expect((await run({ targets: ["events"] })).outcome).toMatchObject({
    outcome: "error",
    partialText: "Hi",
    error: { errorClass: "Unavailable", retryable: true, details: { failureClass: "overloaded" } },
  });
});

test("R-PROV-4 a refusal's RetryInfo is the wait, and the chain goes on", async () => {
  const limit = geminiError(429, "RESOURCE_EXHAUSTED", { message: "secret prose", details: [retryInfo("34.4s")] });
  provider.on(EVENTS, answerScript(limit));
  provider.on(ARRAY, streamScript(GEMINI_ARRAY_TYPE, geminiArray(answer)));
  const { outcome, failure, body } = await run({});
  expect(outcome).toMatchObject(whole);
  expect(failure).toMatchObject({
    failureClass: "rate_limited",
    retryAfterMs: 34_400,
    providerCode: "RESOURCE_EXHAUSTED",
  });
  expect(body).not.toContain("secret prose");
});

// P15
test("R-PROV-8 a blocked prompt is content_policy; a block after text is content_filter", async () => {
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events([{ promptFeedback: { blockReason: "SAFETY" } }])));
  expect((await run({ targets: ["events"] })).failure).toMatchObject({ failureClass: "content_policy" });
  const cut = geminiChunk([{ text: "Hi" }], { finishReason: "SAFETY" });
  provider.on(EVENTS, streamScript(GEMINI_STREAM_TYPE, events([cut])));
  expect((await run({ targets: ["events"] })).outcome).toMatchObject({
    outcome: "completed",
    finishReason: "error",
    stopReason: "content_filter",
  });
});
