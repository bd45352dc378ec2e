// Titles of the conversation: the provisional one, the one that a model is asked for, and how long the run's end waits for it.
import type { StopReason } from "../../schemas/outcome.ts";
import { complete } from "./endings.ts";
import { emit, remember, type Step } from "./step.ts";

/** Milliseconds that a completed run waits for a title. */
const TITLE_WAIT_MS = 3000;

export function nameProvisionally(step: Step, at: number): void {
  const title = step.state.charter.agent?.title?.provisional;
  if (title !== undefined && title !== "") emit(step, at, { type: "title", payload: { title } });
}

/** The first output is there: while it goes on, a model may find a better title. */
export function askForTitle(step: Step): void {
  if (step.state.charter.agent?.title?.generate !== true) return;
  remember(step, { titleAsked: true });
  step.effects.push({ type: "title" });
}

/** A title has come, or none will. */
export function named(step: Step, at: number, title: string | undefined): void {
  const { titleAsked, ending } = step.state.volatile;
  if (!titleAsked) return;
  remember(step, { titleAsked: false });
  if (title !== undefined && title !== "" && title !== step.state.titles.at(-1)) {
    emit(step, at, { type: "title", payload: { title } });
  }
  if (ending !== undefined) complete(step, at, ending.stopReason);
}

/** Completes the run, at the latest when the wait for its title is over. */
export function completeWithTitle(step: Step, at: number, stopReason: StopReason | undefined): void {
  if (!step.state.volatile.titleAsked) return complete(step, at, stopReason);
  remember(step, { ending: { stopReason } });
  step.effects.push({ type: "wake", input: "title", ms: TITLE_WAIT_MS, spreadMs: 0 });
}
