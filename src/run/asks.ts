// What of a request decides about attempts: how much is sent, whether there are tools, which of them are the client's. Pure.
import type { Asks } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ServerTool } from "../../schemas/tool.ts";
import { promptBytes } from "./request.ts";
import { utf8Length } from "./utf8.ts";

interface Offered {
  /** Servers will be asked for further tools. */
  mayGetMore?: boolean;
  /** What servers say about their tools. */
  instructions?: readonly string[];
}

export function asksOf(
  request: StartRequest,
  serverTools: readonly ServerTool[],
  { mayGetMore = false, instructions = [] }: Offered = {},
): Asks {
  const { output = "text" } = request.generation ?? {};
  const tools = clientTools(request, serverTools);
  const offered = tools.length > 0 || serverTools.length > 0 || mayGetMore;
  const described = serverTools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return {
    promptBytes: promptBytes(request) + bytesOf(described) + bytesOf(instructions),
    tools: offered && request.toolChoice !== "none",
    json: output !== "text",
    clientTools: tools.map(({ name }) => name),
  };
}

/** The request's own tools, but for those whose name one of the server's has: a model could not tell them apart. */
export function clientTools(
  { tools = [] }: StartRequest,
  serverTools: readonly { name: string }[],
): NonNullable<StartRequest["tools"]> {
  const names = new Set(serverTools.map(({ name }) => name));
  return tools.filter(({ name }) => !names.has(name));
}

const bytesOf = (parts: readonly unknown[]): number => (parts.length === 0 ? 0 : utf8Length(JSON.stringify(parts)));
