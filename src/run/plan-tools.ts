// The configuration's tools and MCP servers as a run will use them. Lists no server: that is done when the run is accepted.
import type { Config, ToolConfig } from "../../schemas/config.ts";
import type { ServerTool, ToolRule, ToolServer } from "../../schemas/tool.ts";
import { allows } from "./tool-access.ts";

/** The configured tools that every rule allows. */
export const planTools = ({ tools }: Config, rules: readonly ToolRule[]): ServerTool[] =>
  tools.map(planned).filter((tool) => allows(rules, tool));

function planned({ url, keyVar, confirmation, ...tool }: ToolConfig): ServerTool {
  return {
    ...tool,
    parameters: { properties: {}, ...tool.parameters, type: "object" },
    confirmation: confirmation === "required",
    source: { type: "http", url, ...(keyVar !== undefined && { keyVar }) },
  };
}

/** The configured MCP servers. */
export const planServers = ({ mcpServers }: Config): ToolServer[] =>
  mcpServers.map(({ id, url, keyVar, allow }) => ({
    type: "mcp",
    id,
    url,
    allow,
    ...(keyVar !== undefined && { keyVar }),
  }));
