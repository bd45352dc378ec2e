// The tools that a run is accepted with: those of its plan, and those that its servers list now. Calls no tool.
import type { RunPlan } from "../schemas/plan.ts";
import { equipped, type Equipped } from "./equipment.ts";
import { placeOf } from "./tool-place.ts";
import { listTools } from "./tools/list-tools.ts";
import { mcpConnections } from "./tools/mcp-connections.ts";

const nothing = { tools: [], instructions: [], failed: [] };

/** Resolves within the time that a listing takes at most; a server that fails costs its own tools only. */
export async function equip(env: Env, plan: RunPlan): Promise<Equipped> {
  const { servers = [], rules = [] } = plan.agent ?? {};
  if (servers.length === 0) return equipped(plan, nothing);
  const connections = mcpConnections();
  try {
    const place = placeOf(env, plan, plan.request, connections);
    return equipped(plan, await listTools(servers, { ...place, rules }));
  } finally {
    connections.close().catch(() => undefined);
  }
}
