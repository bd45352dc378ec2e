// Wires the ask view: files, collection, question, buttons and address on one side, the flows on the other. It asks the server for
// nothing before it is shown, and keeps nothing of an answer.
import type { ApiKey } from "../api-key.ts";
import { byId, keepingFocus, make } from "../elements.ts";
import { askIn, type Views } from "../views.ts";
import { isLive } from "./answer-view.ts";
import { createAskFlow } from "./ask-flow.ts";
import { pageTitle } from "./ask-words.ts";
import { createDocumentsFlow } from "./documents-flow.ts";
import { acceptFiles } from "./file-drop.ts";
import { createKebabApi } from "./kebab-api.ts";
import { keptQuestions } from "./kept-questions.ts";
import { readOptions } from "./options.ts";
import { createPassagesFlow } from "./passages-flow.ts";
import { createRenderAnswer } from "./render-answer.ts";
import { createRenderDocuments } from "./render-documents.ts";
import { createRenderSources, sourceId } from "./render-sources.ts";
import { createRenderUploads } from "./render-uploads.ts";
import { sampleFile, sampleQuestion } from "./sample.ts";
import type { Source } from "./sources.ts";
import { createUploadFlow } from "./upload-flow.ts";
import { isOver } from "./uploads.ts";

/** At most one drawing per this many milliseconds, however many lines arrive. */
const drawMs = 30;
const collectionName = "holdfast-collection";
/** The address that was followed last: what was chosen since then counts. */
const addressName = "holdfast-ask-address";
const conversationName = "holdfast-conversation";

