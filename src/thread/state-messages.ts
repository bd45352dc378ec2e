// Which records of a run are messages of its thread's state. Pure.
import type { LangMessage, RecordDraft } from "../../schemas/thread.ts";
import { isRecord } from "../wire/json.ts";

const LEAD = "lead_agent";

/**
 * The messages of these records, each with an id: what the agent itself answered, results of tools, and what a user said that
 * is not in the state yet. What a subagent or a middleware said is no part of the conversation.
 */
export function stateMessages(records: readonly RecordDraft[], isThere: (id: string) => boolean): LangMessage[] {
  return records.flatMap(({ eventType, content, metadata }) => {
    if (!isMessage(content)) return [];
    if (eventType === "llm.ai.response") return (metadata["caller"] ?? LEAD) === LEAD ? [content] : [];
    if (eventType === "llm.human.input") return isThere(content.id) ? [] : [content];
    return eventType === "llm.tool.result" ? [content] : [];
  });
}

const isMessage = (value: unknown): value is LangMessage =>
  isRecord(value) && typeof value["id"] === "string" && typeof value["type"] === "string";
