// What this family calls a model: a route, a target, or the name a target's provider gives its model.
import type { Config, Target } from "../../../../schemas/config.ts";
import type { SvedaModel } from "../../../../schemas/dialects/sveda-answers.ts";
import { routeTargets } from "../../../run/settings.ts";

export const DEFAULT_MODEL = "default";

/** Routes first, then the targets that no route is named like. No two are called alike. */
export function modelList({ targets, routes }: Config): SvedaModel[] {
  const named = Object.entries(routes).map(([id, route]) => {
    const [first] = routeTargets(route);
    return modelOf(
      id,
      id,
      targets.find((target) => target.id === first),
    );
  });
  const taken = new Set(named.map(({ id }) => id.toLowerCase()));
  const others = targets.filter(({ id }) => !taken.has(id.toLowerCase()));
  const listed = [...named, ...others.map((target) => modelOf(target.id, target.model ?? target.id, target))];
  const labels = listed.map(({ label }) => label);
  const alike = (label: string): boolean => labels.indexOf(label) !== labels.lastIndexOf(label);
  return listed.map((model) => {
    const { id, label } = model;
    return label !== id && alike(label) ? { ...model, label: `${label} (${id})` } : model;
  });
}

/** Whether a model thinks is the target's own affair: no switch of a request reaches it. */
const modelOf = (id: string, label: string, target: Target | undefined): SvedaModel => ({
  id,
  label,
  protocol: target?.adapter === "anthropic-messages" ? "anthropic" : "responses",
  supports_thinking: false,
  supportsThinking: false,
});

/** The field of a run's request that chooses the model. */
export type ChosenModel = { route: string } | { targets: string[] };

/** Without regard to case; `undefined` when the name is that of no model. Empty: the default. */
export function chosenModel(model: string, { targets, routes }: Config): ChosenModel | undefined {
  const wanted = model.trim().toLowerCase();
  if (wanted === "") return { route: DEFAULT_MODEL };
  const like = (name: string): boolean => name.toLowerCase() === wanted;
  const route = pick(Object.keys(routes), model.trim(), like);
  if (route !== undefined) return { route };
  const ids = targets.map(({ id }) => id);
  const target = pick(ids, model.trim(), like) ?? targets.find((one) => like(one.model ?? ""))?.id;
  return target === undefined ? undefined : { targets: [target] };
}

/** The name as it is written, before one that only differs in case. */
const pick = (names: readonly string[], exact: string, like: (name: string) => boolean): string | undefined =>
  names.find((name) => name === exact) ?? names.find(like);
