// The run machine: (state, input) -> (state, events, effects). All exactly-once, commit and fallback rules live here. No clock, no I/O, no storage.
import type { Failure, FailureOf } from "../../schemas/failure.ts";
import type { Payload } from "../../schemas/event.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { PUSHED, type PushedEvent } from "../../schemas/push.ts";
import type { ToolResult } from "../../schemas/tool.ts";
import { hear } from "./answer.ts";
import { hedge, retry } from "./chain.ts";
import { cancel, complete, fail, failAttempt } from "./endings.ts";
import { failedOutcome } from "./outcome.ts";
import { loseProducer, takePushed } from "./pushed.ts";
import { recover, resume } from "./recovery.ts";
import {
  askedAside,
  begin,
  isResearching,
  prepares,
  research,
  researched,
  researchFailed,
  type Aside,
} from "./research.ts";
import { liveAttempts, type Found, type RunState } from "./state.ts";
import { abort, emit, telemetry, type Step } from "./step.ts";
import { toolDone, toolProgress } from "./steps.ts";
import { named, nameProvisionally } from "./titles.ts";

/** What happens to a run. `at` is Unix epoch milliseconds. */
export type Input =
  /** `unavailable`: servers whose tools could not be listed. `unsupported`: parameters that mean nothing here. */
  | { type: "start"; at: number; unavailable?: readonly string[]; unsupported?: readonly string[] }
  | { type: "provider"; at: number; attempt: number; events: readonly ProviderEvent[] }
  | { type: "cancel"; at: number; reason?: string }
  /** A wait that the machine asked for is over. `step`: as it was asked for. */
  | { type: "retry" | "hedge"; at: number; step?: number }
  /** What came of a tool call that the machine asked for, and what its tool tells meanwhile. */
  | { type: "tool"; at: number; toolCallId: string; result: ToolResult }
  | { type: "tool_progress"; at: number; tasks: Payload<"tool_progress">["tasks"]; phase?: string }
  /** The title that the machine asked for; without one, or when the wait for it is over, none will come. */
  | { type: "title"; at: number; title?: string }
  /** What the run's research was asked to find; `promptBytes`: what a model reads now. It stands in the run's plan on disk. */
  | { type: "researched"; at: number; found: Found; promptBytes: number }
  /** The research cannot go on: how each target failed that was asked, the last one at last. */
  | { type: "research_failed"; at: number; failures: readonly FailureOf[] }
  /** How far it is. */
  | { type: "preparing"; at: number; progress: Payload<"preparation_progress"> }
  /** A model was asked beside the attempts. */
  | ({ type: "aside"; at: number } & Aside)
  /** Events of a pushed run, as its producer says them; each was held against the run. */
  | { type: "pushed"; at: number; events: readonly PushedEvent[] }
  /** The producer of a pushed run said nothing for longer than it may. */
  | { type: "producer_lost"; at: number }
  /** The total clock ran out. */
  | { type: "deadline"; at: number }
  /**
   * The run was found live by an object that did not run it. Numbers up to `reservedTo` may have been seen and are not
   * stored; `damaged` says that what is stored cannot be read whole.
   */
  | { type: "recover"; at: number; reservedTo: number; damaged: boolean }
  /** A recovered run goes on. `recoveries` counts this one. */
  | { type: "resume"; at: number; recoveries: number };

/** Applies one input. A sealed run absorbs everything. */
export function transition(state: RunState, input: Input): Step {
  const step: Step = { state, events: [], effects: [] };
  if (state.phase === "sealed") return step;
  switch (input.type) {
    case "start":
      start(step, input.at, input.unavailable ?? [], input.unsupported ?? []);
      break;
    case "provider":
      hear(step, input.attempt, input.events, input.at);
      break;
    case "cancel":
      cancel(step, input.at, input.reason);
      break;
    case "retry":
    case "hedge":
      // The step that waited may be over.
      if (input.step !== undefined && input.step !== state.step) break;
      if (input.type === "retry") retry(step, input.at);
      else hedge(step, input.at);
      break;
    case "tool":
      toolDone(step, input.at, input.toolCallId, input.result);
      break;
    case "tool_progress":
      toolProgress(step, input.at, input.tasks, input.phase);
      break;
    case "title":
      named(step, input.at, input.title);
      break;
    case "researched":
      researched(step, input.at, input.found, input.promptBytes);
      break;
    case "research_failed":
      researchFailed(step, input.at, input.failures);
      break;
    case "preparing":
      prepares(step, input.at, input.progress);
      break;
    case "aside":
      askedAside(step, input.at, input);
      break;
    case "pushed":
      if (isPushed(state)) takePushed(step, input.at, input.events);
      break;
    case "producer_lost":
      if (isPushed(state)) loseProducer(step, input.at);
      break;
    case "deadline": {
      const { ending } = state.volatile;
      // All that a complete answer waits for is its title.
      if (ending !== undefined) {
        complete(step, input.at, ending.stopReason);
        break;
      }
      abort(step);
      for (const { attempt } of liveAttempts(step.state)) failAttempt(step, input.at, attempt, timeoutTotal);
      fail(step, input.at, failedOutcome(step.state, input.at, timeoutTotal));
      break;
    }
    case "recover":
      // Of a damaged log it may be that nothing can be read.
      if (state.phase === "running" || input.damaged) recover(step, input.at, input.reservedTo, input.damaged);
      break;
    case "resume":
      // A pushed run goes on with what its producer says next.
      if (state.phase === "running" && !isPushed(state)) resume(step, input.at, input.recoveries);
      break;
  }
  // A run that failed at once needs no title.
  if (step.state.phase === "sealed") step.effects = step.effects.filter(({ type }) => type !== "title");
  return step;
}

const timeoutTotal: Failure = {
  failureClass: "timeout_total",
  message: "The run took longer than its total clock allows.",
};

const isPushed = ({ charter }: RunState): boolean => charter.isPushed === true;

function start(step: Step, at: number, unavailable: readonly string[], unsupported: readonly string[]): void {
  const [first] = step.state.charter.chain;
  if (step.state.phase !== "accepted") return;
  if (isPushed(step.state)) {
    return emit(step, at, { type: "lifecycle", payload: { phase: "provider_selected", providerId: PUSHED } });
  }
  if (first === undefined) return;
  telemetry(step, { type: "route_decided", payload: step.state.charter.decision });
  emit(step, at, { type: "lifecycle", payload: { phase: "provider_selected", providerId: first.id } });
  nameProvisionally(step, at);
  for (const server of unavailable) {
    emit(step, at, { type: "diagnostic", payload: { code: "tools_unavailable", server } });
  }
  for (const parameter of unsupported) {
    emit(step, at, { type: "diagnostic", payload: { code: "parameter_unsupported", parameter } });
  }
  if (isResearching(step.state)) research(step);
  else begin(step, at, first);
}
