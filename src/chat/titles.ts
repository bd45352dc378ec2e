// Titles and previews of chats. Pure.
import type { DisplayMessage } from "../../schemas/chat.ts";
import { firstCharacters } from "../wire/characters.ts";

const MAX_TITLE = 80;
const MAX_PREVIEW = 160;

const cutTo = (text: string, max: number): string => firstCharacters(text, max).trim();

/** A title that says nothing, which a better one may replace. */
export function isPlaceholder(title: string): boolean {
  const text = title.trim();
  return text === "" || text === "__NEW_CHAT__" || /^(New Chat|Новый чат)(\s+\d+)?$/i.test(text);
}

/** What a chat is called until it has a better title: its prompt, on one line, at most 80 characters. */
export const provisionalTitle = (prompt: string): string => cutTo(prompt.replace(/\s+/g, " ").trim(), MAX_TITLE);

/** The first words of a user, at most 160 characters. */
export function previewOf(messages: readonly DisplayMessage[]): string {
  for (const message of messages) {
    const text = message.role === "user" ? textOf(message) : "";
    if (text !== "") return cutTo(text, MAX_PREVIEW);
  }
  return "";
}

/** A message's own text, or that of its parts. */
function textOf({ content, parts }: DisplayMessage): string {
  const own = content.trim();
  if (own !== "") return own;
  const texts = parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text.trim()] : []));
  return texts.filter((text) => text !== "").join("\n");
}
