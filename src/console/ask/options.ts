// The options of a question as the form has them, as fields of `POST /kebab/ask`. It sends nothing.
import { byId } from "../elements.ts";
import type { Fields } from "../fields.ts";

/** Fields left as they are by default are left out. `conversation`: the one that goes on. */
export const readOptions = (conversation: () => string): Fields => {
  const k = byId("ask-k", HTMLInputElement).valueAsNumber;
  const mode = byId("ask-mode", HTMLSelectElement).value;
  return {
    ...(Number.isNaN(k) ? {} : { k }),
    ...(mode === "" ? {} : { mode }),
    ...(byId("ask-hops", HTMLInputElement).checked && { multi_hop: true }),
    ...(byId("ask-talk", HTMLInputElement).checked && { conversation: conversation() }),
  };
};
