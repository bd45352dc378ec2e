// The parts that streams of the OpenAI chat family are written with. No stream stands here.
import { openAiEvent } from "../provider-bytes/openai-chat.ts";
import type { CorpusStream, ExpectedCall, ExpectedEnd } from "./corpus-stream.ts";

type Expected = Omit<CorpusStream, "name" | "format" | "wire" | "end">;

export const openAiStream = (
  name: string,
  wire: readonly string[],
  end: ExpectedEnd,
  expected: Expected = {},
): CorpusStream => ({ name, format: "openai-chat", wire: wire.join(""), end, ...expected });

/** A short event: what matters of it and nothing else. */
export const openAiChoice = (delta: unknown, finishReason?: unknown, fields: Record<string, unknown> = {}): string =>
  openAiEvent({
    choices: [{ index: 0, delta, ...(finishReason !== undefined && { finish_reason: finishReason }) }],
    ...fields,
  });
/** One event of tool call pieces. */
export const openAiPieces = (...pieces: readonly unknown[]): string => openAiChoice({ tool_calls: pieces });
export const openAiDone = openAiEvent("[DONE]");

export const openAiUsage = (input: number, output: number, total: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: total,
});

export const complete: ExpectedEnd = { verdict: "complete", stopReason: "stop" };
export const called: ExpectedEnd = { verdict: "complete", stopReason: "tool_calls" };
export const truncated: ExpectedEnd = { verdict: "truncated" };
export const failed = (
  failureClass: Extract<ExpectedEnd, { verdict: "failed" }>["failureClass"],
  providerCode?: string,
): ExpectedEnd => ({ verdict: "failed", failureClass, ...(providerCode !== undefined && { providerCode }) });

export const weather: ExpectedCall = { toolCallId: "call_a", toolName: "weather", input: { city: "北京" } };
export const time: ExpectedCall = { toolCallId: "call_b", toolName: "time", input: { zone: "UTC" } };
