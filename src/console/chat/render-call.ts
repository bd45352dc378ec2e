// A tool call as a card: what is called with what, its state, its buttons and its result. Text goes in as text; it decides nothing.
import { make } from "../elements.ts";
import { stateWords } from "./chat-words.ts";
import type { CallState, ToolCall } from "./tool-calls.ts";

export type Verdicts = {
  readonly yes: (call: ToolCall) => void;
  readonly no: (call: ToolCall) => void;
};

/** `busy`: a turn runs, so nothing can be decided just now. */
export const callCard = (call: ToolCall, state: CallState, busy: boolean, verdicts: Verdicts): HTMLElement => {
  const card = make("div", "", "call");
  card.dataset["state"] = state;
  card.dataset["tool"] = call.toolName;
  card.tabIndex = -1;
  card.role = "group";
  card.ariaLabel = `Tool call ${call.toolName}`;
  const head = make("p", "", "call-head");
  head.append(make("strong", call.toolName === "" ? call.toolCallId : call.toolName), badge(state));
  card.append(head);
  if (Object.keys(call.input).length > 0) card.append(fold("Input", call.input, state === "waiting"));
  if (state === "waiting") card.append(question(call, busy, verdicts));
  if (call.result !== null) {
    const { links, output } = call.result;
    if (links.length > 0) card.append(linkList(call));
    card.append(fold("Result", output, false));
  }
  return card;
};

const badge = (state: CallState): HTMLElement => {
  const made = make("span", stateWords(state), "badge");
  made.dataset["word"] = state;
  return made;
};

const fold = (title: string, value: unknown, open: boolean): HTMLElement => {
  const made = make("details");
  made.open = open;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  made.append(make("summary", title), make("pre", text));
  return made;
};

const question = (call: ToolCall, busy: boolean, { yes, no }: Verdicts): HTMLElement => {
  const made = make("div", "", "question");
  const where = call.target === "frontend" ? "in this page" : "at the server";
  const words = make("p", `The model wants to run this ${where}.`);
  const buttons = make("div", "", "actions");
  const approve = make("button", "Approve", "primary");
  const deny = make("button", "Deny");
  for (const [button, act] of [
    [approve, yes],
    [deny, no],
  ] as const) {
    button.type = "button";
    button.disabled = busy;
    button.ariaLabel = `${button.textContent} ${call.toolName}`;
    button.addEventListener("click", () => act(call));
    buttons.append(button);
  }
  made.append(words, buttons);
  return made;
};

const linkList = ({ result }: ToolCall): HTMLElement => {
  const list = make("ul", "", "links");
  for (const { label, url } of result?.links ?? []) {
    const item = make("li");
    const link = make("a", label);
    link.href = url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    item.append(link);
    list.append(item);
  }
  return list;
};
