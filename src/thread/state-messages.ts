// Which records of a run are messages of its thread's state. Pure.
import type { LangMessage, RecordDraft } from "../../schemas/thread.ts";
import { asRecord, asText, isRecord } from "../wire/json.ts";
import { callIdsOf } from "./model-messages.ts";

const LEAD = "lead_agent";

const MESSAGES: readonly string[] = ["llm.human.input", "llm.ai.response", "ai_message", "llm.tool.result"];

/** What is in the state before these records, each asked by its id. */
export interface StateBefore {
  hasMessage(id: string): boolean;
  hasCall(toolCallId: string): boolean;
}

/**
 * The messages of these records, each with an id: what the agent itself answered, results of calls that are in the state, and
 * what a user said that is not in it yet. What a subagent or a middleware said is no part of the conversation, nor are the
 * results of its calls, whose records do not tell whose they are.
 */
export function stateMessages(
  records: readonly Pick<RecordDraft, "eventType" | "content" | "metadata">[],
  { hasMessage, hasCall }: StateBefore,
): LangMessage[] {
  const called = new Set<string>();
  return records.flatMap(({ eventType, content, metadata }) => {
    if (!isMessage(content)) return [];
    switch (eventType) {
      case "llm.human.input":
        return hasMessage(content.id) ? [] : [content];
      case "llm.ai.response":
      case "ai_message":
        if ((metadata["caller"] ?? LEAD) !== LEAD) return [];
        for (const id of callIdsOf([content])) called.add(id);
        return [content];
      case "llm.tool.result": {
        const id = asText(content["tool_call_id"]) ?? "";
        return hasMessage(content.id) || called.has(id) || hasCall(id) ? [content] : [];
      }
    }
    return [];
  });
}

/** The record with an id in its message: where it brings none, it has one of the run and the record's place in it. */
export function withMessageId<Draft extends Pick<RecordDraft, "eventType" | "content">>(
  draft: Draft,
  runId: string,
  source: number,
): Draft {
  const content = MESSAGES.includes(draft.eventType) ? asRecord(draft.content) : undefined;
  if (content === undefined || asText(content["id"]) !== undefined) return draft;
  return { ...draft, content: { ...content, id: `pushed--${runId}-${source}` } };
}

const isMessage = (value: unknown): value is LangMessage =>
  isRecord(value) && typeof value["id"] === "string" && typeof value["type"] === "string";
