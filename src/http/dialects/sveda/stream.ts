// `POST /sveda/stream`: a turn, as a stream of Sveda's events. The same turn again reads the same run again.
import type { ReadFrom } from "../../../../schemas/attach.ts";
import { readFrom } from "../../read-from.ts";
import type { SvedaContext } from "./context.ts";
import { fromProblem, svedaFound, svedaProblemResponse, svedaRefused, type SvedaResult } from "./problem.ts";
import { streamResponse } from "./reading.ts";
import { openTurn } from "./turn.ts";

export async function streamTurn(context: SvedaContext): Promise<Response> {
  const turn = await openTurn(context, cursorOf);
  return turn.ok ? streamResponse(turn.value.reading.body, turn.value.runId) : svedaProblemResponse(turn.problem);
}

/** A repeat goes on from its cursor. */
function cursorOf(request: Request): SvedaResult<ReadFrom> {
  const start = readFrom(request);
  if (!start.ok) return svedaRefused({ ...fromProblem(start.problem), code: "invalid" });
  return svedaFound(start.value.from === "snapshot" ? "start" : start.value.from);
}
