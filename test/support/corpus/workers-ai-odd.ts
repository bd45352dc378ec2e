// Streams of Workers AI that end in none of the proper ways, or say what they say in other places.
import { sseEvent } from "../provider-bytes/framing.ts";
import { workersAiDone as done, workersAiToken as token } from "../provider-bytes/workers-ai.ts";
import type { CorpusStream, ExpectedEnd } from "./corpus-stream.ts";
import { failed, truncated, weather } from "./openai-chat-pieces.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (name: string, wire: readonly string[], end: ExpectedEnd, expected: Expected = {}): CorpusStream => ({
  name,
  format: "workers-ai",
  wire: wire.join(""),
  end,
  ...expected,
});

const hi = token("Hi");
const text = { text: "Hi" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const filtered: ExpectedEnd = { verdict: "complete", stopReason: "content_filter" };
const choice = (fields: Record<string, unknown>): string => sseEvent({ choices: [fields] });
const chat = choice({ delta: { content: "Hi" } });
const broken = failed("upstream_5xx");

export const workersAiOddStreams: readonly CorpusStream[] = [
  stream(
    "OpenAI's chunks, an error for an end",
    [chat, choice({ delta: {}, finish_reason: "error" }), done],
    broken,
    text,
  ),
  stream(
    "OpenAI's chunks, a shortage for an end",
    [chat, choice({ delta: {}, finish_reason: "insufficient_system_resource" }), done],
    failed("overloaded"),
    text,
  ),
  stream(
    "an error for an end beside the response",
    [hi, sseEvent({ response: "", finish_reason: "error" }), done],
    broken,
    text,
  ),
  stream("OpenAI's chunks without a finish_reason", [chat, done], truncated, text),
  stream("OpenAI's chunks, a role alone", [choice({ delta: { role: "assistant", content: "" } }), done], truncated),
  stream("a response of null alone", [sseEvent({ response: null }), done], truncated),
  stream("a failure without a cause", [hi, sseEvent({ success: false, errors: [] }), done], failed("unknown"), text),
  stream("a failure in words", [hi, sseEvent({ errors: ["boom"] }), done], failed("unknown"), text),
  stream("an error that is its number", [hi, sseEvent({ error: 3040 }), done], failed("overloaded"), text),
  stream(
    "an error whose code is no number of theirs",
    [hi, sseEvent({ error: { code: "__proto__", type: "overloaded_error" } }), done],
    failed("overloaded", "overloaded_error"),
    text,
  ),
  stream(
    "an error that is not called one",
    [hi, sseEvent({ code: 429, message: "scripted" }), done],
    failed("rate_limited"),
    text,
  ),
  stream(
    "an error in the choice",
    [chat, choice({ delta: {}, error: { code: 3040 }, finish_reason: "error" }), done],
    failed("overloaded"),
    text,
  ),
  stream(
    "OpenAI's chunks, a refusal",
    [choice({ delta: { refusal: "No." } }), choice({ delta: {}, finish_reason: "stop" }), done],
    filtered,
    { text: "No." },
  ),
  stream(
    "OpenAI's whole answer, twice",
    [
      choice({ message: { content: "Hi" }, finish_reason: "stop" }),
      choice({ message: { content: "Hi" }, finish_reason: "stop" }),
      done,
    ],
    { verdict: "complete", stopReason: "stop" },
    text,
  ),
  stream(
    "OpenAI's older call",
    [
      choice({ delta: { function_call: { name: "weather", arguments: '{"city":' } } }),
      choice({ delta: { function_call: { arguments: '"北京"}' } } }),
      choice({ delta: {}, finish_reason: "function_call" }),
      done,
    ],
    called,
    { calls: [{ ...weather, toolCallId: "call_0" }] },
  ),
  stream(
    "OpenAI's chunks with the text as a response too",
    [
      sseEvent({ response: "Hi", choices: [{ delta: { content: "Hi" } }] }),
      sseEvent({ response: "", choices: [{ delta: {}, finish_reason: "stop" }] }),
      done,
    ],
    { verdict: "complete", stopReason: "stop" },
    text,
  ),
  stream("events as lists", [sseEvent([{ response: "H" }, { response: "i" }]), done], { verdict: "complete" }, text),
  stream("[DONE] glued to the last event", [hi.trimEnd(), "[DONE]\n\n"], { verdict: "complete" }, text),
];
