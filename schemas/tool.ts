// Tools that the server runs for a model: how they are described, where they are reached, who may use them. Shapes only.
import type { JsonRecord } from "./json.ts";

/** What a tool may do to the world; each may do what those before it may. */
export type ToolMode = "read" | "write" | "delete";

/** Where a tool is reached. `mcp`: under its own name at a configured server; `host`: at the MCP server of a visitor's host page. */
export type ToolSource =
  | { type: "http"; url: string; keyVar?: string }
  | { type: "mcp"; serverId: string; toolName: string }
  | { type: "host"; toolName: string };

/** What a call of a tool needs: enough to make it when the tool is not offered any more. */
export interface CallableTool {
  /** As the model knows it: `^[A-Za-z0-9_-]{1,64}$`, unique within a run. */
  name: string;
  domain: string;
  mode: ToolMode;
  /** A user must approve each call before it runs. */
  confirmation: boolean;
  /** A call whose run was cut off may be made again. */
  idempotent: boolean;
  timeoutMs: number;
  source: ToolSource;
}

/** A tool that the run calls itself. */
export interface ServerTool extends CallableTool {
  description: string;
  /** JSON Schema of the input object. */
  parameters: JsonRecord;
}

/** Servers whose tools join a run when it is accepted. `host`: the one that a visitor's host page named, which its object knows. */
export type ToolServer =
  | { type: "mcp"; id: string; url: string; keyVar?: string; allow: readonly string[] }
  | { type: "host"; visitor: string; chatId: string; origins: readonly string[] };

/** Which tools may be used. A tool must be allowed by every rule that applies. */
export interface ToolRule {
  /** Patterns over the names that tools have where they live: `*`, `x*`, `*x`, or the exact name. None: no tool. */
  allow: readonly string[];
  /** The patterns are also over the names that models call tools by: such a rule is a choice, not a protection. */
  asCalled?: true;
  /** None: tools of any domain. */
  domains: readonly string[];
  maxMode?: ToolMode;
  /** Domains of configured tools that are switched off. */
  without: readonly string[];
  /** Domains of configured tools that are switched on, whatever the patterns say. */
  opened?: readonly string[];
}

/** What became of a call. `output` is what the model and the client are given. */
export interface ToolResult {
  output: unknown;
  /** The output's JSON text, where `output` cannot hold its numbers. */
  outputJson?: string | undefined;
  isError?: boolean;
  renderHint?: "confirm_dialog" | "resource_links" | "plain" | "custom";
  renderData?: JsonRecord;
}

/** A call that a model made, and what became of it. */
export interface CallRecord {
  toolCallId: string;
  toolName: string;
  input: JsonRecord;
  /** The input's JSON text: always where `input` cannot hold its numbers. */
  inputJson?: string | undefined;
  execution: "server" | "client";
  confirmation?: "required";
  /** What the provider wants back with the call in the next request. Only the adapter that made it reads it. */
  echo?: JsonRecord;
  /** Of a call that waits for an approval: what was to be called. */
  tool?: CallableTool;
  result?: ToolResult;
}

/**
 * A call of the conversation so far that is open. The run carries out what was decided before it asks a model. `tool`: what is
 * called, if it may be called now; no listing of its server is needed.
 */
export interface CarriedCall extends CallRecord {
  decision: "approve" | "deny" | "undecided";
}

/** What a run that calls tools itself, or takes several steps, is accepted with. */
export interface AgentPlan {
  /** Model calls, at most. */
  maxSteps: number;
  /** Complete once the run is accepted: those of `servers` included, and only those that the rules allow. */
  tools: readonly ServerTool[];
  /** What the servers say about their tools: for the system message, once the run is accepted. */
  instructions?: readonly string[];
  servers: readonly ToolServer[];
  rules: readonly ToolRule[];
  carried: readonly CarriedCall[];
  /** Ids of calls in the conversation so far: a new call never has one of these. */
  callIds: readonly string[];
  /** `generate`: a model is asked for a better one. */
  title?: { provisional: string; generate: boolean };
}
