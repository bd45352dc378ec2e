// The answers that the command-line provider serves, for three formats and every fault, and the product configuration that
// points at them. Made for people who try the product by hand; tests script their own answers.
import {
  anthropicError,
  anthropicErrorEvent,
  anthropicMessages,
  anthropicOverloaded,
  ANTHROPIC_STREAM_TYPE,
} from "../provider-bytes/anthropic-messages.ts";
import type { Answer } from "../provider-bytes/framing.ts";
import { ollamaChat, ollamaError, ollamaErrorLine, OLLAMA_STREAM_TYPE } from "../provider-bytes/ollama.ts";
import { openAiChat, openAiError, openAiErrorEvent, OPENAI_STREAM_TYPE } from "../provider-bytes/openai-chat.ts";
import { answerScript, errorScript, streamScript } from "../provider-bytes/scripts.ts";
import type { Script } from "./script.ts";

export interface DemoPath {
  /** Where the product sends its request. */
  readonly path: string;
  readonly targetId: string;
  readonly adapter: string;
  /** What the target's `baseUrl` adds to the provider's origin. */
  readonly basePath: string;
  readonly fault: string;
  readonly text: string;
  script(): Script;
}

interface Format {
  readonly name: string;
  readonly adapter: string;
  readonly suffix: string;
  readonly contentType: string;
  /** A healthy answer, one string per event. */
  readonly events: readonly string[];
  readonly busy: Answer;
  readonly down: Answer;
  readonly overloaded: Answer;
  readonly inBandError: string;
}

interface Fault {
  readonly fault: string;
  text(format: Format): string;
  script(format: Format): Script;
}

const PACE_MS = 50;
const SLOW_FIRST_MS = 8_000;
const SLOW_PACE_MS = 1_000;
const EVENTS_BEFORE_FAULT = 20;
/** Short clocks, so that a person sees a silent target given up soon. */
const QUIET_CLOCKS = { firstOutputMs: 5_000, idleMs: 5_000 };
const QUIET_FAULTS: readonly string[] = ["silent", "stall"];
const RETRY_AFTER = { "retry-after": "7" };
const PAGE = "<!doctype html><title>Gateway</title><h1>Please try again later</h1>";

const WORDS = (
  "A stream is a promise that arrives in pieces. Close this tab, come back, and the piece you missed is still there, " +
  "under the number it always had. Cut the wire and the answer says that it was cut. Press stop and the model stops. " +
  "Nothing shown here came from a model: these words are fixed, so that two readers can compare them to the last letter."
).split(/(?<= )/);

const FORMATS: readonly Format[] = [
  {
    name: "openai",
    adapter: "openai-chat",
    suffix: "/chat/completions",
    contentType: OPENAI_STREAM_TYPE,
    events: openAiChat({
      deltas: WORDS,
      usage: { prompt_tokens: 12, completion_tokens: WORDS.length, total_tokens: 12 + WORDS.length },
    }),
    busy: openAiError(429, "rate_limit_error", "rate_limit_exceeded", { headers: RETRY_AFTER }),
    down: openAiError(500, "server_error", null),
    overloaded: openAiError(503, "server_error", "overloaded"),
    inBandError: openAiErrorEvent("server_error", "overloaded"),
  },
  {
    name: "anthropic",
    adapter: "anthropic-messages",
    suffix: "/v1/messages",
    contentType: ANTHROPIC_STREAM_TYPE,
    events: anthropicMessages({ deltas: WORDS, usage: { input_tokens: 12, output_tokens: WORDS.length } }),
    busy: anthropicError(429, "rate_limit_error", { headers: RETRY_AFTER }),
    down: anthropicError(500, "api_error"),
    overloaded: anthropicOverloaded(),
    inBandError: anthropicErrorEvent("overloaded_error"),
  },
  {
    name: "ollama",
    adapter: "ollama",
    suffix: "/api/chat",
    contentType: OLLAMA_STREAM_TYPE,
    events: ollamaChat({ deltas: WORDS, usage: { prompt_eval_count: 12, eval_count: WORDS.length } }),
    busy: ollamaError(429, "scripted rate limit", RETRY_AFTER),
    down: ollamaError(500, "scripted internal error"),
    overloaded: ollamaError(503, "server busy, please try again. maximum pending requests exceeded"),
    inBandError: ollamaErrorLine("scripted error after content"),
  },
];

