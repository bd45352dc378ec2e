// What a turn is refused for by its request alone, whatever its chat holds: found before it begins, and ends another. Begins nothing.
import { fieldProblem, type Problem } from "../../problem.ts";
import type { AskedTurn } from "./asked-turn.ts";
import type { SvedaContext } from "./context.ts";
import { planTurn, type BegunTurn } from "./turn-plan.ts";

/** The turn is planned as if its chat were empty. */
export async function misfitOf(asked: AskedTurn, context: SvedaContext): Promise<Problem | undefined> {
  const plan = await planTurn(asked, draft, context);
  if (plan.ok) return undefined;
  const { problem } = plan;
  const [issue] = problem.issues ?? [];
  if (problem.code !== "too_large" || issue === undefined) return problem;
  // A field of the body in the place of the run's request's.
  const fromMessage = asked.turn.display.at(-1)?.role === "user";
  const path = issue.path === "/tools" ? "/clientTools" : fromMessage ? "/messages" : "/prompt";
  return { ...fieldProblem(path, issue.message, issue.keyword), code: problem.code };
}

const draft: BegunTurn = {
  begun: true,
  repeat: false,
  runId: `sv_${"0".repeat(32)}`,
  messages: [],
  carried: [],
  callIds: [],
  title: { provisional: "", generate: false },
  hostTools: false,
};
