// Draws how a run ended: outcome, provenance, usage and the raw JSON. It shows what the outcome says and infers nothing.
import { byId, make } from "./elements.ts";
import { type Fields, fieldsIn, numberIn, textIn } from "./fields.ts";
import { isEstimated, type RunView, usageOf } from "./run-view.ts";
import { durationWords, labelFrom, valueWords } from "./wording.ts";

type Fact = readonly [label: string, value: string | undefined];

export const renderOutcome = (view: RunView, before: RunView | null): void => {
  if (before === null || view.outcome !== before.outcome || view.facts !== before.facts) {
    const panel = byId("outcome", HTMLElement);
    if (view.outcome === null) panel.replaceChildren(make("p", "The run has not ended.", "hint"));
    else panel.replaceChildren(verdict(view.outcome), factList(outcomeFacts(view.outcome, view.facts)));
    panel.dataset["outcome"] = textIn(view.outcome ?? undefined, "outcome") ?? "";
    const provenance = fieldsIn(view.outcome ?? undefined, "provenance");
    byId("provenance-panel", HTMLElement).hidden = provenance === undefined;
    fill("provenance", fieldFacts(provenance ?? {}));
    byId("raw-fold", HTMLElement).hidden = view.outcome === null;
    byId("raw", HTMLElement).textContent = view.outcome === null ? "" : JSON.stringify(view.outcome, null, 2);
  }
  if (before === null || view.usage !== before.usage || view.outcome !== before.outcome) {
    const usage = [...usageOf(view)].map(([name, count]): Fact => [labelFrom(name), count.toLocaleString("en")]);
    byId("usage-panel", HTMLElement).hidden = usage.length === 0;
    fill("usage", isEstimated(view) ? [...usage, ["Estimated", "in part"]] : usage);
  }
};

const verdict = (outcome: Fields): HTMLElement => {
  const word = textIn(outcome, "outcome") ?? "ended";
  const line = make("p", "", "verdict");
  const badge = make("span", word, "badge");
  badge.dataset["word"] = word;
  line.append(badge);
  const explanation = textIn(fieldsIn(outcome, "error"), "message") ?? textIn(outcome, "reason");
  if (explanation !== undefined) line.append(" ", make("span", explanation));
  return line;
};

const outcomeFacts = (outcome: Fields, facts: Fields | null): readonly Fact[] => {
  const error = fieldsIn(outcome, "error");
  const retryAfter = numberIn(error, "retryAfterMs");
  const total = numberIn(fieldsIn(outcome, "telemetry"), "totalMs");
  const cost = fieldsIn(facts ?? undefined, "cost");
  return [
    ["Finish reason", textIn(outcome, "finishReason")],
    ["Stop reason", textIn(outcome, "stopReason")],
    ["Error class", textIn(error, "errorClass")],
    ["Failure class", textIn(fieldsIn(error, "details"), "failureClass")],
    ["Retryable", valueWords(error?.["retryable"])],
    ["Retry after", retryAfter === undefined ? undefined : durationWords(retryAfter)],
    ["Total time", total === undefined ? undefined : durationWords(total)],
    ["Recoveries", valueWords(facts?.["recoveries"])],
    ["Rows written", valueWords(cost?.["rowsWritten"])],
    ["Bytes stored", valueWords(cost?.["bytesStored"])],
  ];
};

/** Every scalar field under its own name; the attempts have their own table. */
const fieldFacts = (fields: Fields): readonly Fact[] =>
  Object.entries(fields).map(([name, value]): Fact => [labelFrom(name), valueWords(value)]);

const fill = (id: string, facts: readonly Fact[]): void => {
  byId(id, HTMLElement).replaceChildren(...factGroups(facts));
};

const factList = (facts: readonly Fact[]): HTMLElement => {
  const list = make("dl", "", "facts");
  list.append(...factGroups(facts));
  return list;
};

const factGroups = (facts: readonly Fact[]): readonly HTMLElement[] =>
  facts.flatMap(([label, value]) => {
    if (value === undefined) return [];
    const group = make("div");
    group.append(make("dt", label), make("dd", value));
    return [group];
  });
