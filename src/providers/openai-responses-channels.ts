// The channels of an OpenAI Responses stream, in which text and input come piece by piece and are then stated. Keeps nothing.
import { asCount, type JsonRecord } from "../wire/json.ts";
import type { ReasoningContent } from "./openai-responses-items.ts";
import type { StatedText } from "./stated-text.ts";

/** Events that come as `.delta` and `.done`: the type of their item and the field that holds the whole. */
export const channels: Record<string, { item: string; whole: string }> = {
  "response.output_text": { item: "message", whole: "text" },
  "response.refusal": { item: "message", whole: "refusal" },
  "response.reasoning_text": { item: "reasoning", whole: "text" },
  "response.reasoning_summary_text": { item: "reasoning", whole: "text" },
  "response.function_call_arguments": { item: "function_call", whole: "arguments" },
  "response.custom_tool_call_input": { item: "custom_tool_call", whole: "input" },
};

/** The text that an event of reasoning belongs to, its part there, and what tells it from other reasoning. */
export function reasoningOf(
  index: number,
  content: ReasoningContent,
  channel: string,
  event: JsonRecord,
): { text: StatedText; part: number; key: string } {
  if (channel === "response.reasoning_text")
    return { text: content.text, part: asCount(event["content_index"]) ?? 0, key: `${index} text` };
  const part = asCount(event["summary_index"]) ?? 0;
  return { text: content.summary, part, key: `${index} summary ${part}` };
}
