// A request's own messages as its thread keeps them. Pure. Instructions to a model are no part of a conversation: they are the request's own.
import type { Message } from "../../schemas/run.ts";
import type { LangMessage } from "../../schemas/thread.ts";
import { exactValue } from "../wire/exact-json.ts";
import { answerMessage, humanMessage, resultId, resultMessage } from "./messages.ts";

type Said = Exclude<Message, { role: "system" }>;

export const isSaid = (message: Message): message is Said => message.role !== "system";

/** Ids are made from the run's: a repeat of the start has the same. */
export function inputMessages(runId: string, messages: readonly Said[]): LangMessage[] {
  const names = new Map<string, string>();
  return messages.map((message, index) => {
    const id = `in--${runId}-${index}`;
    switch (message.role) {
      case "user":
        return humanMessage(id, message.content);
      case "assistant": {
        const calls = message.toolCalls ?? [];
        for (const { toolCallId, toolName } of calls) names.set(toolCallId, toolName);
        return answerMessage({
          id,
          step: 0,
          text: textOf(message.content ?? ""),
          reasoning: "",
          calls: calls.map(({ toolCallId, toolName, input, inputJson }) => ({
            toolCallId,
            toolName,
            input,
            inputJson,
            execution: "client",
          })),
          usage: undefined,
          model: undefined,
          finishReason: undefined,
          latencyMs: null,
          callIndex: 1,
        });
      }
      case "tool": {
        const { toolCallId, outputJson, isError = false } = message;
        const output = exactValue(outputJson, message.output);
        return resultMessage({ id, toolCallId, toolName: names.get(toolCallId) ?? "", output, isError });
      }
    }
  });
}

/** Results that a request brings for open calls of an earlier run. */
export function givenResults(
  runId: string,
  results: readonly {
    toolCallId: string;
    output?: unknown;
    outputJson?: string | undefined;
    isError?: boolean | undefined;
  }[],
  open: readonly { toolCallId: string; toolName: string }[],
): LangMessage[] {
  return results.map(({ toolCallId, outputJson, isError = false, ...result }) => {
    const toolName = open.find((call) => call.toolCallId === toolCallId)?.toolName ?? "";
    const output = exactValue(outputJson, result.output);
    return resultMessage({ id: resultId(runId, toolCallId), toolCallId, toolName, output, isError });
  });
}

/** The texts of a message; models say nothing else. */
function textOf(content: Extract<Message, { role: "user" }>["content"]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
