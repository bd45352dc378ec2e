// Short ways to write down chats for the tests of their rules.
import type { DisplayMessage, HistoryEntry, TurnEnd, TurnRequest } from "../../../schemas/chat.ts";
import type { CallRecord, ToolResult } from "../../../schemas/tool.ts";
import { callEntryOf } from "../../../src/chat/history.ts";

export const system = (content: string): HistoryEntry => ({ role: "system", content });
export const user = (content: string): HistoryEntry => ({ role: "user", content });
export const assistant = (content: string, ...calls: CallRecord[]): HistoryEntry => ({
  role: "assistant",
  content,
  ...(calls.length > 0 && { tool_calls: calls.map(callEntryOf) }),
});
export const tool = (id: string, content: string): HistoryEntry => ({ role: "tool", content, tool_call_id: id });

export function call(toolCallId: string, fields: Partial<CallRecord> = {}): CallRecord {
  return { toolCallId, toolName: "weather", input: { city: "Bern" }, execution: "server", ...fields };
}
export const clientCall = (id: string): CallRecord => call(id, { execution: "client", toolName: "scroll" });
export const approval = (id: string): CallRecord => call(id, { confirmation: "required", toolName: "pay" });
export const answeredBy = (made: CallRecord, output: unknown, fields: Partial<ToolResult> = {}): CallRecord => ({
  ...made,
  result: { output, ...fields },
});

export const shown = (id: string, content: string): DisplayMessage => ({
  id,
  role: "user",
  content,
  parts: [{ type: "text", text: content }],
});

export function asking(fields: Partial<TurnRequest> = {}): TurnRequest {
  return {
    chatId: "chat",
    identity: "identity",
    liveOnly: false,
    display: [],
    history: [],
    prompt: "What is the weather?",
    decisions: [],
    stream: { max: 0, minutes: 1 },
    activePerVisitor: 0,
    unknownModel: false,
    maxConversationBytes: 1_000_000,
    ...fields,
  };
}

/** The end of a turn of these steps. */
export function ending(runId: string, steps: TurnEnd["steps"], fields: Partial<TurnEnd> = {}): TurnEnd {
  return {
    runId,
    chatId: "chat",
    at: 0,
    outcome: "completed",
    text: steps.map(({ text }) => text).join(""),
    reasoning: steps.map(({ reasoning }) => reasoning).join(""),
    carried: [],
    steps,
    titles: [],
    ...fields,
  };
}
export const step = (text: string, ...calls: CallRecord[]): TurnEnd["steps"][number] => ({
  text,
  reasoning: "",
  calls,
});
