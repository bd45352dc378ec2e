// The views of the console, chosen by the address: `#chat` and `#chat=ID`, or anything else for the runs. It shows and names them, and knows nothing of what is in them.
import { byId } from "./elements.ts";

export type View = "runs" | "chat";

export type Views = {
  readonly shown: () => View;
  /** The page's title while this view is shown. */
  readonly name: (view: View, title: string) => void;
  readonly onShow: (listener: () => void) => void;
};

const sections: Readonly<Record<View, { section: string; link: string; prompt: string }>> = {
  runs: { section: "runs-view", link: "nav-runs", prompt: "prompt" },
  chat: { section: "chat-view", link: "nav-chat", prompt: "chat-prompt" },
};

const viewIn = (hash: string): View => (new URLSearchParams(hash.slice(1)).has("chat") ? "chat" : "runs");

/** The chat that an address names; null: none, or a new one. */
export const chatIn = (hash: string): string | null => {
  const chatId = new URLSearchParams(hash.slice(1)).get("chat");
  return chatId === "" ? null : chatId;
};

export const createViews = (): Views => {
  const titles: Record<View, string> = { runs: document.title, chat: document.title };
  const listeners: (() => void)[] = [];
  let shown: View = "runs";

  const show = (): void => {
    shown = viewIn(location.hash);
    for (const view of ["runs", "chat"] as const) {
      const { section, link } = sections[view];
      byId(section, HTMLElement).hidden = view !== shown;
      const anchor = byId(link, HTMLAnchorElement);
      if (view === shown) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
      // The way back leads to what was open.
      if (view === shown && location.hash !== "") anchor.href = location.hash;
    }
    byId("skip", HTMLAnchorElement).href = `#${sections[shown].prompt}`;
    document.title = titles[shown];
    for (const listener of listeners) listener();
  };

  byId("skip", HTMLAnchorElement).addEventListener("click", (event) => {
    // Following it would change the address, and with it the view.
    event.preventDefault();
    byId(sections[shown].prompt, HTMLElement).focus();
  });
  window.addEventListener("hashchange", show);
  show();
  return {
    shown: () => shown,
    name: (view, title) => {
      titles[view] = title;
      if (view === shown && document.title !== title) document.title = title;
    },
    onShow: (listener) => {
      listeners.push(listener);
    },
  };
};
