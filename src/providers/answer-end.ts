// How an answer ends that the provider says is over: what its word for that means, its tool calls, then the one verdict. Reads no wire.
import type { Failure, FailureClass } from "../../schemas/failure.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { StopReason } from "../../schemas/outcome.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { classOfWord } from "./failure-words.ts";
import type { ToolCallCollector } from "./tool-calls.ts";

/** Why an answer is over. A word that nobody has documented is `unknown`, unless it names an error. */
export type Ending = StopReason | "unknown" | Failure;

/** The words of all formats: servers and gateways use each other's. */
const stopWords: readonly (readonly [StopReason, string])[] = [
  ["stop", "stop end_turn stop_sequence pause_turn complete completed"],
  ["length", "length max_tokens max_output_tokens max_length model_length incomplete model_context_window_exceeded"],
  ["tool_calls", "tool_calls tool_call tool_use function_call"],
  [
    "content_filter",
    `content_filter content_filtered guardrail_intervened refusal sensitive safety recitation blocklist
    prohibited_content spii image_safety`,
  ],
];

const byWord = new Map(
  stopWords.flatMap(([reason, words]) => words.split(/\s+/).map((word) => [word, reason] as const)),
);

/** What a word for an end that was none has in it. */
const causes: readonly (readonly [FailureClass, RegExp])[] = [
  ["rate_limited", /rate_?limit|throttl/],
  ["overloaded", /overload|insufficient|unavailable|exhaust|capacity/],
  ["upstream_5xx", /error|fail|abort|cancel|time_?d?_?out|interrupt|disconnect|crash/],
];

const causeOf = (word: string): FailureClass | undefined =>
  classOfWord(word) ?? causes.find(([, part]) => part.test(word))?.[0];

/** A provider's word for why the answer is over, by the provider's own table, else by that of all formats. */
export function endingOf(own: Readonly<Record<string, StopReason>>, word: string): Ending {
  if (Object.hasOwn(own, word)) return own[word] ?? "unknown";
  const common = word.toLowerCase().replaceAll(/[-\s]/g, "_");
  const failureClass = byWord.has(common) ? undefined : causeOf(common);
  if (failureClass === undefined) return byWord.get(common) ?? "unknown";
  return { failureClass, message: "The provider reported that generation failed." };
}

export interface AnswerFacts {
  /** Some of the text is a refusal: then a mere stop is none. */
  refused?: boolean;
  /** The whole text, where the provider states it. */
  finalText?: string | undefined;
  /** What the provider wants back with the calls of this answer; the first one carries it. */
  echo?: JsonRecord | undefined;
}

/** A broken call is a fault, unless the provider cut the answer short. So is an answer that ends for calls and has none. */
export function answerEnd(
  calls: Pick<ToolCallCollector, "finish">,
  reason: Ending,
  { refused = false, finalText, echo }: AnswerFacts = {},
): ProviderEvent[] {
  if (typeof reason === "object") return [{ type: "verdict", verdict: "failed", failure: reason }];
  const cut = reason === "length" || reason === "content_filter";
  const whole = calls.finish(cut);
  if (whole.broken && !cut) return [malformed("A tool call's input is not a JSON object.")];
  if (reason === "tool_calls" && whole.calls.length === 0)
    return [malformed("The answer ends for a tool call that never came.")];
  const called = whole.calls.length > 0 && (reason === "stop" || reason === "continue" || reason === "unknown");
  const stopReason = called ? "tool_calls" : refused && reason === "stop" ? "content_filter" : reason;
  return [
    ...(whole.broken ? [{ type: "diagnostic" as const, code: "tool_call_incomplete" }] : []),
    ...whole.calls.map((call, index) =>
      index === 0 && echo !== undefined ? { ...call, echo: { ...call.echo, ...echo } } : call,
    ),
    {
      type: "verdict",
      verdict: "complete",
      ...(stopReason !== "unknown" && { stopReason }),
      ...(finalText !== undefined && { finalText }),
    },
  ];
}

const malformed = (message: string): ProviderEvent => ({
  type: "verdict",
  verdict: "failed",
  failure: { failureClass: "malformed", message },
});
