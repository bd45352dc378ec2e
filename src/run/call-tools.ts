// What a call that waits for an approval needs to be made later, when its tool may not be listed, and whether it may be made then. Pure.
import type { AgentPlan, CallableTool, CallRecord, CarriedCall } from "../../schemas/tool.ts";
import { allows, offers } from "./tool-access.ts";

/** The call with what is to be called, when it waits for an approval. */
export function withTool<C extends CallRecord>(call: C, tools: readonly CallableTool[]): C {
  if (call.confirmation === undefined || call.result !== undefined || call.tool !== undefined) return call;
  const tool = tools.find(({ name }) => name === call.toolName);
  return tool === undefined ? call : { ...call, tool: callable(tool) };
}

/**
 * The calls with what each approved one may call now: a configured tool as it is configured now, that of a server if the
 * server is still one of the run's and the rules allow it. Others have none, and are not made.
 */
export function callableNow(
  carried: readonly CarriedCall[],
  { tools, servers, rules }: Pick<AgentPlan, "tools" | "servers" | "rules">,
): CarriedCall[] {
  return carried.map((call) => {
    const { tool: known, ...rest } = call;
    if (call.decision !== "approve") return call;
    const isServers = known !== undefined && known.source.type !== "http";
    const may = isServers && allows(rules, known) && servers.some((server) => offers(server, known));
    const tool = isServers ? (may ? known : undefined) : tools.find(({ name }) => name === call.toolName);
    return tool === undefined ? rest : { ...rest, tool: callable(tool) };
  });
}

/** Without what only a model is told. */
function callable({ name, domain, mode, confirmation, idempotent, timeoutMs, source }: CallableTool): CallableTool {
  return { name, domain, mode, confirmation, idempotent, timeoutMs, source };
}
