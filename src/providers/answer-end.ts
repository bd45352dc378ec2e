// How an answer ends that the provider says is over: its tool calls, then the one verdict. Reads no wire.
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { ToolCallCollector } from "./tool-calls.ts";

/** A provider's word for why the answer is over, by the provider's own table. */
export function stopReasonOf(words: Readonly<Record<string, StopReason>>, word: string): StopReason | "unknown" {
  return Object.hasOwn(words, word) ? (words[word] ?? "unknown") : "unknown";
}

export interface AnswerFacts {
  /** Some of the text is a refusal: then a mere stop is none. */
  refused?: boolean;
  /** The whole text, where the provider states it. */
  finalText?: string | undefined;
}

/** A broken call is a fault, unless the provider cut the answer short. */
export function answerEnd(
  calls: Pick<ToolCallCollector, "finish">,
  reason: StopReason | "unknown",
  { refused = false, finalText }: AnswerFacts = {},
): ProviderEvent[] {
  const cut = reason === "length" || reason === "content_filter";
  const whole = calls.finish(cut);
  if (whole.broken && !cut) {
    const message = "A tool call's input is not a JSON object.";
    return [{ type: "verdict", verdict: "failed", failure: { failureClass: "malformed", message } }];
  }
  const called = whole.calls.length > 0 && (reason === "stop" || reason === "unknown");
  const stopReason = called ? "tool_calls" : refused && reason === "stop" ? "content_filter" : reason;
  return [
    ...(whole.broken ? [{ type: "diagnostic" as const, code: "tool_call_incomplete" }] : []),
    ...whole.calls,
    {
      type: "verdict",
      verdict: "complete",
      ...(stopReason !== "unknown" && { stopReason }),
      ...(finalText !== undefined && { finalText }),
    },
  ];
}
