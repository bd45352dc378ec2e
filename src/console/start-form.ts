// The start form: what it asks for as a request body, its routes, and the marks of refused fields. It sends nothing.
import { byId, setText } from "./elements.ts";
import { type Fields, isFields, listIn, textIn } from "./fields.ts";
import type { ValidationIssue } from "../../schemas/problem.ts";
import { targetWords } from "./wording.ts";

/** Where a refused field of the body stands in the form. */
const fieldOf: Readonly<Record<string, string>> = {
  "/prompt": "prompt",
  "/route": "route",
  "/onDisconnect": "on-disconnect",
  "/onMidStreamFailure": "on-failure",
  "/generation/maxOutputTokens": "max-tokens",
  "/generation/temperature": "temperature",
};

/** The request body without its `requestId`; fields left as configured are left out. */
export const readForm = (): Fields => {
  const generation = {
    ...numberField("max-tokens", "maxOutputTokens"),
    ...numberField("temperature", "temperature"),
  };
  return {
    schemaVersion: "1.0",
    task: { kind: "text_to_text" },
    prompt: byId("prompt", HTMLTextAreaElement).value,
    route: byId("route", HTMLSelectElement).value,
    ...choice("on-disconnect", "onDisconnect"),
    ...choice("on-failure", "onMidStreamFailure"),
    ...(Object.keys(generation).length === 0 ? {} : { generation }),
  };
};

/** Offers the configured routes and keeps the chosen one if it is still there. */
export const offerRoutes = (body: Fields): void => {
  const routes = listIn(body, "routes");
  const ids = routes.flatMap((route) => textIn(route, "id") ?? []);
  if (ids.length === 0) return;
  const select = byId("route", HTMLSelectElement);
  const wanted = ids.includes(select.value) ? select.value : textIn(body, "default");
  select.replaceChildren(...ids.map((id) => new Option(id, id)));
  if (wanted !== undefined && ids.includes(wanted)) select.value = wanted;
  const describe = (): void => {
    const chosen = routes.find((route) => textIn(route, "id") === select.value);
    const targets = chosen?.["targets"];
    const chain = Array.isArray(targets)
      ? targets.map((target) => (isFields(target) ? targetWords(target) : String(target)))
      : [];
    setText(byId("route-hint", HTMLElement), chain.length === 0 ? "" : `Tries in order: ${chain.join(" → ")}`);
  };
  select.onchange = describe;
  describe();
};

export const markFaults = (issues: readonly ValidationIssue[]): void => {
  for (const id of Object.values(fieldOf)) {
    const field = byId(id, HTMLElement);
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
  for (const { path } of issues) {
    const id = fieldOf[path];
    if (id === undefined) continue;
    const field = byId(id, HTMLElement);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", "problem");
    const fold = field.closest("details");
    if (fold !== null) fold.open = true;
  }
};

const numberField = (id: string, name: string): Fields => {
  const value = byId(id, HTMLInputElement).valueAsNumber;
  return Number.isNaN(value) ? {} : { [name]: value };
};

const choice = (id: string, name: string): Fields => {
  const { value } = byId(id, HTMLSelectElement);
  return value === "" ? {} : { [name]: value };
};
