// Whether the chat of a run still has the run's turn: it may be deleted while the run is about to start. Ends nothing itself.
import type { RunPlan } from "../schemas/plan.ts";
import { within } from "./within.ts";

const TRIES = 3;
/** How long the run's tools wait for the answer. Milliseconds. */
const ANSWER_MS = 5000;

/** False when the turn is gone. A chat that does not answer is taken to have it: whoever deletes it ends the run, too. */
export async function hasTurn(
  env: Env,
  { runId, tenant, chat }: Pick<RunPlan, "runId" | "tenant" | "chat">,
): Promise<boolean> {
  if (chat === undefined) return true;
  let owned = true;
  const ask = async (): Promise<void> => {
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        // Anew for each call: a stub whose object has died stays broken.
        owned = await env.VISITOR.getByName(`${tenant}/${chat.visitor}`).owns(runId);
        return;
      } catch {
        // Its object has died, and is asked again.
      }
    }
  };
  await within(ask(), ANSWER_MS);
  return owned;
}
