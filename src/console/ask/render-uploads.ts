// Draws the files that are on their way into a collection, each with its bar, and what became of them.
import { byId, make, setMark, setText } from "../elements.ts";
import { isolated } from "../wording.ts";
import { countedWords, isOver, type Upload } from "./uploads.ts";

type Drawn = { readonly item: HTMLElement; readonly bar: HTMLProgressElement; readonly words: HTMLElement };

export const createRenderUploads = (): ((rows: readonly Upload[]) => void) => {
  const drawn = new Map<string, Drawn>();
  return (rows) => {
    byId("ask-uploads-panel", HTMLElement).hidden = rows.length === 0;
    const over = rows.length > 0 && rows.every(isOver);
    const ends = over && byId("ask-uploads-clear", HTMLElement).hidden;
    byId("ask-uploads-clear", HTMLElement).hidden = !over;
    setText(byId("ask-uploads-title", HTMLElement), countedWords(rows));
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
    if (!ends) return;
    const refused = rows.find(({ state }) => state.kind === "refused");
    const item = refused === undefined ? undefined : drawn.get(refused.id)?.item;
    if (item !== undefined) list.scrollTop += item.getBoundingClientRect().top - list.getBoundingClientRect().top;
  };
};

/** For those who do not see the bars: how many there are, and what must be known of each. */
const summary = (rows: readonly Upload[]): string => {
  const told = rows.length === 1 ? rows : rows.filter(({ state }) => state.kind === "refused");
  return [
    `${countedWords(rows)}.`,
    ...told.map(({ name, state }) => `${isolated(name)}: ${"words" in state ? state.words : ""}`),
  ].join(" ");
};

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
