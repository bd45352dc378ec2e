// Draws a RunView into the page. It holds only what it drew last, decides nothing about the run, and writes text as text.
import { byId, keepingEnd, make, setMark, setText } from "./elements.ts";
import { summarize } from "./event-summary.ts";
import { describeIntegrity, describeRange, isIntact } from "./integrity.ts";
import { renderOutcome } from "./render-outcome.ts";
import type { AttemptRow } from "./attempts.ts";
import { maxRecentEvents, type ReceivedEvent, type RunView } from "./run-view.ts";
import type { ToolRow } from "./tools.ts";
import { connectionWords, countWords, durationWords, replacementWords, statusWords } from "./wording.ts";

/** Draws a view; `now` is Unix epoch milliseconds. */
export type Render = (view: RunView, now: number) => void;

export const canDrop = (view: RunView): boolean =>
  view.link === "connecting" || view.link === "open" || view.link === "reconnecting";
export const canResume = (view: RunView): boolean =>
  !view.terminalSeen && (view.link === "dropped" || (view.link === "refused" && view.outcome === null));
export const canCancel = (view: RunView): boolean =>
  view.status === "running" && !view.cancelAsked && view.link !== "refused";

/** `entitle` is told the page's title. */
export const createRender = (entitle: (title: string) => void): Render => {
  let drawn: RunView | null = null;
  return (view, now) => {
    const before = drawn?.runId === view.runId ? drawn : null;
    drawn = view;
    renderHead(view, now);
    entitle(`${statusWords(view)} · Holdfast console`);
    renderButtons(view);
    renderIntegrity(view);
    renderText(view, before);
    if (view.tools !== before?.tools) renderTools(view.tools);
    if (view.attempts !== before?.attempts) renderAttempts(view.attempts);
    if (view.recent !== before?.recent) renderEvents(view, before);
    renderOutcome(view, before);
  };
};

const renderHead = (view: RunView, now: number): void => {
  const status = statusWords(view);
  setText(byId("run-title", HTMLElement), view.title ?? "Run");
  setText(byId("run-id", HTMLElement), view.runId);
  setText(byId("status", HTMLElement), status);
  setMark(byId("run", HTMLElement), "status", view.status);
  setText(byId("connection", HTMLElement), connectionWords(view));
  setMark(byId("run", HTMLElement), "link", view.link);
  setText(byId("sequence", HTMLElement), view.integrity.last === null ? "–" : String(view.integrity.last));
  const end = view.endedAt ?? (view.status === "running" ? now : null);
  const known = view.startedAt !== null && end !== null;
  setText(byId("elapsed", HTMLElement), known ? durationWords(end - view.startedAt) : "–");
};

const renderButtons = (view: RunView): void => {
  const drop = byId("drop", HTMLButtonElement);
  const resume = byId("resume", HTMLButtonElement);
  const cancel = byId("cancel", HTMLButtonElement);
  const focused = document.activeElement;
  drop.disabled = !canDrop(view);
  resume.disabled = !canResume(view);
  cancel.disabled = !canCancel(view);
  const link = byId("second-tab", HTMLAnchorElement);
  link.hidden = false;
  link.href = `#run=${encodeURIComponent(view.runId)}`;
  // A button that disables itself would leave the keyboard nowhere.
  if (focused instanceof HTMLButtonElement && focused.disabled && [drop, resume, cancel].includes(focused)) {
    const next = [resume, drop].find((button) => !button.disabled);
    (focused === cancel || next === undefined ? byId("answer", HTMLElement) : next).focus({ preventScroll: true });
  }
};

const renderIntegrity = (view: RunView): void => {
  const { integrity } = view;
  const sound = isIntact(integrity) && view.textAgrees !== false;
  setMark(byId("integrity", HTMLElement), "state", integrity.received === 0 ? "empty" : sound ? "ok" : "broken");
  setText(byId("integrity-words", HTMLElement), describeIntegrity(integrity));
  const agreement =
    view.textAgrees === null
      ? ""
      : view.textAgrees
        ? "The text shown equals the outcome’s text."
        : "The text shown differs from the outcome’s text.";
  setText(byId("integrity-text", HTMLElement), agreement);
  setText(
    byId("integrity-counts", HTMLElement),
    [
      countWords(view.drops, "drop"),
      countWords(view.resumes, "resume"),
      countWords(view.reconnects, "reconnect"),
      countWords(integrity.gaps.length, "gap"),
      countWords(integrity.repeats, "duplicate"),
    ].join(" · "),
  );
  const spans = byId("spans", HTMLElement);
  spans.hidden = integrity.spans.length < 2;
  const words = integrity.spans.map(describeRange);
  if (words.join() !== [...spans.children].map((item) => item.textContent).join()) {
    spans.replaceChildren(...words.map((range) => make("li", range)));
  }
};

