// Draws a ChatView into the page. It holds only what it drew last, decides nothing about the chat, and writes text as text.
import { byId, keepingEnd, keepingFocus, make, setMark, setText } from "../elements.ts";
import { contextWords, phaseWords } from "./chat-words.ts";
import { canAsk, type ChatView, isLive, type Task } from "./chat-view.ts";
import type { Verdicts } from "./render-call.ts";
import { createMessageList } from "./render-messages.ts";
import { createNotice, type Ways } from "./render-notice.ts";

/** What the page itself is at, beside the chat. */
export type Aside = {
  /** The chat is being fetched. */
  readonly opening: boolean;
  /** Something to say instead of where the chat stands; empty: nothing. */
  readonly words: string;
};

export type RenderChat = (view: ChatView, aside: Aside) => void;

export const createRenderChat = (verdicts: Verdicts, ways: Ways): RenderChat => {
  const drawMessages = createMessageList(byId("messages", HTMLElement), verdicts);
  const drawNotice = createNotice(ways);
  const drawAll: RenderChat = (view, aside) => {
    setText(byId("chat-title", HTMLElement), view.title ?? (aside.opening ? "Chat" : "New chat"));
    setMark(byId("talk", HTMLElement), "phase", view.phase);
    drawUsage(view);
    const scroller = byId("talk-scroll", HTMLElement);
    scroller.ariaBusy = String(isLive(view));
    keepingEnd(scroller, () => {
      byId("chat-welcome", HTMLElement).hidden = view.messages.length > 0 || aside.opening;
      drawMessages(view);
      drawTasks(view.tasks);
    });
    drawNotice(view);
    setText(byId("chat-status", HTMLElement), aside.words || (aside.opening ? "Opening…" : phaseWords(view)));
    drawButtons(view, aside);
  };
  // What goes away or cannot be used any more would leave the keyboard nowhere.
  return (view, aside) =>
    keepingFocus(byId("talk", HTMLElement), byId("chat-prompt", HTMLElement), () => drawAll(view, aside));
};

const drawUsage = (view: ChatView): void => {
  const panel = byId("chat-context", HTMLElement);
  panel.hidden = view.usage === null;
  panel.title = view.usage === null ? "" : `${view.usage.usedTokens.toLocaleString("en")} tokens used`;
  setText(byId("chat-context-words", HTMLElement), contextWords(view));
  byId("chat-context-meter", HTMLMeterElement).value = view.usage?.percent ?? 0;
};

const drawTasks = (tasks: readonly Task[]): void => {
  const list = byId("chat-tasks", HTMLElement);
  list.hidden = tasks.length === 0;
  list.replaceChildren(
    ...tasks.map(({ label, status, detail }) => {
      const item = make("li", label);
      const badge = make("span", status, "badge");
      badge.dataset["word"] = status;
      item.append(" ", badge);
      if (detail !== "") item.append(" ", make("span", detail, "quiet"));
      return item;
    }),
  );
};

const drawButtons = (view: ChatView, { opening }: Aside): void => {
  const send = byId("chat-send", HTMLButtonElement);
  const stop = byId("chat-stop", HTMLButtonElement);
  const prompt = byId("chat-prompt", HTMLTextAreaElement);
  send.disabled = !canAsk(view) || opening || prompt.value.trim() === "";
  stop.hidden = !isLive(view);
  stop.disabled = view.phase === "stopping";
};
