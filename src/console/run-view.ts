// What the console knows about one run, as a pure function of what it received: (view, input) -> view. No DOM, no clock,
// no I/O. It never drops a type it does not know and never shows an event whose number has no place.
import { attemptAfter, attemptsFromOutcome, type AttemptRow } from "./attempts.ts";
import { type Fields, fieldsIn, numberIn, textIn } from "./fields.ts";
import { admit, type Integrity, noEvents } from "./integrity.ts";
import { toolsAfter, type ToolRow, withoutUnfinished } from "./tools.ts";

/** One numbered entry as it arrived; `type` may be any word. */
export type ReceivedEvent = {
  readonly sequence: number;
  /** Unix epoch, milliseconds, by the server's clock. */
  readonly timestamp: number;
  readonly type: string;
  readonly payload: Fields;
};

export type Link = "connecting" | "open" | "reconnecting" | "dropped" | "ended" | "refused";
export type Status = "running" | "completed" | "error" | "cancelled" | "ended";

/** The last time shown text was replaced, as far as the reader should be told. */
export type Replacement = {
  readonly kind: "withdrawn" | "restated" | "replaced";
  readonly sequence: number;
};

export type RunView = {
  readonly runId: string;
  readonly status: Status;
  readonly link: Link;
  readonly text: string;
  /** Counts the replacements of `text`; between two of them `text` only grows. */
  readonly textEdition: number;
  readonly replacement: Replacement | null;
  readonly reasoning: string;
  readonly title: string | null;
  readonly providerId: string | null;
  readonly step: number | null;
  readonly attempts: readonly AttemptRow[];
  readonly tools: readonly ToolRow[];
  /** Last usage report of each attempt, by attempt number. */
  readonly usage: ReadonlyMap<number, Fields>;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly outcome: Fields | null;
  /** The run's state as read after its end: recoveries and cost. */
  readonly facts: Fields | null;
  /** Whether the terminal event itself has arrived, not only the outcome by another way. */
  readonly terminalSeen: boolean;
  /** Whether the terminal's text is the text shown; null until it has arrived, or when it has none. */
  readonly textAgrees: boolean | null;
  readonly cancelAsked: boolean;
  readonly recent: readonly ReceivedEvent[];
  readonly integrity: Integrity;
  readonly connectionFresh: boolean;
  readonly drops: number;
  readonly resumes: number;
  readonly reconnects: number;
};

export type Input =
  | { readonly kind: "connecting" }
  | { readonly kind: "opened" }
  | { readonly kind: "lost" }
  | { readonly kind: "dropped" }
  | { readonly kind: "resumed" }
  | { readonly kind: "refused" }
  | { readonly kind: "closed" }
  | { readonly kind: "event"; readonly event: ReceivedEvent }
  | { readonly kind: "outcome"; readonly outcome: Fields }
  | { readonly kind: "facts"; readonly facts: Fields }
  | { readonly kind: "cancel_asked" }
  | { readonly kind: "cancel_failed" };

/** Events kept for the list; older ones stay in the answer and in the counts. */
export const maxRecentEvents = 500;

export const newRunView = (runId: string): RunView => ({
  runId,
  status: "running",
  link: "connecting",
  text: "",
  textEdition: 0,
  replacement: null,
  reasoning: "",
  title: null,
  providerId: null,
  step: null,
  attempts: [],
  tools: [],
  usage: new Map(),
  startedAt: null,
  endedAt: null,
  outcome: null,
  facts: null,
  terminalSeen: false,
  textAgrees: null,
  cancelAsked: false,
  recent: [],
  integrity: noEvents,
  connectionFresh: true,
  drops: 0,
  resumes: 0,
  reconnects: 0,
});

/** The view after one input. Inputs that change nothing return the same view. */
export const reduce = (view: RunView, input: Input): RunView => {
  switch (input.kind) {
    case "connecting":
      return { ...view, link: "connecting" };
    case "opened":
      return {
        ...view,
        link: "open",
        connectionFresh: true,
        reconnects: view.reconnects + (view.link === "reconnecting" ? 1 : 0),
      };
    case "lost":
      return view.link === "reconnecting" ? view : { ...view, link: "reconnecting" };
    case "dropped":
      return { ...view, link: "dropped", drops: view.drops + 1 };
    case "resumed":
      return { ...view, link: "connecting", resumes: view.resumes + 1 };
    case "refused":
      return { ...view, link: "refused" };
    case "closed":
      return { ...view, link: "ended" };
    case "event":
      return afterEvent(view, input.event);
    case "outcome":
      return view.outcome === null ? withTextOf(withOutcome(view, input.outcome), input.outcome) : view;
    case "facts":
      return { ...view, facts: input.facts };
    case "cancel_asked":
      return { ...view, cancelAsked: true };
    case "cancel_failed":
      return { ...view, cancelAsked: false };
  }
};

