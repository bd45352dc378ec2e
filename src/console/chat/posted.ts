// What this tab posted last, so that a turn whose answer fails after a reload can still be tried again as the same turn.
import { fieldsIn, isFields, parseJson, textIn } from "../fields.ts";
import type { TurnBody } from "./turn-body.ts";
import type { Keeping } from "./visitor.ts";

const postedName = "holdfast-chat-posted";

/** `runId`: the turn's run, once the server has named it. */
export const keepPosted = (tab: Keeping, chatId: string, { body, identity }: TurnBody, runId: string | null): void => {
  try {
    tab.setItem(postedName, JSON.stringify({ chatId, body, identity, runId }));
  } catch {
    // It is too long for the browser's storage; then it is not kept.
    tab.removeItem(postedName);
  }
};

/** What this tab posted for the run. Null when that was nothing, or something else since. */
export const keptPosted = (tab: Keeping, chatId: string, runId: string): TurnBody | null => {
  const value = parseJson(tab.getItem(postedName) ?? "");
  if (!isFields(value) || textIn(value, "chatId") !== chatId) return null;
  // A run that was not named yet may be this one.
  if ((textIn(value, "runId") ?? runId) !== runId) return null;
  const [body, identity] = [fieldsIn(value, "body"), textIn(value, "identity")];
  return body === undefined || identity === undefined ? null : { body, identity };
};
