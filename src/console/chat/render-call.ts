// A tool call as a card: what is called with what, its state, its buttons and its result. Text goes in as text; it decides nothing.
import { make } from "../elements.ts";
import { stateWords } from "./chat-words.ts";
import { webLink } from "./render-text.ts";
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
  if (state === "approved" || state === "refused") card.append(change(call, state, busy, verdicts));
  if (call.overruled === true) {
    const done = call.result?.kind === "denied" ? "denied" : "approved";
    card.append(make("p", `Another page decided first: the call was ${done}.`, "overruled"));
  }
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
  const where = call.target === "frontend" ? "in this page" : "at the server";
  return asking(
    `The model wants to run this ${where}.`,
    choice("Approve", "primary", call, busy, yes),
    choice("Deny", "", call, busy, no),
  );
};

/** What is not sent yet can be said otherwise. */
const change = (call: ToolCall, state: "approved" | "refused", busy: boolean, { yes, no }: Verdicts): HTMLElement => {
  const rest = "once the other calls of this answer are decided";
  return state === "approved"
    ? asking(`It will run ${rest}.`, choice("Deny instead", "", call, busy, no))
    : asking(`The model is told so ${rest}.`, choice("Approve instead", "", call, busy, yes));
};

const asking = (words: string, ...choices: readonly HTMLElement[]): HTMLElement => {
  const made = make("div", "", "question");
  const buttons = make("div", "", "actions");
  buttons.append(...choices);
  made.append(make("p", words), buttons);
  return made;
};

const choice = (
  label: string,
  look: string,
  call: ToolCall,
  busy: boolean,
  act: (call: ToolCall) => void,
): HTMLElement => {
  const button = make("button", label, look);
  button.type = "button";
  button.disabled = busy;
  button.ariaLabel = `${label} ${call.toolName}`;
  button.addEventListener("click", () => act(call));
  return button;
};

const linkList = ({ result }: ToolCall): HTMLElement => {
  const list = make("ul", "", "links");
  for (const { label, url } of result?.links ?? []) {
    const item = make("li");
    item.append(webLink(label, url));
    list.append(item);
  }
  return list;
};