const renderText = (view: RunView, before: RunView | null): void => {
  const answer = byId("answer", HTMLElement);
  keepingEnd(answer, () => {
    const grown = before !== null && before.textEdition === view.textEdition;
    if (!grown) answer.replaceChildren(view.text);
    else if (view.text.length > before.text.length) answer.append(view.text.slice(before.text.length));
  });
  const empty = byId("answer-empty", HTMLElement);
  empty.hidden = view.text !== "";
  setText(empty, view.status === "running" ? "No text yet." : "The run ended without text.");
  const replacement = byId("replacement", HTMLElement);
  replacement.hidden = view.replacement === null;
  setText(replacement, view.replacement === null ? "" : replacementWords(view.replacement));
  const reasoning = byId("reasoning", HTMLElement);
  byId("reasoning-fold", HTMLElement).hidden = view.reasoning === "";
  if (view.reasoning !== before?.reasoning) keepingEnd(reasoning, () => setText(reasoning, view.reasoning));
};

const renderTools = (tools: readonly ToolRow[]): void => {
  byId("tools-panel", HTMLElement).hidden = tools.length === 0;
  byId("tools", HTMLElement).replaceChildren(
    ...tools.map((tool) => {
      const item = make("li");
      const head = make("p");
      head.append(make("strong", tool.toolName === "" ? tool.toolCallId : tool.toolName), " ", badge(tool.state));
      item.append(head, make("pre", tool.input === "" ? "{}" : tool.input));
      if (tool.output !== null) item.append(make("pre", tool.output, "result"));
      return item;
    }),
  );
};

const renderAttempts = (attempts: readonly AttemptRow[]): void => {
  byId("attempts-empty", HTMLElement).hidden = attempts.length > 0;
  byId("attempts", HTMLElement).replaceChildren(
    ...attempts.map((attempt) => {
      const row = make("tr");
      const phase = make("td");
      phase.append(badge(attempt.phase));
      const what = make("td");
      const classes = [attempt.errorClass, attempt.failureClass].filter((word) => word !== undefined);
      if (classes.length > 0) what.append(make("strong", classes.join(" / ")));
      if (attempt.httpStatus !== undefined) what.append(` HTTP ${attempt.httpStatus}`);
      if (attempt.message !== undefined) what.append(make("span", attempt.message, "line"));
      if (attempt.firstOutputMs !== undefined) {
        what.append(make("span", `first output after ${attempt.firstOutputMs} ms`, "line quiet"));
      }
      row.append(make("td", String(attempt.attempt)), make("td", attempt.targetId), phase, what);
      return row;
    }),
  );
};

const renderEvents = (view: RunView, before: RunView | null): void => {
  const list = byId("events", HTMLElement);
  const drawnTo = before?.integrity.last ?? -1;
  keepingEnd(list, () => {
    if (before === null) list.replaceChildren();
    list.append(...view.recent.filter((event) => event.sequence > drawnTo).map(eventItem));
    while (list.childElementCount > maxRecentEvents) list.firstElementChild?.remove();
  });
  const { received } = view.integrity;
  const shown = received > maxRecentEvents ? `, the last ${maxRecentEvents} shown` : "";
  byId("events-empty", HTMLElement).hidden = received > 0;
  setText(byId("events-count", HTMLElement), received === 0 ? "" : `${received} received${shown}`);
};

const eventItem = (event: ReceivedEvent): HTMLElement => {
  const item = make("li");
  item.dataset["type"] = event.type;
  item.append(
    make("span", String(event.sequence), "number"),
    make("span", event.type, "type"),
    make("span", summarize(event), "payload"),
  );
  return item;
};

const badge = (word: string): HTMLElement => {
  const made = make("span", word, "badge");
  made.dataset["word"] = word;
  return made;
};
