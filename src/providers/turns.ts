// A conversation as turns of blocks, for formats where roles must alternate and tool results are the user's. Knows no block's shape but its `text`.
import type { Message } from "../../schemas/run.ts";

export type Block = Record<string, unknown>;
export type Turn = { role: "user" | "assistant"; content: Block[] };

/** `before`: the turns up to the message. Neighbours of one role become one turn. System messages are left out: these formats have another place for them. */
export function turnsOf(
  messages: readonly Message[],
  blocksOf: (message: Message, before: readonly Turn[]) => Block[],
): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = blocksOf(message, turns).filter((block) => !isBlank(block));
    // All that it held cannot be sent.
    if (blocks.length === 0) continue;
    const last = turns.at(-1);
    // One by one: as arguments of one call there could be too many.
    if (last?.role === role) for (const block of blocks) last.content.push(block);
    else turns.push({ role, content: blocks });
  }
  return withoutTrailingSpace(turns);
}

/** A text without a visible character is refused. */
const isBlank = ({ text }: Block): boolean => typeof text === "string" && text.trim() === "";

/** These APIs refuse a trailing assistant text that ends in white space or is empty, however many blocks it comes in. */
function withoutTrailingSpace(turns: Turn[]): Turn[] {
  const turn = turns.at(-1);
  if (turn?.role !== "assistant") return turns;
  const content = [...turn.content];
  for (let block = content.at(-1); typeof block?.["text"] === "string"; block = content.at(-1)) {
    const text = block["text"].trimEnd();
    content.pop();
    if (text === "") continue;
    content.push({ ...block, text });
    break;
  }
  return [...turns.slice(0, -1), ...(content.length === 0 ? [] : [{ ...turn, content }])];
}
