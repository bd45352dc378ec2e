// Draws the files that are on their way into a collection, each with its bar, and what became of them.
import { byId, make, setMark, setText } from "../elements.ts";
import { isOver, type Upload } from "./uploads.ts";

type Drawn = { readonly item: HTMLElement; readonly bar: HTMLProgressElement; readonly words: HTMLElement };

export const createRenderUploads = (): ((rows: readonly Upload[]) => void) => {
  const drawn = new Map<string, Drawn>();
  return (rows) => {
    byId("ask-uploads-panel", HTMLElement).hidden = rows.length === 0;
    const over = rows.length > 0 && rows.every(isOver);
    byId("ask-uploads-clear", HTMLElement).hidden = !over;
    setText(byId("ask-uploads-title", HTMLElement), over ? "Added" : "Being added");
    setText(byId("ask-uploads-said", HTMLElement), over ? summary(rows) : "");
    const list = byId("ask-uploads", HTMLElement);
    const known = new Set(rows.map(({ id }) => id));
    for (const [id, { item }] of drawn) {
      if (known.has(id)) continue;
      item.remove();
      drawn.delete(id);
    }
    for (const row of rows) {
      const entry = drawn.get(row.id) ?? entryOf(row);
      if (!drawn.has(row.id)) list.append(entry.item);
      drawn.set(row.id, entry);
      draw(entry, row);
    }
  };
};

/** One sentence for those who do not see the bars. */
const summary = (rows: readonly Upload[]): string =>
  rows.map(({ name, state }) => `${name}: ${"words" in state ? state.words : ""}`).join(" ");

const entryOf = ({ id, name }: Upload): Drawn => {
  const item = make("li");
  const bar = make("progress");
  bar.max = 1;
  bar.id = `upload-${id}`;
  const label = make("label", name, "document-name");
  label.htmlFor = bar.id;
  const words = make("span", "", "document-facts");
  item.append(label, bar, words);
  return { item, bar, words };
};

const draw = ({ item, bar, words }: Drawn, { state }: Upload): void => {
  setMark(item, "state", state.kind);
  switch (state.kind) {
    case "waiting":
      bar.value = 0;
      setText(words, "Waiting…");
      return;
    case "going":
      if (state.fraction === null) bar.removeAttribute("value");
      else bar.value = state.fraction;
      setText(words, state.words);
      return;
    case "done":
      bar.value = 1;
      setText(words, state.words);
      return;
    case "refused":
      bar.hidden = true;
      setText(words, state.words);
      return;
  }
};
