// A conversation as turns of blocks, for formats where roles must alternate and tool results are the user's. Knows no block's shape but its `text`.
import type { Message } from "../../schemas/run.ts";

export type Block = Record<string, unknown>;
export type Turn = { role: "user" | "assistant"; content: Block[] };

/** Neighbours of one role become one turn. System messages are left out: these formats have another place for them. */
export function turnsOf(messages: readonly Message[], blocksOf: (message: Message) => Block[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocksOf(message));
    else turns.push({ role, content: blocksOf(message) });
  }
  return withoutTrailingSpace(turns);
}

/** These APIs refuse a trailing assistant text that ends in white space or is empty. */
function withoutTrailingSpace(turns: Turn[]): Turn[] {
  const turn = turns.at(-1);
  const block = turn?.content.at(-1);
  const text = block?.["text"];
  if (turn?.role !== "assistant" || typeof text !== "string") return turns;
  const trimmed = text.trimEnd();
  const content = [...turn.content.slice(0, -1), ...(trimmed === "" ? [] : [{ ...block, text: trimmed }])];
  return [...turns.slice(0, -1), ...(content.length === 0 ? [] : [{ ...turn, content }])];
}