const FAULTS: readonly Fault[] = [
  {
    fault: "healthy",
    text: () => "a whole answer, about 20 events a second",
    script: (format) => streamScript(format.contentType, format.events, { delayMs: PACE_MS }),
  },
  {
    fault: "slow",
    text: () => `first event after ${SLOW_FIRST_MS / 1_000} s, then one a second`,
    script: (format) => slowScript(format),
  },
  { fault: "busy", text: () => "429 with Retry-After: 7", script: (format) => answerScript(format.busy) },
  { fault: "down", text: () => "500", script: (format) => answerScript(format.down) },
  {
    fault: "overloaded",
    text: (format) => String(format.overloaded.status),
    script: (format) => answerScript(format.overloaded),
  },
  {
    fault: "reset",
    text: () => "200 and headers, then the connection is reset",
    script: (format) => [
      ...streamScript(format.contentType, [], { end: "hang" }).slice(0, 1),
      { step: "delay", ms: 100 },
      { step: "rst" },
    ],
  },
  {
    fault: "cut",
    text: () => `${EVENTS_BEFORE_FAULT} events, then the connection closes without an end`,
    script: (format) =>
      streamScript(format.contentType, format.events.slice(0, EVENTS_BEFORE_FAULT), { delayMs: PACE_MS, end: "fin" }),
  },
  {
    fault: "broken",
    text: () => `${EVENTS_BEFORE_FAULT} events, then an error inside the stream`,
    script: (format) =>
      streamScript(format.contentType, [...format.events.slice(0, EVENTS_BEFORE_FAULT), format.inBandError], {
        delayMs: PACE_MS,
      }),
  },
  {
    fault: "stall",
    text: () => `${EVENTS_BEFORE_FAULT} events, then silence`,
    script: (format) =>
      streamScript(format.contentType, format.events.slice(0, EVENTS_BEFORE_FAULT), { delayMs: PACE_MS, end: "hang" }),
  },
  {
    fault: "silent",
    text: () => "200 and headers, then nothing",
    script: (format) => streamScript(format.contentType, [], { end: "hang" }),
  },
  {
    fault: "html",
    text: () => "200 with a text/html page",
    script: () => errorScript(200, { "content-type": "text/html" }, PAGE),
  },
];

/** Every path, formats outermost. */
export const DEMO_PATHS: readonly DemoPath[] = FORMATS.flatMap((format) =>
  FAULTS.map(({ fault, text, script }) => ({
    path: `/${format.name}/${fault}${format.suffix}`,
    targetId: `${format.name}-${fault}`,
    adapter: format.adapter,
    basePath: `/${format.name}/${fault}`,
    fault,
    text: text(format),
    script: () => script(format),
  })),
);

/**
 * The product's configuration: the demo target, one target per path, and per fault a route that meets it in OpenAI format
 * first and a healthy target of another format next. `default` is the demo target.
 */
export function demoConfig(origin: string): unknown {
  const targets = DEMO_PATHS.map(({ targetId: id, adapter, basePath, fault }) => ({
    id,
    adapter,
    baseUrl: `${origin}${basePath}`,
    model: "scripted",
    ...(QUIET_FAULTS.includes(fault) ? { clocks: QUIET_CLOCKS } : {}),
  }));
  const routes = FAULTS.map(({ fault }) => [fault, [`openai-${fault}`, "anthropic-healthy"]]);
  return {
    targets: [{ id: "demo", adapter: "demo" }, ...targets],
    routes: {
      default: ["demo"],
      ...Object.fromEntries(routes),
      chain: ["openai-busy", "anthropic-overloaded", "ollama-down", "openai-healthy"],
    },
  };
}

function slowScript(format: Format): Script {
  const [head, ...body] = streamScript(format.contentType, format.events, { delayMs: SLOW_PACE_MS });
  return head === undefined ? body : [head, { step: "delay", ms: SLOW_FIRST_MS }, ...body];
}
