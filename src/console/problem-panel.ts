// The panel that says what was refused and why, field by field. It shows the server's words and adds what can be done.
import type { Problem } from "./api.ts";
import { byId, make } from "./elements.ts";
import { durationWords } from "./wording.ts";

/** Shows a problem in place of the one before; `advice` overrides what its status alone suggests. */
export const showProblem = (heading: string, problem: Problem, advice = adviceFor(problem)): void => {
  const panel = byId("problem", HTMLElement);
  const title = make("h2", heading);
  const message = make("p", problem.message);
  const facts = [
    problem.status === null ? "" : `HTTP ${problem.status}`,
    problem.errorClass,
    problem.code ?? "",
    problem.retryAfterMs === undefined ? "" : `try again in ${durationWords(problem.retryAfterMs)}`,
  ].filter((fact) => fact !== "");
  panel.replaceChildren(title, message, make("p", facts.join(" · "), "hint"));
  if (problem.issues.length > 0) {
    const list = make("ul");
    list.append(
      ...problem.issues.map((issue) => {
        const item = make("li");
        item.append(make("code", issue.path === "" ? "(body)" : issue.path), ` ${issue.message} `);
        item.append(make("span", issue.keyword, "quiet"));
        return item;
      }),
    );
    panel.append(list);
  }
  if (advice !== "") panel.append(make("p", advice));
  panel.hidden = false;
};

export const clearProblem = (): void => {
  byId("problem", HTMLElement).hidden = true;
};

const adviceFor = (problem: Problem): string => {
  if (problem.status === 401) return "Enter an API key of this server above, then try again.";
  if (problem.status === 410) return "The outcome is kept longer than the events and is shown instead.";
  return "";
};
