// What of a request decides about attempts: how much is sent, whether there are tools, which of them are the client's. Pure.
import type { Asks } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ServerTool } from "../../schemas/tool.ts";
import { promptBytes } from "./request.ts";
import { utf8Length } from "./utf8.ts";

/** `mayGetMore`: servers will be asked for further tools. */
export function asksOf(request: StartRequest, serverTools: readonly ServerTool[], mayGetMore = false): Asks {
  const { output = "text" } = request.generation ?? {};
  const { tools = [] } = request;
  const offered = tools.length > 0 || serverTools.length > 0 || mayGetMore;
  const described = serverTools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return {
    promptBytes: promptBytes(request) + (described.length === 0 ? 0 : utf8Length(JSON.stringify(described))),
    tools: offered && request.toolChoice !== "none",
    json: output !== "text",
    clientTools: tools.map(({ name }) => name),
  };
}
