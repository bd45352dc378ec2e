// Draws an AskView into the page: question, status, text with its markers, how it ended. It decides nothing, and writes text as text.
import { drawPieces } from "../chat/render-text.ts";
import { byId, keepingEnd, make, setMark, setText } from "../elements.ts";
import { isolated } from "../wording.ts";
import { type AskView, isLive, shownText } from "./answer-view.ts";
import { factsWords, type Notice, noticeOf, phaseWords } from "./ask-words.ts";
import { citedPiecesOf } from "./cited-text.ts";
import { linesWords, type Source } from "./sources.ts";

/** `openSource`: a marker was pressed. `words`: something to say instead of where the question stands; empty: nothing. */
export type RenderAnswer = (view: AskView, words: string) => void;

export const createRenderAnswer = (openSource: (source: Source) => void): RenderAnswer => {
  let shown = "";
  return (view, words) => {
    const result = byId("ask-result", HTMLElement);
    setMark(result, "phase", view.phase);
    setMark(result, "ending", endingWord(view));
    setText(byId("ask-asked", HTMLElement), view.question ?? "Answer");
    setText(byId("ask-status", HTMLElement), words || phaseWords(view));
    byId("ask-empty", HTMLElement).hidden = isLive(view) || view.ending !== null;
    drawText(view, openSource);
    const notice = noticeOf(view);
    const wanted = JSON.stringify(notice);
    if (wanted !== shown) drawNotice(notice);
    shown = wanted;
    setText(byId("ask-facts", HTMLElement), factsWords(view));
    drawSteps(view);
    byId("ask-stop", HTMLButtonElement).disabled = !isLive(view) || view.phase === "stopping";
  };
};

/** For style and tests. */
const endingWord = ({ ending }: AskView): string => {
  switch (ending?.kind) {
    case "judged":
      return ending.reason ?? "grounded";
    case "failed":
    case "given_up":
      return ending.kind;
    case undefined:
      return "none";
  }
};

const drawText = (view: AskView, openSource: (source: Source) => void): void => {
  const sources = view.sources ?? [];
  const element = byId("ask-answer", HTMLElement);
  element.ariaBusy = String(isLive(view));
  keepingEnd(element, () =>
    drawPieces(
      element,
      citedPiecesOf(shownText(view), sources.length).map((piece) => {
        if (piece.kind !== "marker") return piece;
        const source = sources[piece.number - 1];
        return source === undefined
          ? { kind: "text", text: piece.text }
          : { kind: "own", name: `${source.number}`, make: () => markerOf(source, openSource) };
      }),
    ),
  );
};

const markerOf = (source: Source, openSource: (source: Source) => void): HTMLElement => {
  const button = make("button", String(source.number), "marker");
  button.type = "button";
  button.ariaLabel = `Source ${source.number}: ${source.docPath}, ${linesWords(source)}`;
  button.title = `${isolated(source.docPath)}, ${linesWords(source)}`;
  button.addEventListener("click", () => openSource(source));
  return button;
};

const drawNotice = (notice: Notice | null): void => {
  const panel = byId("ask-notice", HTMLElement);
  panel.hidden = notice === null;
  if (notice === null) return panel.replaceChildren();
  panel.dataset["kind"] = notice.kind;
  panel.replaceChildren(make("strong", notice.heading), ...notice.words.map((line) => make("p", line)));
  if (notice.facts !== "") panel.append(make("p", notice.facts, "hint"));
};

const drawSteps = ({ ending }: AskView): void => {
  const queries = ending?.kind === "judged" ? ending.facts.subQueries : [];
  const line = byId("ask-steps", HTMLElement);
  line.hidden = queries.length === 0;
  setText(line, `Also looked for: ${queries.map(isolated).join(" · ")}`);
};
