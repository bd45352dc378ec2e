// What the server offers to a visitor: models, their thinking, words of welcome, and suggestions where the demo model that calls
// tools is there. It remembers the chosen model in this tab.
import { byId, make, setText } from "../elements.ts";
import { type Fields, listIn, textIn } from "../fields.ts";
import type { Choices } from "./turn-body.ts";

const choiceName = "holdfast-chat-model";
const demoModel = "demo-tools";
const suggestions = ["What time is it here?", "Change the accent color to violet."];

export type ModelChoice = {
  readonly read: () => Choices;
  /** Takes the answer of `/sveda/embed/config`. */
  readonly offer: (config: Fields) => void;
};

/** `ask` sends a suggestion. */
export const createModelChoice = (tab: Storage, ask: (text: string) => void): ModelChoice => {
  const select = byId("chat-model", HTMLSelectElement);
  const thinking = byId("chat-thinking", HTMLInputElement);
  let thinkers: ReadonlySet<string> = new Set();
  let fallback = "";

  const showThinking = (): void => {
    const label = thinking.closest("label");
    if (label !== null) label.hidden = !thinkers.has(select.value === "" ? fallback : select.value);
  };
  const suggest = (text: string): HTMLElement => {
    const item = make("li");
    const button = make("button", text);
    button.type = "button";
    button.addEventListener("click", () => {
      select.value = demoModel;
      ask(text);
    });
    item.append(button);
    return item;
  };

  select.addEventListener("change", () => {
    tab.setItem(choiceName, select.value);
    showThinking();
  });
  showThinking();
  return {
    read: () => ({ model: select.value, thinking: thinking.checked }),
    offer: (config) => {
      const models = listIn(config, "models").flatMap((model) => {
        const id = textIn(model, "id");
        return id === undefined
          ? []
          : [{ id, label: textIn(model, "label") ?? id, thinks: model["supports_thinking"] === true }];
      });
      const wanted = select.value === "" ? (tab.getItem(choiceName) ?? "") : select.value;
      fallback = textIn(config, "default_model") ?? "";
      thinkers = new Set(models.filter(({ thinks }) => thinks).map(({ id }) => id));
      select.replaceChildren(
        new Option(fallback === "" ? "default model" : `default model (${fallback})`, ""),
        ...models.map(({ id, label }) => new Option(label, id)),
      );
      if (models.some(({ id }) => id === wanted)) select.value = wanted;
      showThinking();
      const welcome = textIn(config, "welcome_message") ?? "";
      if (welcome !== "") setText(byId("chat-welcome-words", HTMLElement), welcome);
      const offered = models.some(({ id }) => id === demoModel) ? suggestions : [];
      byId("chat-suggestions", HTMLElement).replaceChildren(...offered.map(suggest));
    },
  };
};