export const startAskPage = (views: Views, apiKey: ApiKey): void => {
  const question = byId("ask-question", HTMLTextAreaElement);
  const field = byId("ask-collection", HTMLInputElement);
  const api = createKebabApi("", apiKey.value);
  field.value = sessionStorage.getItem(collectionName) ?? "default";
  const talking = byId("ask-talk", HTMLInputElement);
  let conversation = sessionStorage.getItem(conversationName) ?? "";
  talking.checked = sessionStorage.getItem(conversationName) !== null;
  byId("ask-options", HTMLDetailsElement).open = talking.checked;
  let drawing = false;
  let begun = false;
  /** What had the keyboard when a source was opened. */
  let openedFrom: HTMLElement | null = null;
  /** The one that was opened last. */
  let openedSource: Source | null = null;

  // By timer and not by animation frame: a hidden tab gets no frames, but its title should still say how it goes.
  const draw = (): void => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      // What goes away or cannot be used any more would leave the keyboard nowhere.
      keepingFocus(byId("ask-view", HTMLElement), question, drawAll);
      views.name("ask", pageTitle(flow.view()));
    }, drawMs);
  };

  const drawAll = (): void => {
    renderUploads(uploads.rows());
    renderDocuments(documents);
    renderAnswer(flow.view(), flow.words());
    renderSources(flow.view());
    byId("ask-send", HTMLButtonElement).disabled = isLive(flow.view()) || question.value.trim() === "";
  };

  const documents = createDocumentsFlow(api, field.value, draw);
  const uploads = createUploadFlow(api.send, draw, (collection) => {
    if (collection === documents.collection()) documents.read();
  });
  const passages = createPassagesFlow(api, draw);
  const flow = createAskFlow(
    {
      api,
      tab: sessionStorage,
      draw,
      goTo: (runId, collection) => {
        location.hash = new URLSearchParams({ ask: runId, collection }).toString();
        sessionStorage.setItem(addressName, location.hash);
        drawBefore();
      },
      askForKey: showKeyField,
      turned: () => {
        openedSource = null;
        openedFrom = null;
        passages.closeAll();
      },
    },
    documents.collection(),
  );

  const openSource = (source: Source): void => {
    openedFrom = null;
    openedSource = source;
    passages.open(source, flow.view().collection);
  };
  /** By its marker: the keyboard goes along, and back when it is closed. */
  const goToSource = (source: Source): void => {
    const marker = document.activeElement;
    openSource(source);
    openedFrom = marker instanceof HTMLElement ? marker : null;
    const item = byId(sourceId(source.number), HTMLElement);
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  const closeSource = ({ number }: Source): void => {
    passages.close(number);
    if (openedSource?.number === number) openedSource = null;
    openedFrom?.focus();
    openedFrom = null;
  };

  const renderUploads = createRenderUploads();
  const renderDocuments = createRenderDocuments(documents.remove);
  const renderAnswer = createRenderAnswer(goToSource);
  const renderSources = createRenderSources({ passage: passages.of, open: openSource, close: closeSource });

  const choose = (name: string): void => {
    if (field.value !== name) field.value = name;
    if (name !== documents.collection()) keepConversation("");
    sessionStorage.setItem(collectionName, name);
    documents.choose(name);
  };

  const take = (files: readonly File[]): void => {
    if (files.length > 0) uploads.add(files, documents.collection());
  };

  const submit = (): void => {
    const text = question.value;
    if (text.trim() === "" || isLive(flow.view())) return;
    flow.ask({ question: text, collection: documents.collection(), ...readOptions(talk) });
    byId("ask-result", HTMLElement).scrollIntoView({ block: "nearest" });
  };

  /** The conversation that goes on, or a new one. */
  const talk = (): string => {
    if (conversation === "") keepConversation(`console-${crypto.randomUUID()}`);
    return conversation;
  };

  /** Empty: the next question begins one. A reload goes on with it. */
  const keepConversation = (id: string): void => {
    conversation = id;
    if (talking.checked) sessionStorage.setItem(conversationName, id);
    else sessionStorage.removeItem(conversationName);
  };

  const drawBefore = (): void => {
    const asked = keptQuestions(sessionStorage);
    byId("ask-before-fold", HTMLElement).hidden = asked.length === 0;
    byId("ask-before", HTMLElement).replaceChildren(
      ...asked.map((kept) => {
        const link = make("a", kept.question);
        link.href = `#${new URLSearchParams({ ask: kept.runId, collection: kept.collection }).toString()}`;
        const item = make("li");
        item.append(link);
        return item;
      }),
    );
  };

  const show = (): void => {
    if (views.shown() !== "ask") return;
    const { runId, collection } = askIn(location.hash);
    const before = documents.collection();
    const asked = collection || documents.collection();
    if (location.hash !== sessionStorage.getItem(addressName)) choose(asked);
    sessionStorage.setItem(addressName, location.hash);
    const first = !begun;
    begun = true;
    if (first) {
      drawBefore();
      if (before === documents.collection()) documents.read();
    }
    // What was posted last is newer than the address.
    if (first && flow.takeUp()) return;
    if (runId !== null && runId !== flow.view().runId) flow.open(runId, asked);
    else if (runId === null && flow.view().runId !== null) flow.leave(documents.collection());
  };

  field.addEventListener("change", () => choose(field.value.trim() || "default"));
  byId("ask-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  question.addEventListener("input", draw);
  question.addEventListener("keydown", (event) => {
    // On a touch keyboard Enter is the only way to a new line.
    const newLine = event.shiftKey || event.isComposing || matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || (newLine && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  byId("ask-stop", HTMLButtonElement).addEventListener("click", flow.stop);
  byId("ask-more", HTMLButtonElement).addEventListener("click", documents.more);
  byId("ask-uploads-clear", HTMLButtonElement).addEventListener("click", () => {
    uploads.clear();
    byId("ask-choose", HTMLElement).focus({ preventScroll: true });
  });
  byId("ask-sample", HTMLButtonElement).addEventListener("click", () => {
    take([sampleFile()]);
    if (question.value.trim() === "") question.value = sampleQuestion;
    draw();
  });
  talking.addEventListener("change", () => keepConversation(""));
  window.addEventListener("beforeunload", (event) => {
    // What is not sent yet would be lost without a word.
    if (!uploads.rows().every(isOver)) event.preventDefault();
  });
  acceptFiles(byId("ask-view", HTMLElement), take);
  document.addEventListener("keydown", (event) => {
    const elsewhere = event.isComposing || event.target instanceof HTMLSelectElement;
    if (event.key !== "Escape" || elsewhere || document.querySelector("dialog[open]") !== null) return;
    if (views.shown() !== "ask") return;
    if (isLive(flow.view())) flow.stop();
    else if (openedSource !== null) closeSource(openedSource);
  });
  apiKey.onChange(() => {
    if (!begun) return;
    documents.read();
    const { ending, runId, collection } = flow.view();
    const isLocked = ending?.kind === "failed" && ending.problem.code === "unauthorized";
    if (isLocked && runId !== null) flow.open(runId, collection);
  });
  views.onShow(show);
  draw();
  show();
};

const showKeyField = (): void => {
  const fold = byId("ask-key", HTMLElement).closest("details");
  if (fold !== null) fold.open = true;
};
