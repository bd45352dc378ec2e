// `POST /sveda/stream`: a turn, as a stream of Sveda's events. The same turn again reads the same run again.
import type { SvedaContext } from "./context.ts";
import { svedaProblemResponse } from "./problem.ts";
import { streamResponse } from "./reading.ts";
import { openTurn } from "./turn.ts";

export async function streamTurn(context: SvedaContext): Promise<Response> {
  const turn = await openTurn(context);
  return turn.ok ? streamResponse(turn.value.reading.body, turn.value.runId) : svedaProblemResponse(turn.problem);
}
