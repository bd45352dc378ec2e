// The documents of the chosen collection, read and removed. Holds which one that is; it knows no element.
import type { AskProblem } from "./ask-problem.ts";
import { type DocumentPage, documentsIn, noDocuments, withMore } from "./documents.ts";
import type { KebabApi } from "./kebab-api.ts";

export type DocumentsFlow = {
  readonly collection: () => string;
  readonly page: () => DocumentPage;
  /** Why they could not be read, or one not removed; null: nothing is to be said. */
  readonly problem: () => AskProblem | null;
  readonly isRead: () => boolean;
  readonly choose: (collection: string) => void;
  readonly read: () => void;
  readonly more: () => void;
  readonly remove: (docPath: string) => void;
};

export const createDocumentsFlow = (api: KebabApi, first: string, draw: () => void): DocumentsFlow => {
  let collection = first;
  let page = noDocuments;
  let problem: AskProblem | null = null;
  let isRead = false;
  /** Only the latest reading counts. */
  let reading = 0;

  const load = async (after: string): Promise<void> => {
    reading += 1;
    const mine = reading;
    const answer = await api.collection(collection, after);
    if (mine !== reading) return;
    isRead = true;
    // A collection is there from its first document on.
    const isEmpty = !answer.ok && answer.problem.code === "not_indexed";
    problem = answer.ok || isEmpty ? null : answer.problem;
    if (answer.ok) page = after === "" ? documentsIn(answer.value) : withMore(page, documentsIn(answer.value));
    else if (isEmpty) page = noDocuments;
    draw();
  };

  const read = (): void => {
    load("").catch(reportError);
  };

  const remove = async (docPath: string): Promise<void> => {
    const answer = await api.remove(collection, docPath);
    if (!answer.ok && answer.problem.status !== 404) {
      problem = answer.problem;
      draw();
    } else await load("");
  };

  return {
    collection: () => collection,
    page: () => page,
    problem: () => problem,
    isRead: () => isRead,
    choose: (name) => {
      if (name === collection) return;
      collection = name;
      page = noDocuments;
      problem = null;
      isRead = false;
      draw();
      read();
    },
    read,
    more: () => {
      if (page.next !== null) load(page.next).catch(reportError);
    },
    remove: (docPath) => {
      remove(docPath).catch(reportError);
    },
  };
};
