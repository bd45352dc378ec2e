// Streams of Google Gemini in both framings: whole, broken and odd.
import { isRecord } from "../../../src/wire/json.ts";
import { sseEvent } from "../provider-bytes/framing.ts";
import {
  geminiAnswer,
  geminiArray,
  geminiChunk,
  geminiErrorObject,
  geminiEvents,
  quotaFailure,
  retryInfo,
} from "../provider-bytes/gemini.ts";
import type { CorpusFormat, CorpusStream, ExpectedEnd } from "./corpus-stream.ts";
import { arrayContractMetAt, sseContractMetAt } from "./terminal-contract.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end" | "framing">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "gemini",
  wire: wire.join(""),
  end,
  ...expected,
});

/** The same in the array framing. */
const array = (...[name, ...rest]: Parameters<typeof stream>): CorpusStream => ({
  ...stream(`array: ${name}`, ...rest),
  framing: "array",
});

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const filtered: ExpectedEnd = { verdict: "complete", stopReason: "content_filter" };
const truncated: ExpectedEnd = { verdict: "truncated" };
const failed = (failureClass: "overloaded" | "rate_limited" | "quota" | "malformed" | "upstream_5xx", code?: string) =>
  ({ verdict: "failed", failureClass, ...(code !== undefined && { providerCode: code }) }) satisfies ExpectedEnd;

