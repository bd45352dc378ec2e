// What this tab has asked, so that a reload shows the question again and never asks it twice. Answers are kept by the server alone.
import { type Fields, fieldsIn, isFields, parseJson, textIn } from "../fields.ts";
import type { Keeping } from "../chat/visitor.ts";

export type KeptQuestion = { readonly runId: string; readonly question: string; readonly collection: string };

/** What was posted, and the name under which a repeat of it is the same question. */
export type Posted = { readonly body: Fields; readonly identity: string };

const keptName = "holdfast-asked";
const postedName = "holdfast-asking";
const most = 20;

/** The newest first. */
export const keptQuestions = (tab: Keeping): readonly KeptQuestion[] => {
  const value = parseJson(tab.getItem(keptName) ?? "");
  return (Array.isArray(value) ? value : []).filter(isFields).flatMap((kept) => {
    const [runId, question, collection] = [textIn(kept, "runId"), textIn(kept, "question"), textIn(kept, "collection")];
    return runId === undefined || question === undefined || collection === undefined
      ? []
      : [{ runId, question, collection }];
  });
};

export const keepQuestion = (tab: Keeping, question: KeptQuestion): void => {
  const others = keptQuestions(tab).filter(({ runId }) => runId !== question.runId);
  keep(tab, keptName, [question, ...others].slice(0, most));
};

/** Null: whatever was posted is answered for. */
export const keepPosted = (tab: Keeping, posted: Posted | null): void => {
  if (posted === null) tab.removeItem(postedName);
  else keep(tab, postedName, posted);
};

/** What was posted and not answered before the page went away. */
export const keptPosted = (tab: Keeping): Posted | null => {
  const value = parseJson(tab.getItem(postedName) ?? "");
  if (!isFields(value)) return null;
  const [body, identity] = [fieldsIn(value, "body"), textIn(value, "identity")];
  return body === undefined || identity === undefined ? null : { body, identity };
};

const keep = (tab: Keeping, name: string, value: unknown): void => {
  try {
    tab.setItem(name, JSON.stringify(value));
  } catch {
    // It is too long for the browser's storage; then it is not kept.
    tab.removeItem(name);
  }
};