/** The outcome's own usage when there is one, else the last report of each attempt. */
const usageReports = (view: RunView): readonly Fields[] => {
  const stated = fieldsIn(view.outcome ?? undefined, "usage");
  return stated === undefined ? [...view.usage.values()] : [stated];
};

/** Some of the counts are the server's own estimate: the provider was cut off before it reported any. */
export const isEstimated = (view: RunView): boolean =>
  usageReports(view).some((report) => report["estimated"] === true);

/** Token counts over all attempts. */
export const usageOf = (view: RunView): ReadonlyMap<string, number> => {
  const reports = usageReports(view);
  const totals = new Map<string, number>();
  for (const report of reports) {
    for (const name of Object.keys(report)) {
      const count = numberIn(report, name);
      if (count !== undefined && name !== "attempt") totals.set(name, (totals.get(name) ?? 0) + count);
    }
  }
  return totals;
};

const afterEvent = (view: RunView, event: ReceivedEvent): RunView => {
  const { accepted, integrity } = admit(view.integrity, event.sequence, view.connectionFresh);
  if (!accepted) return { ...view, integrity };
  const admitted: RunView = {
    ...view,
    integrity,
    connectionFresh: false,
    recent: [...view.recent.slice(1 - maxRecentEvents), event],
    startedAt: view.startedAt ?? event.timestamp,
  };
  return { ...admitted, ...changeBy(admitted, event) };
};

const changeBy = (view: RunView, { type, payload, sequence, timestamp }: ReceivedEvent): Partial<RunView> => {
  switch (type) {
    case "content_delta":
      return { text: view.text + (textIn(payload, "text") ?? "") };
    case "content_snapshot":
      return replaceText(view, payload, sequence);
    case "reasoning_delta":
      return { reasoning: view.reasoning + (textIn(payload, "text") ?? "") };
    case "tool_call":
    case "tool_call_delta":
    case "tool_result":
      return { tools: toolsAfter(view.tools, type, payload) };
    case "usage": {
      // What was used beside all attempts counts by itself.
      const attempt = numberIn(payload, "attempt") ?? -1 - sequence;
      return { usage: new Map([...view.usage, [attempt, payload]]) };
    }
    case "attempt": {
      const voided = textIn(payload, "phase") === "failed" ? withoutUnfinished(view.tools) : view.tools;
      return { attempts: attemptAfter(view.attempts, payload), tools: voided };
    }
    case "lifecycle":
      return { providerId: textIn(payload, "providerId") ?? view.providerId };
    case "title":
      return { title: textIn(payload, "title") ?? view.title };
    case "step":
      return { step: numberIn(payload, "step") ?? view.step };
    case "terminal":
      return {
        ...withOutcome(view, payload),
        terminalSeen: true,
        endedAt: timestamp,
        link: "ended",
        textAgrees: agrees(view.text, payload),
      };
    default:
      return {};
  }
};

const replaceText = (view: RunView, payload: Fields, sequence: number): Partial<RunView> => {
  const text = textIn(payload, "text") ?? "";
  const kind = "releasedFrom" in payload ? "restated" : text === "" ? "withdrawn" : "replaced";
  return {
    text,
    textEdition: view.textEdition + 1,
    // A first snapshot replaces nothing that anyone has seen.
    replacement: view.text === "" && kind !== "restated" ? view.replacement : { kind, sequence },
    reasoning: textIn(payload, "reasoning") ?? view.reasoning,
    tools: withoutUnfinished(view.tools),
  };
};

const withOutcome = (view: RunView, outcome: Fields): RunView => ({
  ...view,
  outcome,
  status: statusFrom(textIn(outcome, "outcome")),
  attempts: attemptsFromOutcome(view.attempts, outcome),
  tools: withoutUnfinished(view.tools),
});

/** The outcome's text stands in for a log that can no longer be read; it never adds to text that came as events. */
const withTextOf = (view: RunView, outcome: Fields): RunView =>
  view.integrity.last === null
    ? { ...view, text: outcomeText(outcome) ?? "", textEdition: view.textEdition + 1 }
    : view;

const agrees = (text: string, outcome: Fields): boolean | null => {
  const stated = outcomeText(outcome);
  return stated === undefined ? null : stated === text;
};

const outcomeText = (outcome: Fields): string | undefined =>
  textIn(outcome, "finalText") ?? textIn(outcome, "partialText");

const statusFrom = (word: string | undefined): Status =>
  word === "completed" || word === "error" || word === "cancelled" ? word : "ended";
