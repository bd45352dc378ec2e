// What a run is accepted with once its servers have been listed: which tools, which words about them, and what had no room. Pure.
import type { RunPlan } from "../schemas/plan.ts";
import type { StartRequest } from "../schemas/run.ts";
import type { ServerTool, ToolSource } from "../schemas/tool.ts";
import { messagesOf } from "../src/providers/conversation.ts";
import { asksOf } from "../src/run/asks.ts";
import { utf8Length } from "../src/run/utf8.ts";

/** Bytes of a run's tools as they are stored, whatever the size of its request. */
const MAX_TOOLS = 1_950_000;

export interface Equipped {
  plan: RunPlan;
  /** Servers that could not be listed, or whose tools do not all fit. */
  unavailable: string[];
}

export interface Listed {
  tools: readonly ServerTool[];
  instructions: readonly string[];
  failed: readonly string[];
}

/** The plan with its own tools and those of its servers, as far as they fit. */
export function equipped(plan: RunPlan, { tools, instructions, failed }: Listed): Equipped {
  const { agent, request } = plan;
  if (agent === undefined) return { plan, unavailable: [] };
  const instructed = withInstructions(request, instructions);
  const { kept, dropped } = fitting(distinct([...agent.tools, ...tools]), MAX_TOOLS);
  return { plan: withTools(plan, instructed, kept), unavailable: [...new Set([...failed, ...dropped])] };
}

/** The first of a name stays: the configuration's before a server's, that one's before the host page's. */
function distinct(tools: readonly ServerTool[]): ServerTool[] {
  const names = new Set<string>();
  return tools.filter(({ name }) => names.size < names.add(name).size);
}

function fitting(tools: readonly ServerTool[], bytes: number): { kept: ServerTool[]; dropped: string[] } {
  const kept: ServerTool[] = [];
  const dropped: string[] = [];
  let left = bytes;
  for (const tool of tools) {
    const size = utf8Length(JSON.stringify(tool)) + 1;
    if (size > left) dropped.push(ownerOf(tool.source));
    else {
      kept.push(tool);
      left -= size;
    }
  }
  return { kept, dropped };
}

const ownerOf = (source: ToolSource): string => (source.type === "mcp" ? source.serverId : source.type);

/** A client's tool of the same name is not offered: a model could not tell them apart. */
function withTools(plan: RunPlan, request: StartRequest, tools: readonly ServerTool[]): RunPlan {
  if (plan.agent === undefined) return plan;
  const names = new Set(tools.map(({ name }) => name));
  const { tools: clientTools, ...rest } = request;
  const offered = clientTools?.filter(({ name }) => !names.has(name)) ?? [];
  const asked = { ...rest, ...(offered.length > 0 && { tools: offered }) };
  return { ...plan, request: asked, asks: asksOf(asked, tools), agent: { ...plan.agent, tools } };
}

/** What servers say about their tools belongs to the system message. */
function withInstructions(request: StartRequest, instructions: readonly string[]): StartRequest {
  if (instructions.length === 0) return request;
  const text = instructions.join("\n\n");
  const messages = messagesOf(request);
  const at = messages.findIndex(({ role }) => role === "system");
  const system = messages[at];
  if (system?.role !== "system") return { ...request, messages: [{ role: "system", content: text }, ...messages] };
  const { content } = system;
  const longer = typeof content === "string" ? `${content}\n\n${text}` : [...content, { type: "text" as const, text }];
  return { ...request, messages: messages.with(at, { ...system, content: longer }) };
}
