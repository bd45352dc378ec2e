// Targets that are paths of the fault provider, two per wire format, and each format's answers in a common shape, so that one
// test can run for all formats. Knows nothing of what the product makes of them.
import {
  ANTHROPIC_STREAM_TYPE,
  anthropicError,
  anthropicErrorEvent,
  anthropicMessages,
} from "./provider-bytes/anthropic-messages.ts";
import type { Answer } from "./provider-bytes/framing.ts";
import { OLLAMA_STREAM_TYPE, ollamaChat, ollamaError, ollamaErrorLine, ollamaLine } from "./provider-bytes/ollama.ts";
import { OPENAI_STREAM_TYPE, openAiChat, openAiError, openAiErrorEvent } from "./provider-bytes/openai-chat.ts";
import { openAiResponses, RESPONSES_STREAM_TYPE, responsesErrorEvent } from "./provider-bytes/openai-responses.ts";

export interface ScriptedFormat {
  readonly name: "openai" | "anthropic" | "ollama" | "responses";
  readonly adapter: string;
  readonly suffix: string;
  readonly contentType: string;
  /** The wire events of a whole answer. */
  whole(deltas: readonly string[]): string[];
  /** The beginning of an answer: its content and no ending. Without deltas there is still some byte. */
  part(deltas: readonly string[]): string[];
  refusal(status: number, message: string, headers?: Readonly<Record<string, string>>): Answer;
  /** An overload reported inside a stream that answered 200, and its failure class: Ollama's format cannot name one. */
  readonly inBandError: string;
  readonly inBandClass: "overloaded" | "unknown";
}

export const openAi: ScriptedFormat = {
  name: "openai",
  adapter: "openai-chat",
  suffix: "/chat/completions",
  contentType: OPENAI_STREAM_TYPE,
  whole: (deltas) =>
    openAiChat({
      deltas,
      usage: { prompt_tokens: 5, completion_tokens: deltas.length, total_tokens: 5 + deltas.length },
    }),
  part: (deltas) => openAiChat({ deltas, finishReason: null, done: false }),
  refusal: (status, message, headers = {}) => openAiError(status, "scripted", null, { message, headers }),
  inBandError: openAiErrorEvent("server_error", "overloaded"),
  inBandClass: "overloaded",
};

export const anthropic: ScriptedFormat = {
  name: "anthropic",
  adapter: "anthropic-messages",
  suffix: "/v1/messages",
  contentType: ANTHROPIC_STREAM_TYPE,
  whole: (deltas) => anthropicMessages({ deltas, usage: { input_tokens: 5, output_tokens: deltas.length } }),
  part: (deltas) => anthropicMessages({ deltas, stopReason: null, stop: false }),
  refusal: (status, message, headers = {}) => anthropicError(status, "scripted", { message, headers }),
  inBandError: anthropicErrorEvent("overloaded_error"),
  inBandClass: "overloaded",
};

export const ollama: ScriptedFormat = {
  name: "ollama",
  adapter: "ollama",
  suffix: "/api/chat",
  contentType: OLLAMA_STREAM_TYPE,
  whole: (deltas) => ollamaChat({ deltas, usage: { prompt_eval_count: 5, eval_count: deltas.length } }),
  part: (deltas) => (deltas.length === 0 ? [ollamaLine({ content: "" })] : ollamaChat({ deltas, done: false })),
  refusal: (status, message, headers = {}) => ollamaError(status, message, headers),
  inBandError: ollamaErrorLine("scripted failure"),
  inBandClass: "unknown",
};

export const responses: ScriptedFormat = {
  name: "responses",
  adapter: "openai-responses",
  suffix: "/responses",
  contentType: RESPONSES_STREAM_TYPE,
  whole: (deltas) =>
    openAiResponses({
      deltas,
      usage: { input_tokens: 5, output_tokens: deltas.length, total_tokens: 5 + deltas.length },
    }),
  part: (deltas) => openAiResponses({ ...(deltas.length > 0 && { deltas }), end: null }),
  refusal: (status, message, headers = {}) => openAiError(status, "scripted", null, { message, headers }),
  inBandError: responsesErrorEvent("server_is_overloaded"),
  inBandClass: "overloaded",
};

export const formats: readonly ScriptedFormat[] = [openAi, anthropic, ollama, responses];

/** Where the target `openai-a`, `openai-b`, ... sends its requests. */
export function pathOf(format: ScriptedFormat, letter: "a" | "b" = "a"): string {
  return `/${format.name}-${letter}${format.suffix}`;
}

export interface ScriptedOptions {
  limits?: Record<string, number>;
  /** For every scripted target. */
  clocks?: Record<string, number>;
  /** Further fields of every scripted target. */
  fields?: Record<string, unknown>;
  /** Further targets. */
  targets?: readonly Record<string, unknown>[];
  routes?: Record<string, unknown>;
  /** Default: no target is ever benched, so that tests do not disturb each other. */
  breaker?: Record<string, number>;
}

/** A configuration of targets that are never tried twice, unless `fields` says so: with targets `{format}-a` and `{format}-b`; the route `default` is `openai-a`, then `anthropic-b`. */
export function scriptedConfig(origin: string, options: ScriptedOptions = {}): unknown {
  const { limits, clocks, fields, targets = [], routes = {}, breaker = { failures: 0 } } = options;
  const scripted = formats.flatMap(({ name, adapter }) =>
    ["a", "b"].map((letter) => ({
      id: `${name}-${letter}`,
      adapter,
      baseUrl: `${origin}/${name}-${letter}`,
      model: "configured-model",
      retries: 0,
      ...(clocks !== undefined && { clocks }),
      ...fields,
    })),
  );
  return {
    targets: [...scripted, ...targets],
    routes: { default: ["openai-a", "anthropic-b"], ...routes },
    breaker,
    ...(limits !== undefined && { limits }),
  };
}
