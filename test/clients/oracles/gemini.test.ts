// The official `@google/genai` package reads the corpus of Gemini: a second opinion on every stream of events. It has no word
// for a missing end, so that it is told apart by the reason that no chunk gave.
import { FinishReason, GoogleGenAI, type GenerateContentResponseUsageMetadata } from "@google/genai";
import { geminiFormat } from "../../support/corpus/gemini.ts";
import { GEMINI_STREAM_TYPE } from "../../support/provider-bytes/gemini.ts";
import { compareWithOracle, countsOf, type OracleCall, type OracleReading } from "./oracle.ts";

// Its array framing is no business of the SDK's.
const events = { ...geminiFormat, streams: geminiFormat.streams.filter(({ framing }) => framing === undefined) };

const stopReasons: Readonly<Record<string, string>> = {
  [FinishReason.STOP]: "stop",
  [FinishReason.MAX_TOKENS]: "length",
  [FinishReason.SAFETY]: "content_filter",
};

const fault = { end: "error", stopReason: undefined } as const;
const named = (name: string | undefined): OracleCall => ({ id: undefined, name, input: undefined });
const pieces = (count: number): OracleCall[] => Array.from({ length: count }, () => named(undefined));

compareWithOracle(events, GEMINI_STREAM_TYPE, "/v1beta/models/test-model:streamGenerateContent", {
  name: "npm @google/genai",
  compares: ["end", "text", "reasoning", "calls", "stopReason", "usage"],
  read,
  disagreements: {
    "a final event without line ends": {
      sdk: fault,
      because: "the SDK refuses what is left at the end of the body",
    },
    "glued values, a list, a string, null": {
      sdk: { ...fault, text: "" },
      because: "the SDK wants one JSON value in an event",
    },
    "text and two calls in one chunk": {
      sdk: {
        stopReason: "stop",
        calls: [
          { id: undefined, name: "weather", input: { city: "北京" } },
          { id: "x", name: "weather", input: {} },
        ],
      },
      because: "the reason is STOP also after calls; an id that is missing is made by us",
    },
    "one call per chunk, signed": {
      sdk: {
        stopReason: "stop",
        calls: [
          { id: undefined, name: "a", input: { n: 1 } },
          { id: undefined, name: "a", input: undefined },
        ],
      },
      because: "the reason is STOP also after calls; no arguments are none, not an empty object",
    },
    "streamed arguments with and without a terminator": {
      sdk: { stopReason: "stop", calls: [named("f"), ...pieces(5), named("g"), ...pieces(2)] },
      because: "the SDK hands on every piece of streamed arguments; putting them together is its caller's business",
    },
    "streamed arguments, signed at their end": {
      sdk: { stopReason: "stop", calls: [named("f"), ...pieces(2)] },
      because: "the SDK hands on every piece of streamed arguments; putting them together is its caller's business",
    },
    "streamed arguments cut by the limit": {
      sdk: { calls: [named("f"), ...pieces(1)] },
      because: "the SDK hands on every piece of streamed arguments, whatever becomes of the rest",
    },
    "half an event": {
      sdk: { end: "error" },
      because: "the SDK refuses what is left at the end of the body; to us it is a cut",
    },
    "a malformed call": {
      sdk: { end: "complete" },
      because: "the SDK hands on any reason; this one says that generation failed",
    },
  },
});

async function read(baseUrl: string): Promise<OracleReading> {
  const client = new GoogleGenAI({ apiKey: "none", apiVersion: "v1beta", httpOptions: { baseUrl } });
  const calls: OracleCall[] = [];
  let [text, reasoning] = ["", ""];
  let reason: string | undefined;
  let blocked = false;
  let usage: GenerateContentResponseUsageMetadata | undefined;
  try {
    const stream = await client.models.generateContentStream({ model: "test-model", contents: "Hi" });
    for await (const { candidates, promptFeedback, usageMetadata } of stream) {
      const [candidate] = candidates ?? [];
      for (const part of candidate?.content?.parts ?? []) {
        if (part.functionCall !== undefined)
          calls.push({ id: part.functionCall.id, name: part.functionCall.name, input: part.functionCall.args });
        else if (part.thought === true) reasoning += part.text ?? "";
        else text += part.text ?? "";
      }
      reason = candidate?.finishReason ?? reason;
      blocked ||= promptFeedback?.blockReason !== undefined;
      usage = usageMetadata ?? usage;
    }
  } catch {
    return { end: "error", text, reasoning, calls: [] };
  }
  if (reason === undefined && !blocked) return { end: "incomplete", text, reasoning, calls: [] };
  return {
    end: "complete",
    text,
    reasoning,
    calls,
    stopReason: blocked ? "content_filter" : stopReasons[reason ?? ""],
    usage: countsOf({
      inputTokens: usage?.promptTokenCount,
      // Gemini counts thoughts beside the answer, all others within it.
      outputTokens: usage && (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
      reasoningTokens: usage?.thoughtsTokenCount,
      cachedInputTokens: usage?.cachedContentTokenCount,
      totalTokens: usage?.totalTokenCount,
    }),
  };
}
