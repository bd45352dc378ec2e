// Wires the chat: composer, buttons, list and address on one side, the flow of the open chat on the other. It asks the server for
// nothing before it is shown, and keeps nothing of a chat.
import type { ApiKey } from "../api-key.ts";
import { byId, keepingFocus } from "../elements.ts";
import { chatIn, type Views } from "../views.ts";
import { createChatFlow } from "./chat-flow.ts";
import { isLive } from "./chat-view.ts";
import { pageTitle, waitWords } from "./chat-words.ts";
import { createDrafts } from "./drafts.ts";
import { createKeptChats } from "./kept-chats.ts";
import { createModelChoice } from "./model-choice.ts";
import { createRenderChat } from "./render-chat.ts";
import { createSvedaApi } from "./sveda-api.ts";

/** At most one drawing per this many milliseconds, however many events arrive. */
const drawMs = 30;

export const startChatPage = (views: Views, apiKey: ApiKey): void => {
  const prompt = byId("chat-prompt", HTMLTextAreaElement);
  const api = createSvedaApi("", apiKey.value, sessionStorage, localStorage);
  const drafts = createDrafts();

  let drawing = false;
  let begun = false;

  // By timer and not by animation frame: a hidden tab gets no frames, but its title should still say how it goes.
  const draw = (): void => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => {
      drawing = false;
      render(flow.view(), { opening: flow.isOpening(), words: flow.words() });
      views.name("chat", pageTitle(flow.view()));
    }, drawMs);
  };

  /** Asks the server what it offers, and for the chats. */
  const meet = async (): Promise<void> => {
    const answer = await api.config();
    if (answer.ok) models.offer(answer.value);
    else if (!isLive(flow.view())) flow.apply({ kind: "refused", problem: answer.problem });
    if (answer.ok) await chats.read();
  };

  const readList = (): void => {
    chats.read().catch(reportError);
  };

  const goTo = (chatId: string): void => {
    location.hash = `chat=${encodeURIComponent(chatId)}`;
  };

  const flow = createChatFlow({
    api,
    tab: sessionStorage,
    means: { now: () => new Date(), setAccent },
    model: () => models.read(),
    address: () => chatIn(location.hash),
    goTo,
    draw,
    askForKey: showKeyField,
    began: (chatId) => {
      drafts.began(chatId);
      goTo(chatId);
    },
    turnTo: (chatId) => {
      prompt.value = drafts.turnTo(chatId, prompt.value);
    },
    lists: (chatId) => chats.has(chatId),
    readList,
    showList: () => chats.show(),
    meet: () => {
      meet().catch(reportError);
    },
  });

  /** The open chat makes room for a new one. */
  const close = (): void => {
    flow.startAnew();
    location.hash = "chat";
  };

  const chats = createKeptChats(api, flow, close);
  const models = createModelChoice(sessionStorage, flow.ask);
  const render = createRenderChat(
    { yes: (call) => flow.decide(call, "approve"), no: (call) => flow.decide(call, "deny") },
    { again: flow.again, goOn: flow.goOn },
  );

  const show = (): void => {
    if (views.shown() !== "chat") return;
    if (!begun) {
      begun = true;
      meet().catch(reportError);
    }
    showPanel(false);
    const chatId = chatIn(location.hash);
    if (chatId === null) {
      if (flow.view().messages.length > 0 || flow.isOpening()) flow.startAnew();
    } else if (chatId !== flow.view().chatId) flow.openChat(chatId).catch(reportError);
  };

  const submit = (): void => {
    const text = prompt.value;
    if (text.trim() === "") return;
    const wait = waitWords(flow.view(), flow.isOpening());
    flow.say(wait);
    if (wait !== "") return;
    prompt.value = "";
    flow.ask(text);
    prompt.focus({ preventScroll: true });
  };
  byId("chat-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  prompt.addEventListener("input", () => flow.say(""));
  prompt.addEventListener("keydown", (event) => {
    // On a touch keyboard Enter is the only way to a new line.
    const newLine = event.shiftKey || event.isComposing || matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || (newLine && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  byId("chat-stop", HTMLButtonElement).addEventListener("click", flow.stop);
  byId("new-chat", HTMLButtonElement).addEventListener("click", () => {
    close();
    prompt.focus();
  });
  byId("chats-toggle", HTMLButtonElement).addEventListener("click", ({ currentTarget }) => {
    showPanel(currentTarget instanceof HTMLElement && currentTarget.ariaExpanded !== "true");
  });
  document.addEventListener("keydown", (event) => {
    const elsewhere = event.isComposing || event.target instanceof HTMLSelectElement;
    if (event.key !== "Escape" || elsewhere || document.querySelector("dialog[open]") !== null) return;
    if (views.shown() === "chat") flow.stop();
  });
  document.addEventListener("visibilitychange", () => {
    if (begun && !document.hidden) readList();
  });
  apiKey.onChange(() => {
    api.forgetVisitor();
    if (!begun) return;
    flow.startAnew();
    chats.forget();
    if (views.shown() === "chat") location.hash = "chat";
    meet().catch(reportError);
  });
  views.onShow(show);
  draw();
  show();
};

const setAccent = (color: string): void => {
  document.documentElement.dataset["accent"] = color;
};

const showKeyField = (): void => {
  showPanel(true);
  const fold = byId("chat-key", HTMLElement).closest("details");
  if (fold !== null) fold.open = true;
};

/** On a narrow page the list is folded away. */
const showPanel = (open: boolean): void => {
  const panel = byId("chats-panel", HTMLElement);
  keepingFocus(panel, byId("talk-scroll", HTMLElement), () => {
    panel.dataset["open"] = String(open);
    byId("chats-toggle", HTMLButtonElement).ariaExpanded = String(open);
  });
};
