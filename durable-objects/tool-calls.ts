// The tool calls that a run makes itself. Makes a call only once it is on disk, and ends all of them when the run is over.
import type { StartRequest } from "../schemas/run.ts";
import type { Input } from "../src/run/machine.ts";
import type { Effect } from "../src/run/step.ts";
import { toolError } from "../src/run/tool-output.ts";
import { pass } from "./gate.ts";
import type { RunRow } from "./run-row.ts";
import { placeOf } from "./tool-place.ts";
import { mcpConnections } from "./tools/mcp-connections.ts";
import { runTool } from "./tools/run-tool.ts";
import type { ToolTask } from "./tools/tool-place.ts";

type Call = Extract<Effect, { type: "call" }>;

export interface ToolCalls {
  make(call: Call): void;
}

export interface ToolCallsOptions {
  ctx: DurableObjectState;
  env: Env;
  row: RunRow;
  request: StartRequest | undefined;
  /** Aborted when the run is over: the sockets of its tools are closed then. */
  over: AbortSignal;
  /** Resolves when everything decided so far is on disk. */
  settled(): Promise<void>;
  /** Resolves when the run is known to be wanted, or is over. */
  wanted: Promise<unknown>;
  apply(input: Extract<Input, { type: "tool" | "tool_progress" }>): void;
}

export function toolCalls({
  ctx,
  env,
  row: { plan },
  request,
  over,
  settled,
  wanted,
  apply,
}: ToolCallsOptions): ToolCalls {
  const { runId, limits, agent } = plan;
  const connections = mcpConnections();
  over.addEventListener("abort", () => ctx.waitUntil(connections.close()), { once: true });

  function progress(tasks: readonly ToolTask[]): void {
    if (!over.aborted) apply({ type: "tool_progress", at: Date.now(), tasks: tasks.map((task) => ({ ...task })) });
  }

  async function make({ toolCallId, toolName, input, inputJson }: Call): Promise<void> {
    await Promise.all([settled(), wanted]);
    await pass("calling", ctx);
    if (over.aborted) return;
    const carried = agent?.carried.find((call) => call.toolCallId === toolCallId);
    const tool = carried === undefined ? agent?.tools.find(({ name }) => name === toolName) : carried.tool;
    const result =
      tool === undefined
        ? toolError(`Unknown tool ${toolName}.`)
        : await runTool(
            tool,
            { toolCallId, input, inputJson },
            {
              ...placeOf(env, plan, request, connections),
              runId,
              maxOutputBytes: limits.maxToolOutputBytes,
              signal: over,
              progress,
            },
          );
    await pass("called", ctx);
    if (!over.aborted) apply({ type: "tool", at: Date.now(), toolCallId, result });
  }

  return { make: (call) => ctx.waitUntil(make(call)) };
}
