// Streams of Bedrock's ConverseStream (AWS event-stream messages): whole, broken and odd.
import { awsMessage, withWrongByte } from "../provider-bytes/aws-event-stream.ts";
import {
  bedrockBlockStop,
  bedrockErrorMessage,
  bedrockEvent,
  bedrockException,
  bedrockMetadata,
  bedrockReasoning,
  bedrockStart,
  bedrockStop,
  bedrockText,
  bedrockToolInput,
  bedrockToolStart,
} from "../provider-bytes/bedrock-converse.ts";
import { joinBytes } from "../provider-bytes/splits.ts";
import type { CorpusFormat, CorpusStream, ExpectedCall, ExpectedEnd } from "./corpus-stream.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

const stream = (
  name: string,
  wire: readonly Uint8Array[],
  end: ExpectedEnd,
  expected: Expected = {},
): CorpusStream => ({
  name,
  format: "bedrock-converse",
  wire: joinBytes(wire),
  end,
  ...expected,
});

/** With the least that a message needs. */
const bare = (type: string, payload: unknown): Uint8Array =>
  awsMessage({ ":event-type": type, ":message-type": "event" }, JSON.stringify(payload));

const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
const truncated: ExpectedEnd = { verdict: "truncated" };
const malformed: ExpectedEnd = { verdict: "failed", failureClass: "malformed" };
const usage = { inputTokens: 12, outputTokens: 7, totalTokens: 19 };

const weather: ExpectedCall = { toolCallId: "tooluse_a", toolName: "weather", input: { city: "北京" } };
const time: ExpectedCall = { toolCallId: "tooluse_b", toolName: "time", input: {} };

