// The panel under the messages that says how a turn ended when that is not plain to see, and what can be done about it.
import { byId, make } from "../elements.ts";
import type { ChatView } from "./chat-view.ts";
import type { Ending } from "./endings.ts";
import { explain } from "./problem.ts";

export type Ways = { readonly again: () => void; readonly goOn: () => void };

type Notice = {
  readonly kind: string;
  readonly heading: string;
  readonly words: readonly string[];
  readonly facts: string;
  readonly way: readonly [label: string, act: () => void] | null;
};

export const createNotice = (ways: Ways): ((view: ChatView) => void) => {
  let drawn: Ending | null = null;
  return ({ ending }) => {
    if (ending === drawn) return;
    drawn = ending;
    const panel = byId("chat-notice", HTMLElement);
    panel.hidden = ending === null;
    if (ending !== null) fill(panel, noticeOf(ending, ways));
  };
};

const fill = (panel: HTMLElement, { kind, heading, words, facts, way }: Notice): void => {
  panel.dataset["kind"] = kind;
  const text = make("div");
  text.append(make("strong", heading), ...words.filter((line) => line !== "").map((line) => make("p", line)));
  if (facts !== "") text.append(make("p", facts, "hint"));
  panel.replaceChildren(text);
  if (way === null) return;
  const [label, act] = way;
  const button = make("button", label);
  button.type = "button";
  button.addEventListener("click", act);
  panel.append(button);
};

const noticeOf = (ending: Ending, { again, goOn }: Ways): Notice => {
  const quiet = { kind: "quiet", facts: "", words: [] };
  switch (ending.kind) {
    case "stopped":
      return { ...quiet, heading: "Stopped.", words: ["What came before is kept."], way: null };
    case "cut_at_length":
      return { ...quiet, heading: "The answer reached its length limit.", way: ["Continue", goOn] };
    case "max_steps":
      return {
        ...quiet,
        heading: `The model took ${ending.maxSteps} ${ending.maxSteps === 1 ? "step" : "steps"}, which is the limit for one turn.`,
        way: ending.canContinue ? ["Continue", goOn] : null,
      };
    case "unanswered":
      return { ...quiet, heading: "The last message has no answer.", way: ["Try again", again] };
    case "failed": {
      const { problem } = ending;
      const { heading, advice, retry } = explain(problem);
      const facts = [problem.status === null ? "" : `HTTP ${problem.status}`, problem.code ?? ""];
      return {
        kind: "bad",
        heading,
        words: [problem.message, advice],
        facts: facts.filter((fact) => fact !== "").join(" · "),
        way: retry ? ["Try again", again] : null,
      };
    }
  }
};
