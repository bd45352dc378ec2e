// A run that answers from documents: what was found for its question is logged before anything else, and may be all there is to it. Finds nothing itself.
import { complete } from "./endings.ts";
import { emit, type Step } from "./step.ts";

/** Readers may show the sources before the model has said a word. */
export function logRetrieval(step: Step, at: number): void {
  const { charter, retrieved } = step.state;
  const payload = charter.found?.retrieval;
  if (payload !== undefined && !retrieved) emit(step, at, { type: "retrieval", payload });
}

/** Too little was found: the run completes with the words for that, and asks no model. False when it goes on. */
export function refuse(step: Step, at: number): boolean {
  const refusal = step.state.charter.found?.refusal;
  if (refusal === undefined) return false;
  if (step.state.text !== refusal) {
    if (!step.state.announced) emit(step, at, { type: "lifecycle", payload: { phase: "started" } });
    emit(step, at, { type: "content_snapshot", payload: { text: refusal } });
  }
  complete(step, at, "stop");
  return true;
}
