// What a run is accepted with once its servers have been listed: which tools, which words about them, and what had no room. Pure.
import type { RunPlan } from "../schemas/plan.ts";
import type { ServerTool, ToolSource } from "../schemas/tool.ts";
import { asksOf } from "../src/run/asks.ts";
import { choiceIssue } from "../src/run/tool-choice.ts";
import { utf8Length } from "../src/run/utf8.ts";

/** Bytes of a run's tools as they are stored, whatever the size of its request. */
const MAX_TOOLS = 1_950_000;

export interface Equipped {
  plan: RunPlan;
  /** Servers that could not be listed, or whose tools do not all fit. */
  unavailable: string[];
  /** Parameters of the request that its tools leave without a meaning. */
  unsupported: string[];
}

export interface Listed {
  tools: readonly ServerTool[];
  instructions: readonly string[];
  failed: readonly string[];
}

/** The plan with its own tools and those of its servers, as far as they fit; the request stays as it was given. */
export function equipped(plan: RunPlan, { tools, instructions, failed }: Listed): Equipped {
  const { agent, request } = plan;
  if (agent === undefined) return { plan, unavailable: [], unsupported: [] };
  const instructed = { ...agent, ...(instructions.length > 0 && { instructions }) };
  const { kept, dropped } = fitting(distinct([...agent.tools, ...tools]), MAX_TOOLS);
  return {
    plan: { ...plan, asks: asksOf(request, kept, { instructions }), agent: { ...instructed, tools: kept } },
    unavailable: [...new Set([...failed, ...dropped])],
    unsupported: choiceIssue(request, kept) === undefined ? [] : ["toolChoice"],
  };
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
