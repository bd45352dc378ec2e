// Draws the list of a collection's documents, and asks before one is removed. What is done about it is its caller's.
import { dialogOf } from "../dialog.ts";
import { byId, make, setText } from "../elements.ts";
import { countWords, isolated, timeWords } from "../wording.ts";
import type { DocumentRow } from "./documents.ts";
import type { DocumentsFlow } from "./documents-flow.ts";
import { refusalWords } from "./ask-problem.ts";
import { sizeWords } from "./files.ts";

export const createRenderDocuments = (remove: (docPath: string) => void): ((flow: DocumentsFlow) => void) => {
  const removing = dialogOf("remove-dialog", focusPlace);
  const askYes = (docPath: string): void => {
    setText(
      byId("remove-words", HTMLElement),
      `“${isolated(docPath)}” is gone from the collection. Your file is not touched.`,
    );
    removing(() => remove(docPath));
  };

  let drawn: readonly DocumentRow[] = [];
  return (flow) => {
    const { rows, count, next } = flow.page();
    setText(byId("ask-count", HTMLElement), rows.length === 0 ? "" : countWords(count, "document"));
    byId("ask-list-empty", HTMLElement).hidden = rows.length > 0 || !flow.isRead() || flow.problem() !== null;
    byId("ask-more", HTMLElement).hidden = next === null;
    const problem = flow.problem();
    const panel = byId("ask-list-problem", HTMLElement);
    panel.hidden = problem === null;
    setText(panel, problem === null ? "" : refusalWords(problem));
    if (rows === drawn) return;
    drawn = rows;
    const list = byId("ask-list", HTMLElement);
    const focused = document.activeElement;
    const place = focused instanceof HTMLElement && list.contains(focused) ? focused.dataset["focus"] : undefined;
    list.replaceChildren(...rows.map((row) => itemOf(row, askYes)));
    if (place !== undefined) focusPlace(place);
  };
};

/** The button that stands now where the focus was, or the way to other files. */
const focusPlace = (place: string): void => {
  const places = byId("ask-list", HTMLElement).querySelectorAll<HTMLElement>("[data-focus]");
  const found = [...places].find(({ dataset }) => dataset["focus"] === place);
  (found ?? byId("ask-choose", HTMLElement)).focus({ preventScroll: true });
};

const itemOf = (
  { docPath, title, bytes, passages, updatedAt }: DocumentRow,
  askYes: (path: string) => void,
): HTMLElement => {
  const item = make("li");
  const words = make("div", "", "document-words");
  const facts = [
    countWords(passages, "passage"),
    sizeWords(bytes),
    updatedAt === "" ? "" : timeWords(updatedAt, new Date()),
  ].filter((fact) => fact !== "");
  words.append(make("span", docPath, "document-name"), make("span", facts.join(" · "), "document-facts"));
  if (title !== "" && title !== docPath) words.title = title;
  const button = make("button", "✕", "small");
  button.type = "button";
  button.title = "Remove";
  button.ariaLabel = `Remove ${docPath}`;
  button.dataset["focus"] = docPath;
  button.addEventListener("click", () => askYes(docPath));
  item.append(words, button);
  return item;
};
