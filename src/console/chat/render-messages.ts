// Draws the messages of a chat into a list, touching only what has changed: text that streams in grows, it is not written
// again, so that a selection or an open fold stays. It holds only what it drew last.
import { make, setText } from "../elements.ts";
import { cutWords } from "./chat-words.ts";
import { type ChatView, isLive } from "./chat-view.ts";
import type { ChatMessage, Part } from "./messages.ts";
import { callCard, type Verdicts } from "./render-call.ts";
import { drawText } from "./render-text.ts";
import { callState } from "./tool-calls.ts";

type Drawn = {
  readonly item: HTMLElement;
  readonly body: HTMLElement;
  /** Says that the message is not whole. */
  readonly foot: HTMLElement;
  parts: { part: Part; key: string; element: HTMLElement }[];
};

export const createMessageList = (list: HTMLElement, verdicts: Verdicts): ((view: ChatView) => void) => {
  const drawn = new Map<string, Drawn>();
  return (view) => {
    const known = new Set(view.messages.map(({ id }) => id));
    for (const [id, { item }] of drawn) {
      if (known.has(id)) continue;
      item.remove();
      drawn.delete(id);
    }
    const newest = view.messages.at(-1);
    for (const [at, message] of view.messages.entries()) {
      const entry = drawn.get(message.id) ?? newEntry(message);
      drawn.set(message.id, entry);
      if (list.children[at] !== entry.item) list.insertBefore(entry.item, list.children[at] ?? null);
      drawParts(entry, message, isLive(view), message === newest, verdicts);
    }
  };
};

const newEntry = ({ role }: ChatMessage): Drawn => {
  const item = make("li", "", "message");
  item.dataset["role"] = role;
  const body = make("div", "", "message-body");
  const foot = make("p", "", "message-cut");
  item.append(make("p", role === "user" ? "You" : "Assistant", "unseen"), body, foot);
  return { item, body, foot, parts: [] };
};

const drawParts = (entry: Drawn, message: ChatMessage, busy: boolean, isNewest: boolean, verdicts: Verdicts): void => {
  const live = busy && isNewest;
  entry.item.dataset["live"] = String(live && message.role === "assistant");
  const before = entry.parts;
  entry.parts = message.parts.map((whole, at) => {
    const part = trimmed(whole, at + 1 < message.parts.length);
    const old = before[at];
    const key = keyOf(part, live, busy);
    if (old !== undefined && old.key === key && grow(old.element, old.part, part)) {
      return { ...old, part };
    }
    const element = partElement(part, live, busy, verdicts);
    if (old === undefined) entry.body.append(element);
    else replace(old.element, element);
    return { part, key, element };
  });
  for (const { element } of before.slice(message.parts.length)) element.remove();
  const { cut } = message;
  entry.foot.hidden = cut === undefined || message.parts.length === 0;
  setText(entry.foot, cut === undefined ? "" : cutWords(cut));
};

/** White space at the borders of a text would be a gap beside a card. At the end of what still grows it is kept. */
const trimmed = (part: Part, over: boolean): Part => {
  if (part.kind === "call") return part;
  return { ...part, text: over ? part.text.trim() : part.text.trimStart() };
};

/** Parts with another key are drawn anew. */
const keyOf = (part: Part, live: boolean, busy: boolean): string => {
  if (part.kind !== "call") return part.kind;
  const state = callState(part.call, live || (busy && part.call.decision !== null));
  return `call ${part.call.toolCallId} ${state} ${state === "waiting" && busy}`;
};

/** Whether what is drawn already, or can be made to by adding to it, shows the part. */
const grow = (element: HTMLElement, old: Part, part: Part): boolean => {
  if (part.kind === "call" || old.kind === "call") return part === old;
  if (part.kind === "text") {
    if (part.text !== old.text) drawText(element, part.text);
    return true;
  }
  if (!part.text.startsWith(old.text)) return false;
  const more = part.text.slice(old.text.length);
  if (more !== "") (element.querySelector(".prose") ?? element).append(more);
  return true;
};

const partElement = (part: Part, live: boolean, busy: boolean, verdicts: Verdicts): HTMLElement => {
  switch (part.kind) {
    case "text": {
      const made = make("div", "", "message-text");
      drawText(made, part.text);
      return made;
    }
    case "reasoning": {
      const fold = make("details", "", "thoughts");
      fold.append(make("summary", "Reasoning"), make("div", part.text, "prose quiet"));
      return fold;
    }
    case "call":
      return callCard(part.call, callState(part.call, live || (busy && part.call.decision !== null)), busy, verdicts);
  }
};

/** Who had the focus inside keeps it nearby. */
const replace = (old: HTMLElement, element: HTMLElement): void => {
  const focused = old.contains(document.activeElement);
  old.replaceWith(element);
  if (focused) element.focus({ preventScroll: true });
};