const wireUsage = {
  promptTokenCount: 12,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 3,
  cachedContentTokenCount: 2,
  totalTokenCount: 22,
};
const usage = { inputTokens: 12, outputTokens: 10, reasoningTokens: 3, cachedInputTokens: 2, totalTokens: 22 };
const text = (...deltas: readonly string[]) => geminiAnswer({ deltas });
const begun = (...deltas: readonly string[]) => geminiAnswer({ deltas, finishReason: null });
const call = (functionCall: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  geminiChunk([{ functionCall, ...more }]);
const stop = geminiChunk([{ text: "" }], { finishReason: "STOP" });
const overload = geminiErrorObject(503, "UNAVAILABLE");

const whole: readonly CorpusStream[] = [
  stream(
    "thoughts, text, usage on chunks",
    geminiEvents([
      { ...geminiChunk([{ text: "Hm", thought: true }]), usageMetadata: { promptTokenCount: 12 } },
      ...geminiAnswer({ deltas: ["Hé", "llo 世", "界🎉"], usage: wireUsage, model: "gemini-x" }),
    ]),
    complete,
    { text: "Héllo 世界🎉", reasoning: "Hm", usage },
  ),
  stream(
    "the shortest answer",
    geminiEvents([
      { candidates: [{ content: { parts: [{ text: "é✓🎉" }] } }] },
      { candidates: [{ finishReason: "STOP" }] },
    ]),
    complete,
    { text: "é✓🎉" },
  ),
  stream("a final event without line ends", [...geminiEvents(begun("Hi")), sseEvent(stop).trimEnd()], complete, {
    text: "Hi",
  }),
  stream("usage after the end", geminiEvents([...text("Hi"), { usageMetadata: wireUsage }]), complete, {
    text: "Hi",
    usage,
  }),
  stream("an empty answer", geminiEvents([{ candidates: [{ content: {}, finishReason: "STOP" }] }]), complete),
  stream(
    "length",
    geminiEvents(geminiAnswer({ deltas: ["cut"], finishReason: "MAX_TOKENS" })),
    { verdict: "complete", stopReason: "length" },
    { text: "cut" },
  ),
  stream("safety after text", geminiEvents(geminiAnswer({ deltas: ["a"], finishReason: "SAFETY" })), filtered, {
    text: "a",
  }),
  stream("a blocked prompt", geminiEvents([{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }]), filtered),
  stream(
    "an unknown reason",
    geminiEvents(geminiAnswer({ deltas: ["a"], finishReason: "OTHER" })),
    { verdict: "complete" },
    { text: "a" },
  ),
  stream(
    "glued values, a list, a string, null",
    [
      sseEvent(
        begun("a")
          .concat(begun("b"))
          .map((chunk) => JSON.stringify(chunk))
          .join(""),
      ),
      sseEvent([...begun("c")]),
      sseEvent('"text"'),
      sseEvent("null"),
      ...geminiEvents(text("d")),
    ],
    complete,
    { text: "abcd" },
  ),
];

const calls: readonly CorpusStream[] = [
  stream(
    "text and two calls in one chunk",
    geminiEvents([
      geminiChunk([
        { text: "Let me see." },
        { functionCall: { name: "weather", args: { city: "北京" } } },
        { functionCall: { name: "weather", args: {}, id: "x" } },
      ]),
      stop,
    ]),
    called,
    {
      text: "Let me see.",
      calls: [
        { toolCallId: "call_0", toolName: "weather", input: { city: "北京" } },
        { toolCallId: "x", toolName: "weather", input: {} },
      ],
    },
  ),
  stream(
    "one call per chunk, signed",
    geminiEvents([
      call({ name: "a", args: { n: 1 } }, { thoughtSignature: "c2ln" }),
      call({ name: "a" }, { thought: true }),
      geminiChunk([{ text: "", thoughtSignature: "c2ln" }]),
      stop,
    ]),
    called,
    {
      calls: [
        { toolCallId: "call_0", toolName: "a", input: { n: 1 }, echo: { thoughtSignature: "c2ln" } },
        { toolCallId: "call_1", toolName: "a", input: {} },
      ],
    },
  ),
  stream(
    "streamed arguments with and without a terminator",
    geminiEvents([
      call({ name: "f", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.a[0].b", stringValue: 'é"', willContinue: true }], willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.a[0].b", stringValue: "🎉" }], willContinue: true }),
      call({ willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.a[1]", numberValue: 0.5 }], willContinue: true }),
      call({}),
      call({ name: "g", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$['x y']", boolValue: true }], willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.z", nullValue: "NULL_VALUE" }], willContinue: true }),
      stop,
    ]),
    called,
    {
      calls: [
        { toolCallId: "call_0", toolName: "f", input: { a: [{ b: 'é"🎉' }, 0.5] } },
        { toolCallId: "call_1", toolName: "g", input: { "x y": true, z: null } },
      ],
    },
  ),
  stream(
    "streamed arguments, signed at their end",
    geminiEvents([
      call({ name: "f", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.a", stringValue: "é" }], willContinue: true }),
      call({}, { thoughtSignature: "c2lnbmVk" }),
      stop,
    ]),
    called,
    { calls: [{ toolCallId: "call_0", toolName: "f", input: { a: "é" }, echo: { thoughtSignature: "c2lnbmVk" } }] },
  ),
  stream(
    "streamed arguments cut by the limit",
    geminiEvents([
      call({ name: "f", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.a", stringValue: "x" }], willContinue: true }),
      geminiChunk([], { finishReason: "MAX_TOKENS" }),
    ]),
    { verdict: "complete", stopReason: "length" },
  ),
];

const broken: readonly CorpusStream[] = [
  stream("nothing at all", [""], truncated),
  stream("text, then the end", geminiEvents(begun("Hi")), truncated, { text: "Hi" }),
  stream("half an event", [...geminiEvents(begun("Hi")), sseEvent(stop).slice(0, 60)], truncated, { text: "Hi" }),
  stream("a call, then the end", geminiEvents([call({ name: "a", args: {} })]), truncated),
  stream("a malformed call", geminiEvents([geminiChunk([], { finishReason: "MALFORMED_FUNCTION_CALL" })]), {
    verdict: "failed",
    failureClass: "upstream_5xx",
    providerCode: "MALFORMED_FUNCTION_CALL",
  }),
  stream("an error after text", geminiEvents([...begun("Hi"), overload]), failed("overloaded", "UNAVAILABLE"), {
    text: "Hi",
  }),
  stream(
    "an error without data: after text",
    [...geminiEvents(begun("Hi")), JSON.stringify(overload, null, 1)],
    failed("overloaded", "UNAVAILABLE"),
    { text: "Hi" },
  ),
  stream(
    "an error without data: on one line, in a list",
    [...geminiEvents(begun("Hi")), JSON.stringify([overload])],
    failed("overloaded", "UNAVAILABLE"),
    { text: "Hi" },
  ),
  stream(
    "a rate limit",
    geminiEvents([geminiErrorObject(429, "RESOURCE_EXHAUSTED", { details: [retryInfo("34.4s")] })]),
    failed("rate_limited", "RESOURCE_EXHAUSTED"),
  ),
  stream(
    "a spent quota",
    geminiEvents([geminiErrorObject(429, "RESOURCE_EXHAUSTED", { details: [quotaFailure("RequestsPerDay")] })]),
    failed("quota", "RESOURCE_EXHAUSTED"),
  ),
  stream(
    "an event that is not JSON",
    [...geminiEvents(begun("Hi")), sseEvent("oops"), sseEvent(stop)],
    failed("malformed"),
    {
      text: "Hi",
    },
  ),
];

const arrays: readonly CorpusStream[] = [
  array("text", geminiArray(geminiAnswer({ thoughts: ["Hm"], deltas: ["Hé🎉", "]"], usage: wireUsage })), complete, {
    text: "Hé🎉]",
    reasoning: "Hm",
    usage,
  }),
  array("over many lines", [JSON.stringify(text('a"}', "b"), null, 1)], complete, { text: 'a"}b' }),
  array("calls", geminiArray([call({ name: "f", args: { list: [{ n: 1 }] } }), call({ name: "g" }), stop]), called, {
    calls: [
      { toolCallId: "call_0", toolName: "f", input: { list: [{ n: 1 }] } },
      { toolCallId: "call_1", toolName: "g", input: {} },
    ],
  }),
  array("a blocked prompt", geminiArray([{ promptFeedback: { blockReason: "OTHER" } }]), filtered),
  array("without its bracket", geminiArray(text("Hi"), false), truncated, { text: "Hi" }),
  array("closed without an end", geminiArray(begun("Hi")), truncated, { text: "Hi" }),
  array("empty", geminiArray([]), truncated),
  array("an error after text", geminiArray([...begun("Hi"), overload]), failed("overloaded", "UNAVAILABLE"), {
    text: "Hi",
  }),
  array(
    "an error without its comma",
    [...geminiArray(begun("Hi"), false), JSON.stringify(overload)],
    failed("overloaded", "UNAVAILABLE"),
    { text: "Hi" },
  ),
];

/** A candidate that finished, or a block of the prompt. */
function isOver({ candidates, promptFeedback }: Record<string, unknown>): boolean {
  const finished = Array.isArray(candidates) && candidates.some((entry) => isRecord(entry) && "finishReason" in entry);
  return finished || (isRecord(promptFeedback) && "blockReason" in promptFeedback);
}

export const geminiFormat: CorpusFormat = {
  format: "gemini",
  framing: "sse",
  streams: [...whole, ...calls, ...broken, ...arrays],
  contractMetAt: (candidate) =>
    candidate.framing === "array" ? arrayContractMetAt(candidate, isOver) : sseContractMetAt(candidate, isOver),
};