const streams: readonly CorpusStream[] = [
  stream(
    "a call announced twice, and one that is fed before it is announced",
    [
      bedrockStart(),
      bedrockToolStart(1, "tooluse_a", "weather"),
      bedrockToolStart(1, "tooluse_a", "weather"),
      bedrockToolInput(1, '{"city":"北京"}'),
      bedrockToolInput(2, "{}"),
      bedrockToolStart(2, "tooluse_b", "time"),
      bedrockStop("tool_use"),
    ],
    called,
    { calls: [weather, time] },
  ),
  stream(
    "text",
    [
      bedrockStart(),
      ...["Hé", "llo, 世", "界 🎉"].map((text) => bedrockText(text)),
      bedrockBlockStop(0),
      bedrockStop(),
      bedrockMetadata(),
    ],
    complete,
    { text: "Héllo, 世界 🎉", usage },
  ),
  stream(
    "the shortest answer",
    [bare("contentBlockDelta", { delta: { text: "é✓🎉" } }), bare("messageStop", { stopReason: "end_turn" })],
    complete,
    { text: "é✓🎉" },
  ),
  stream("no metadata", [bedrockText("Hi"), bedrockStop("stop_sequence")], complete, { text: "Hi" }),
  stream("metadata that is cut", [bedrockText("Hi"), bedrockStop(), bedrockMetadata().subarray(0, 40)], complete, {
    text: "Hi",
  }),
  stream(
    "metadata before the stop",
    [bedrockText("Hi"), bedrockMetadata(), bedrockStop("max_tokens")],
    {
      verdict: "complete",
      stopReason: "length",
    },
    { text: "Hi", usage },
  ),
  stream(
    "signed and redacted reasoning, a text and a call",
    [
      bedrockStart(),
      bedrockReasoning({ text: "Hm" }),
      bedrockReasoning({ text: "é" }),
      bedrockReasoning({ signature: "c2ln" }),
      bedrockBlockStop(0),
      bedrockReasoning({ redactedContent: "eA==" }, 1),
      bedrockText("So.", 2),
      bedrockReasoning({ text: "unsigned" }, 3),
      bedrockToolStart(4, "tooluse_a", "weather"),
      bedrockToolInput(4, '{"city":"北京"}'),
      bedrockStop("tool_use"),
      bedrockMetadata(),
    ],
    called,
    {
      text: "So.",
      reasoning: "Hméunsigned",
      calls: [
        {
          ...weather,
          echo: {
            thoughts: [
              {
                text: 0,
                calls: 0,
                block: { reasoningContent: { reasoningText: { text: "Hmé", signature: "c2ln" } } },
              },
              { text: 0, calls: 0, block: { reasoningContent: { redactedContent: "eA==" } } },
            ],
          },
        },
      ],
      usage,
    },
  ),
  stream(
    "reasoning, then text",
    [
      bedrockReasoning({ text: "Hm" }),
      bedrockReasoning({ text: "m" }),
      bedrockReasoning({ signature: "c2ln" }),
      bedrockReasoning({ redactedContent: "eA==" }),
      bedrockBlockStop(0),
      bedrockText("Yes", 1),
      bedrockStop(),
      bedrockMetadata({ ...usage, cacheReadInputTokens: 4, cacheWriteInputTokens: 3 }),
    ],
    complete,
    { text: "Yes", reasoning: "Hmm", usage: { ...usage, cachedInputTokens: 4, cacheCreationInputTokens: 3 } },
  ),
  stream(
    "interleaved tool blocks after text",
    [
      bedrockText("Let me look."),
      bedrockToolStart(1, "tooluse_a", "weather"),
      bedrockToolStart(2, "tooluse_b", "time"),
      bedrockToolInput(1, '{"city":'),
      bedrockToolInput(2, ""),
      bedrockToolInput(1, '"北京"}'),
      bedrockBlockStop(2),
      bedrockBlockStop(1),
      bedrockStop("tool_use"),
      bedrockMetadata(),
    ],
    called,
    { text: "Let me look.", calls: [weather, time], usage },
  ),
  stream(
    "a tool of the service's own",
    [
      bedrockEvent("contentBlockStart", {
        contentBlockIndex: 0,
        start: { toolUse: { toolUseId: "s1", name: "nova_grounding", type: "server_tool_use" } },
      }),
      bedrockToolInput(0, "{}"),
      bedrockEvent("contentBlockDelta", { contentBlockIndex: 1, delta: { toolResult: [{ text: "no" }] } }),
      bedrockText("Found.", 2),
      bedrockStop(),
    ],
    complete,
    { text: "Found." },
  ),
  stream(
    "headers of every type, and an event that is not known",
    [
      awsMessage(
        {
          yes: { type: 0, bytes: [] },
          no: { type: 1, bytes: [] },
          byte: { type: 2, bytes: [1] },
          short: { type: 3, bytes: [1, 2] },
          integer: { type: 4, bytes: [1, 2, 3, 4] },
          long: { type: 5, bytes: [1, 2, 3, 4, 5, 6, 7, 8] },
          bytes: { type: 6, bytes: [0, 2, 7, 7] },
          at: { type: 8, bytes: [1, 2, 3, 4, 5, 6, 7, 8] },
          id: { type: 9, bytes: Array.from({ length: 16 }, (_, index) => index) },
          ":event-type": "contentBlockDelta",
        },
        '{"delta":{"text":"Hi"}}',
      ),
      bedrockEvent("trace", { p: "ab" }),
      bare("messageStop", { stopReason: "some_new_reason" }),
    ],
    { verdict: "complete" },
    { text: "Hi" },
  ),
  stream(
    "a guardrail without a block",
    [bedrockStart(), bedrockStop("guardrail_intervened"), bedrockMetadata()],
    { verdict: "complete", stopReason: "content_filter" },
    { usage },
  ),
  stream(
    "an exception after the stop",
    [bedrockText("Hi"), bedrockStop(), bedrockException("throttlingException")],
    complete,
    {
      text: "Hi",
    },
  ),

  stream("nothing at all", [], truncated),
  stream("text, then the end", [bedrockStart(), bedrockText("Hi")], truncated, { text: "Hi" }),
  stream("half of a message", [bedrockText("Hi"), bedrockStop().subarray(0, 60)], truncated, { text: "Hi" }),
  stream("half of a tool call", [bedrockToolStart(0, "tooluse_a", "weather"), bedrockToolInput(0, '{"ci')], truncated),
  stream("an exception first", [bedrockException("serviceUnavailableException")], {
    verdict: "failed",
    failureClass: "overloaded",
    providerCode: "serviceUnavailableException",
  }),
  stream(
    "an exception after text",
    [bedrockStart(), bedrockText("Hi"), bedrockException("modelStreamErrorException")],
    { verdict: "failed", failureClass: "upstream_5xx", providerCode: "modelStreamErrorException" },
    { text: "Hi" },
  ),
  stream("an error message", [bedrockErrorMessage("InternalFailure", "scripted")], {
    verdict: "failed",
    failureClass: "upstream_5xx",
    providerCode: "InternalFailure",
  }),
  stream(
    "a tool use that the service calls malformed",
    [bedrockText("Hi"), bedrockStop("malformed_tool_use")],
    malformed,
    {
      text: "Hi",
    },
  ),
  stream("a wrong checksum", [bedrockText("Hi"), withWrongByte(bedrockText("Ho"), 110), bedrockStop()], malformed, {
    text: "Hi",
  }),
  stream("a wrong length", [bedrockText("Hi"), withWrongByte(bedrockText("Ho"), 3), bedrockStop()], malformed, {
    text: "Hi",
  }),
  stream(
    "a payload that is not JSON",
    [awsMessage({ ":event-type": "contentBlockDelta" }, "oops"), bedrockStop()],
    malformed,
  ),
];

export const bedrockConverseFormat: CorpusFormat = {
  format: "bedrock-converse",
  framing: "binary",
  streams,
  contractMetAt({ wire }) {
    if (typeof wire === "string") return Number.POSITIVE_INFINITY;
    const view = new DataView(wire.buffer, wire.byteOffset, wire.byteLength);
    for (let start = 0; start + 4 <= wire.length;) {
      const end = start + view.getUint32(start);
      if (new TextDecoder().decode(wire.subarray(start, end)).includes("messageStop")) return end;
      start = end;
    }
    return Number.POSITIVE_INFINITY;
  },
};
