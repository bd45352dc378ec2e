// What a model is sent for a step: the run's request, the conversation that the run has added to it, and the tools that the run calls itself. Pure.
import type { StartRequest } from "../schemas/run.ts";
import type { ServerTool } from "../schemas/tool.ts";
import { messagesOf } from "../src/providers/conversation.ts";
import type { RunState } from "../src/run/state.ts";
import { turns } from "../src/run/turns.ts";

export function stepRequest(request: StartRequest, state: RunState, serverTools: readonly ServerTool[]): StartRequest {
  if (state.charter.agent === undefined) return request;
  const added = turns(state);
  const { toolChoice, ...rest } = request;
  const tools = [
    ...(request.tools ?? []),
    ...serverTools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ];
  // A model that was made to call a tool has done so: made to do it again, it would never answer.
  const choice = state.step > 0 && toolChoice !== "none" ? undefined : toolChoice;
  return {
    ...rest,
    messages: [...messagesOf(request), ...added],
    ...(tools.length > 0 && { tools }),
    ...(choice !== undefined && { toolChoice: choice }),
  };
}
