// What the server offers to a visitor: models, words of welcome, and suggestions where the demo model that calls tools is there.
// It remembers the chosen model in this tab.
import { byId, make, setText } from "../elements.ts";
import { type Fields, listIn, textIn } from "../fields.ts";

const choiceName = "holdfast-chat-model";
const demoModel = "demo-tools";
const suggestions = ["What time is it here?", "Change the accent color to violet."];

export type ModelChoice = {
  /** Empty: the server's default. */
  readonly read: () => string;
  /** Takes the answer of `/sveda/embed/config`. */
  readonly offer: (config: Fields) => void;
};

/** `ask` sends a suggestion. */
export const createModelChoice = (tab: Storage, ask: (text: string) => void): ModelChoice => {
  const select = byId("chat-model", HTMLSelectElement);

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

  select.addEventListener("change", () => tab.setItem(choiceName, select.value));
  return {
    read: () => select.value,
    offer: (config) => {
      const models = listIn(config, "models").flatMap((model) => {
        const id = textIn(model, "id");
        return id === undefined ? [] : [{ id, label: textIn(model, "label") ?? id }];
      });
      const wanted = select.value === "" ? (tab.getItem(choiceName) ?? "") : select.value;
      select.replaceChildren(new Option("default model", ""), ...models.map(({ id, label }) => new Option(label, id)));
      if (models.some(({ id }) => id === wanted)) select.value = wanted;
      const welcome = textIn(config, "welcome_message") ?? "";
      if (welcome !== "") setText(byId("chat-welcome-words", HTMLElement), welcome);
      const offered = models.some(({ id }) => id === demoModel) ? suggestions : [];
      byId("chat-suggestions", HTMLElement).replaceChildren(...offered.map(suggest));
    },
  };
};
