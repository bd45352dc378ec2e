// A run that must find out first what it is to answer from: when that begins, what comes of it, and what becomes of it after a restart. Finds nothing itself.
import type { Payload } from "../../schemas/event.ts";
import type { Failure, FailureOf } from "../../schemas/failure.ts";
import type { PlannedTarget } from "../../schemas/plan.ts";
import type { Usage } from "../../schemas/usage.ts";
import { openFirst } from "./chain.ts";
import { fail } from "./endings.ts";
import { failurePolicies } from "./fallback.ts";
import { exhaustedOutcome, failedOutcome } from "./outcome.ts";
import { logRetrieval, refuse } from "./retrieval.ts";
import type { Found, RunState } from "./state.ts";
import { emit, type Step } from "./step.ts";
import { startSteps } from "./steps.ts";

/** How a target did that was asked beside the attempts. `startedAt`: Unix epoch, milliseconds. */
export interface Aside {
  targetId: string;
  startedAt: number;
  usage?: Usage;
  failure?: Failure;
}

export const interrupted: Failure = {
  failureClass: "interrupted",
  message: "The run was interrupted by a restart of the server.",
};

export const isResearching = ({ charter }: RunState): boolean => charter.researches === true;

export function research(step: Step): void {
  step.effects.push({ type: "research" });
}

/** What it had found is lost, but for what it has cost. */
export function researchAgain(step: Step, at: number, recoveries: number): void {
  if (recoveries <= step.state.charter.maxRecoveries) research(step);
  else fail(step, at, failedOutcome(step.state, at, interrupted));
}

/** All that the run answers from is there. */
export function begin(step: Step, at: number, first: PlannedTarget): void {
  logRetrieval(step, at);
  if (refuse(step, at)) return;
  if (step.state.charter.agent === undefined) openFirst(step, at, first);
  else startSteps(step, at);
}

export function researched(step: Step, at: number, found: Found, promptBytes: number): void {
  if (!isResearching(step.state)) return;
  const { researches: _, ...charter } = step.state.charter;
  step.state = { ...step.state, charter: { ...charter, found, asks: { ...charter.asks, promptBytes } } };
  const [first] = charter.chain;
  if (first !== undefined) begin(step, at, first);
}

/** No target has answered: the run ends as it would after attempts that failed like that. */
export function researchFailed(step: Step, at: number, failures: readonly FailureOf[]): void {
  const last = failures.at(-1);
  if (!isResearching(step.state) || last === undefined) return;
  const isRefused = !failurePolicies[last.failureClass].fallsBack;
  const outcome = isRefused
    ? failedOutcome(step.state, at, last, last.targetId)
    : exhaustedOutcome(step.state, at, failures);
  fail(step, at, outcome);
}

export function prepares(step: Step, at: number, payload: Payload<"preparation_progress">): void {
  if (isResearching(step.state)) emit(step, at, { type: "preparation_progress", payload });
}

/** What a model has used counts, whatever its answer was worth. */
export function askedAside(step: Step, at: number, { targetId, startedAt, usage, failure }: Aside): void {
  if (!isResearching(step.state)) return;
  if (usage !== undefined) emit(step, at, { type: "usage", payload: usage });
  const { failureClass, retryAfterMs } = failure ?? {};
  step.effects.push({
    type: "report",
    report:
      failureClass === undefined
        ? { targetId, result: "answered", startedAt }
        : { targetId, result: "failed", startedAt, failureClass, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  });
}
