// What a record is to those who page through a thread's messages: told once, when it is kept. Pure.
import type { RecordDraft } from "../../schemas/thread.ts";

/** Bits. `page`: it stands on the pages of messages. `answer`: it is a model's answer that readers see. */
export const MARKS = { page: 1, answer: 2 } as const;

const ANSWERS: readonly string[] = ["llm.ai.response", "ai_message"];

/** The marks of a record; 0 when it is no message, or a hidden one. */
export function marksOf({
  eventType,
  category,
  metadata,
}: Pick<RecordDraft, "eventType" | "category" | "metadata">): number {
  if (category !== "message") return 0;
  const caller = typeof metadata["caller"] === "string" ? metadata["caller"] : "";
  if (caller.startsWith("middleware:")) return 0;
  if (!ANSWERS.includes(eventType)) return MARKS.page;
  return caller.startsWith("subagent:") ? MARKS.answer : MARKS.answer | MARKS.page;
}
