// The views of the console, chosen by the address: `#chat` and `#chat=ID`, `#ask` and `#ask=RUNID&collection=NAME`, or anything else for the runs. It shows and names them, and knows nothing of what is in them.
import { byId } from "./elements.ts";

const all = ["runs", "chat", "ask"] as const;
export type View = (typeof all)[number];

export type Views = {
  readonly shown: () => View;
  /** The page's title while this view is shown. */
  readonly name: (view: View, title: string) => void;
  readonly onShow: (listener: () => void) => void;
};

const sections: Readonly<Record<View, { section: string; link: string; prompt: string }>> = {
  runs: { section: "runs-view", link: "nav-runs", prompt: "prompt" },
  chat: { section: "chat-view", link: "nav-chat", prompt: "chat-prompt" },
  ask: { section: "ask-view", link: "nav-ask", prompt: "ask-question" },
};

const viewIn = (hash: string): View => {
  const address = new URLSearchParams(hash.slice(1));
  return all.find((view) => view !== "runs" && address.has(view)) ?? "runs";
};

/** The chat that an address names; null: none, or a new one. */
export const chatIn = (hash: string): string | null => {
  const chatId = new URLSearchParams(hash.slice(1)).get("chat");
  return chatId === "" ? null : chatId;
};

/** The question's run that an address names, and the collection that it was asked of; null: none. */
export const askIn = (hash: string): { readonly runId: string | null; readonly collection: string | null } => {
  const address = new URLSearchParams(hash.slice(1));
  return { runId: address.get("ask") || null, collection: address.get("collection") };
};

export const createViews = (): Views => {
  const titles: Record<View, string> = { runs: document.title, chat: document.title, ask: document.title };
  const listeners: (() => void)[] = [];
  let shown: View = "runs";

  const show = (): void => {
    shown = viewIn(location.hash);
    for (const view of all) {
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
