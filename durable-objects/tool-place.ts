// What a run's tools are told about the run. Knows no tool.
import type { RunPlan } from "../schemas/plan.ts";
import type { StartRequest } from "../schemas/run.ts";
import { asRecord } from "../src/wire/json.ts";
import type { McpConnections } from "./tools/mcp-connections.ts";
import type { ToolPlace } from "./tools/tool-place.ts";

export function placeOf(
  env: Env,
  { agent, tenant }: Pick<RunPlan, "agent" | "tenant">,
  request: StartRequest | undefined,
  connections: McpConnections,
): ToolPlace {
  return {
    env,
    servers: agent?.servers ?? [],
    context: asRecord(request?.["context"]),
    hostServer: (visitor) => env.VISITOR.getByName(`${tenant}/${visitor}`).hostServer(),
    connections,
  };
}
