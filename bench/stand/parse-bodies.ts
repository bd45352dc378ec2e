// The bodies that readers are timed with: long answers in the bytes of each format. It reads nothing back.
import { Buffer } from "node:buffer";
import { anthropicMessages } from "../../test/support/provider-bytes/anthropic-messages.ts";
import { bedrockStart, bedrockStop, bedrockText } from "../../test/support/provider-bytes/bedrock-converse.ts";
import { cohereChat } from "../../test/support/provider-bytes/cohere.ts";
import { geminiAnswer, geminiArray, geminiEvents } from "../../test/support/provider-bytes/gemini.ts";
import { ollamaChat } from "../../test/support/provider-bytes/ollama.ts";
import { openAiEvent } from "../../test/support/provider-bytes/openai-chat.ts";
import { openAiResponses } from "../../test/support/provider-bytes/openai-responses.ts";
import { workersAiChat } from "../../test/support/provider-bytes/workers-ai.ts";

export interface ParseBody {
  readonly packets: readonly Uint8Array<ArrayBuffer>[];
  readonly bytes: number;
  /** Text deltas in it. */
  readonly events: number;
  readonly text: string;
}

/** Bytes of one event of an OpenAI stream with its framing. */
const EVENT_BYTES = 300;
/** Where a network cuts when it does not cut between events. */
const SHIFT_BYTES = 137;

/** Words, line ends, quotes and other scripts: what models write. */
const WORDS =
  'The| run| was|\n\n|accepted|,| "|quoted|"| über| 北京| and| numbered| 12|.5| in| one| transaction|:|\n-| `seal|()`| 🙂|;'.split(
    "|",
  );

/** Tokens that never repeat a neighbour's text. */
export function wordsOf(count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => (WORDS[index % WORDS.length] ?? "") + (index % 7 === 3 ? index : ""),
  );
}

type Events = readonly (string | Uint8Array)[];

/** By the format's name, and what is special about the body. */
export const formatBodies: readonly (readonly [
  format: string,
  kind: string,
  eventsOf: (words: readonly string[]) => Events,
])[] = [
  ["openai-responses", "", (deltas) => openAiResponses({ deltas })],
  ["anthropic-messages", "", (deltas) => anthropicMessages({ deltas })],
  ["gemini", "", (deltas) => geminiEvents(geminiAnswer({ deltas }))],
  ["gemini", " array", (deltas) => geminiArray(geminiAnswer({ deltas }))],
  ["ollama", "", (deltas) => ollamaChat({ deltas })],
  ["cohere", "", cohereChat],
  ["workers-ai", "", (deltas) => workersAiChat({ deltas })],
  ["bedrock-converse", "", (deltas) => [bedrockStart(), ...deltas.map((text) => bedrockText(text)), bedrockStop()]],
];

/**
 * An OpenAI answer whose text events have 300 bytes each, filled up with the padding that OpenAI itself sends or, `padded:
 * false`, with a longer fingerprint, in which case they differ by the length of their words.
 */
export function openAiEvents(words: readonly string[], padded: boolean, lineEnd: "\n" | "\r\n" = "\n"): string[] {
  const chunk = (delta: unknown, finishReason: string | null, fill: string): string =>
    openAiEvent(
      {
        id: "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        object: "chat.completion.chunk",
        created: 1_780_000_000,
        model: "gpt-4o-2024-08-06",
        service_tier: "default",
        system_fingerprint: padded ? "fp_fc9f1d7035" : `fp_fc9f1d7035${fill}`,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
        usage: null,
        ...(padded && { obfuscation: fill }),
      },
      { lineEnd },
    );
  const content = (word: string): string => {
    const bare = Buffer.byteLength(chunk({ content: padded ? word : " word" }, null, ""));
    return chunk({ content: word }, null, "a1B2c3D4".repeat(30).slice(0, Math.max(0, EVENT_BYTES - bare)));
  };
  return [
    chunk({ role: "assistant", content: "" }, null, ""),
    ...words.map(content),
    chunk({}, "stop", ""),
    openAiEvent("[DONE]", { lineEnd }),
  ];
}

/** One packet per event. */
export function perEvent(events: Events, words: readonly string[]): ParseBody {
  return bodyOf(
    events.map((event) => (typeof event === "string" ? Buffer.from(event) : event)),
    words,
  );
}

/** Packets of `size` bytes, cut where they happen to end. */
export function unaligned(events: readonly string[], words: readonly string[], size = EVENT_BYTES): ParseBody {
  const whole = Buffer.from(events.join(""));
  const packets = [whole.subarray(0, SHIFT_BYTES)];
  for (let at = SHIFT_BYTES; at < whole.length; at += size) packets.push(Buffer.from(whole.subarray(at, at + size)));
  return bodyOf(packets, words);
}

function bodyOf(buffers: readonly Uint8Array[], words: readonly string[]): ParseBody {
  // A provider's packets are plain arrays of their own, not slices of Node's pool.
  const packets = buffers.map((buffer) => new Uint8Array(buffer));
  const bytes = packets.reduce((sum, { length }) => sum + length, 0);
  return { packets, bytes, events: words.length, text: words.join("") };
}
