// What this tab posted last, so that a turn whose answer fails after a reload can still be tried again as the same turn.
import { fieldsIn, isFields, parseJson, textIn } from "../fields.ts";
import type { TurnBody } from "./turn-body.ts";
import type { Keeping } from "./visitor.ts";

const postedName = "holdfast-chat-posted";

export const keepPosted = (tab: Keeping, chatId: string, { body, identity }: TurnBody): void => {
  try {
    tab.setItem(postedName, JSON.stringify({ chatId, body, identity }));
  } catch {
    // It is too long for the browser's storage; then it is not kept.
    tab.removeItem(postedName);
  }
};

/** Null when this tab posted nothing to the chat, or to another one since. */
export const keptPosted = (tab: Keeping, chatId: string): TurnBody | null => {
  const value = parseJson(tab.getItem(postedName) ?? "");
  if (!isFields(value) || textIn(value, "chatId") !== chatId) return null;
  const [body, identity] = [fieldsIn(value, "body"), textIn(value, "identity")];
  return body === undefined || identity === undefined ? null : { body, identity };
};
