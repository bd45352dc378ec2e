// What the tests of tools share: a place to call from, and what the servers saw.
import { env } from "cloudflare:workers";
import { inject } from "vitest";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ServerTool, ToolResult, ToolServer } from "../../schemas/tool.ts";
import { mcpConnections } from "../../durable-objects/tools/mcp-connections.ts";
import { runTool } from "../../durable-objects/tools/run-tool.ts";
import type { CallPlace } from "../../durable-objects/tools/tool-place.ts";

export const RUN_ID = "run-of-tools";

export function placeOf(fields: Partial<CallPlace> = {}): CallPlace {
  return {
    env,
    servers: [],
    hostServer: () => Promise.resolve(undefined),
    connections: mcpConnections(),
    runId: RUN_ID,
    maxOutputBytes: 65_536,
    signal: new AbortController().signal,
    progress: () => undefined,
    ...fields,
  };
}

const plain = {
  name: "tool",
  description: "",
  parameters: {},
  domain: "other",
  mode: "read",
  confirmation: false,
  idempotent: false,
  timeoutMs: 10_000,
} as const;

export const httpTool = (name: string, fields: Partial<ServerTool> = {}): ServerTool => ({
  ...plain,
  source: { type: "http", url: `${inject("toolOrigin")}/tool/${name}` },
  ...fields,
});

export const mcpServer = (url: string, fields: Partial<Extract<ToolServer, { type: "mcp" }>> = {}): ToolServer => ({
  type: "mcp",
  id: "shop",
  url,
  allow: ["*"],
  ...fields,
});

export const mcpTool = (toolName: string, fields: Partial<ServerTool> = {}): ServerTool => ({
  ...plain,
  source: { type: "mcp", serverId: "shop", toolName },
  ...fields,
});

export const call = (
  tool: ServerTool,
  fields: Partial<CallPlace> = {},
  input: JsonRecord = { a: 1 },
): Promise<ToolResult> => runTool(tool, { toolCallId: "call_1", input }, placeOf(fields));

export const failure = (error: string): ToolResult => ({ output: { success: false, error }, isError: true });

/** The environment with secrets. */
export const envWith = (secrets: Record<string, string>): Env => ({ ...env, ...secrets });

async function fact<T>(name: string, path: string): Promise<T> {
  const response = await fetch(`${inject("controlOrigin")}/${name}?path=${encodeURIComponent(path)}`);
  return response.json();
}

export interface Seen {
  method: string;
  headers: Record<string, string>;
  body: string;
}

/** The calls of a scripted path so far. */
export const seen = (path: string): Promise<Seen[]> => fact("calls", path);
/** How the connection of a scripted path's first call ended; waits for it. */
export const closed = (path: string): Promise<string> => fact("closed", path);

export interface McpSeen {
  httpMethod: string;
  method?: string;
  params?: JsonRecord;
  headers: Record<string, string>;
}

/** The requests that reached the MCP server at this path so far. */
export const mcpSeen = (path: string): Promise<McpSeen[]> => fact("mcp-calls", path);
export const mcpSessions = (path: string): Promise<number> => fact("mcp-sessions", path);
export const forget = (path: string): Promise<unknown> => fact("forget", path);
