// What one chunk of OpenAI's chat format says, whoever sends it: reasoning, tool call pieces, usage. Keeps no state.
import type { Usage } from "../../schemas/usage.ts";
import { asArray, asCount, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { heldValue } from "./echo.ts";
import { inputPiece, type ToolCallPiece } from "./tool-calls.ts";
import { knownCounts } from "./usage.ts";

/** One reasoning, however many of its spellings the delta has. */
export function reasoningText(delta: JsonRecord): string | undefined {
  return asText(delta["reasoning_content"]) ?? asText(delta["reasoning"]) ?? detailText(delta["reasoning_details"]);
}

/** OpenRouter's reasoning in parts: text and summaries; what is encrypted shows nothing. */
function detailText(details: unknown): string | undefined {
  const texts = asArray(details).map((item) => {
    const detail = asRecord(item);
    return asText(detail?.["text"]) ?? asText(detail?.["summary"]) ?? "";
  });
  return asText(texts.join(""));
}

/** A piece of a function or custom tool's call; some servers leave out the object around its name and input. */
export function toolPiece(item: unknown): ToolCallPiece {
  const call = asRecord(item);
  const named = asRecord(call?.["function"]) ?? asRecord(call?.["custom"]) ?? call;
  // Where Gemini's own server of this format puts a thought's signature.
  const extra = asRecord(call?.["extra_content"]);
  return {
    index: asCount(call?.["index"]),
    id: asText(call?.["id"]),
    name: asText(named?.["name"]),
    input: inputPiece(named?.["arguments"] ?? named?.["input"]),
    echo: extra === undefined ? undefined : { extra_content: heldValue(extra) },
  };
}

/** Where a chunk reports usage: itself, Groq's object, or its choice. */
export function chunkUsage(chunk: JsonRecord): Usage | undefined {
  const places = [chunk, asRecord(chunk["x_groq"]), asRecord(asArray(chunk["choices"])[0])];
  return chatUsage(places.map((place) => place?.["usage"]).find((usage) => asRecord(usage) !== undefined));
}

function chatUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  if (usage === undefined) return undefined;
  return knownCounts({
    inputTokens: asCount(usage["prompt_tokens"]),
    outputTokens: asCount(usage["completion_tokens"]),
    totalTokens: asCount(usage["total_tokens"]),
    reasoningTokens: asCount(asRecord(usage["completion_tokens_details"])?.["reasoning_tokens"]),
    cachedInputTokens: asCount(
      asRecord(usage["prompt_tokens_details"])?.["cached_tokens"] ?? usage["prompt_cache_hit_tokens"],
    ),
  });
}
