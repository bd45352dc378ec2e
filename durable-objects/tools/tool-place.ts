// What a tool, or a list of tools, is asked for: the run that asks, and what it knows of the servers. Types only.
import type { HostServer } from "../../schemas/chat.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ToolServer } from "../../schemas/tool.ts";
import type { McpConnections } from "./mcp-connections.ts";

export interface ToolPlace {
  env: Env;
  /** Those of the run's plan: where its MCP tools live. */
  servers: readonly ToolServer[];
  /** What the client said about its page, for the server of that page. */
  context?: JsonRecord | undefined;
  /** What the visitor's object knows of the page's server; asked anew for each use, never kept. */
  hostServer(visitor: string): Promise<HostServer | undefined>;
  /** The run's connections to MCP servers; whoever made them closes them when the run is over. */
  connections: McpConnections;
}

export interface ToolCallInput {
  toolCallId: string;
  input: JsonRecord;
  /** The input's JSON text, where `input` cannot hold its numbers. */
  inputJson?: string | undefined;
}

/** How far a call is, as `tool_progress` tells it. */
export interface ToolTask {
  id: string;
  label: string;
  status: "running" | "completed" | "failed";
  detail?: string;
}

export interface CallPlace extends ToolPlace {
  runId: string;
  /** UTF-8 bytes. */
  maxOutputBytes: number;
  /** Ends the call: the run is over. */
  signal: AbortSignal;
  progress(tasks: readonly ToolTask[]): void;
}
