// Draws the passages that were found, which of them are cited, and the lines of those that are open. Lines are text, never markup.
import { byId, make, setMark, setText } from "../elements.ts";
import { isolated } from "../wording.ts";
import type { AskView } from "./answer-view.ts";
import type { Passage } from "./passage.ts";
import { linesWords, type Source } from "./sources.ts";

export type SourceActions = {
  readonly passage: (number: number) => Passage | undefined;
  readonly open: (source: Source) => void;
  /** The keyboard goes back to the marker that opened it, if one did. */
  readonly close: (source: Source) => void;
};

type Drawn = { source: Source; item: HTMLElement; badge: HTMLElement; button: HTMLButtonElement; lines: HTMLElement };

export const createRenderSources = (actions: SourceActions): ((view: AskView) => void) => {
  let sources: readonly Source[] | null = null;
  let drawn: readonly Drawn[] = [];
  const shown = new WeakMap<HTMLElement, Passage>();

  return (view) => {
    byId("ask-sources-panel", HTMLElement).hidden = view.sources === null || view.sources.length === 0;
    if (view.sources !== sources) {
      sources = view.sources;
      drawn = (sources ?? []).map((source) => itemOf(source, actions));
      byId("ask-sources", HTMLElement).replaceChildren(...drawn.map(({ item }) => item));
    }
    const cited = view.ending?.kind === "judged" ? view.ending.citations : [];
    const word = view.ending?.kind === "judged" && view.ending.reason === "score_gate" ? "near" : "cited";
    for (const { source, item, badge, button, lines } of drawn) {
      const isCited = cited.some(({ number }) => number === source.number);
      setMark(item, "cited", String(isCited));
      badge.hidden = !isCited;
      setText(badge, word);
      setMark(badge, "word", word);
      const passage = actions.passage(source.number);
      button.ariaExpanded = String(passage !== undefined);
      setText(button, `${passage === undefined ? "Show" : "Hide"} ${linesWords(source)}`);
      lines.hidden = passage === undefined;
      if (passage === undefined || shown.get(lines) === passage) continue;
      shown.set(lines, passage);
      lines.replaceChildren(...passageParts(passage));
      if (item === document.activeElement) item.scrollIntoView({ block: "nearest" });
    }
  };
};

export const sourceId = (number: number): string => `ask-source-${number}`;

const itemOf = (source: Source, { passage, open, close }: SourceActions): Drawn => {
  const item = make("li", "", "source");
  item.id = sourceId(source.number);
  item.tabIndex = -1;
  const head = make("p", "", "source-head");
  const badge = make("span", "", "badge");
  badge.hidden = true;
  head.append(make("span", String(source.number), "source-number"), make("strong", source.docPath), badge);
  if (source.score !== undefined) head.append(make("span", `score ${source.score.toFixed(2)}`, "source-score"));
  item.append(head);
  if (source.headings.length > 0) item.append(make("p", source.headings.map(isolated).join(" › "), "source-path"));
  const button = make("button", "", "quiet-button");
  button.type = "button";
  const lines = make("div", "", "lines");
  lines.id = `${item.id}-lines`;
  lines.role = "region";
  lines.ariaLabel = `${source.docPath}, ${linesWords(source)}`;
  lines.tabIndex = 0;
  button.setAttribute("aria-controls", lines.id);
  button.setAttribute("aria-describedby", item.id);
  button.addEventListener("click", () => (passage(source.number) === undefined ? open(source) : close(source)));
  item.append(make("p", source.snippet, "snippet"), button, lines);
  return { source, item, badge, button, lines };
};

const passageParts = (passage: Passage): readonly HTMLElement[] => {
  switch (passage.kind) {
    case "reading":
      return [make("p", "Reading…", "hint")];
    case "failed":
      return [make("p", passage.words, "lines-words")];
    case "shown": {
      const rows = passage.lines.map(({ number, text }) => {
        const row = make("div", "", "numbered");
        row.append(make("span", String(number), "line-number"), make("span", text, "line-text"));
        return row;
      });
      const changed = "The document has changed since it was read for this answer: these lines may be others.";
      return passage.changed ? [make("p", changed, "lines-words"), ...rows] : rows;
    }
  }
};
