// Whether a native start is an agent run, and what such a run may do: the server's tools that it names, and its steps.
import type { Config } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { AgentPlan, CarriedCall } from "../../schemas/tool.ts";
import { callableNow } from "../run/call-tools.ts";
import { callIdsOf } from "../run/continued-request.ts";
import { planServers, planTools } from "../run/plan-tools.ts";

/** What a run that goes on from others, or is in a thread, has of its conversation. */
export interface Conversation {
  /** The open calls of the run that this one goes on from. */
  carried: CarriedCall[];
  /** Ids of calls beside those of the request's messages. */
  callIds?: readonly string[] | undefined;
  title?: AgentPlan["title"];
}

/** `undefined`: one step, whose tool calls are all the client's. */
export function nativeAgent(request: StartRequest, config: Config, conversation?: Conversation): AgentPlan | undefined {
  const { serverTools, maxSteps } = request;
  if (serverTools === undefined && maxSteps === undefined && conversation === undefined) return undefined;
  const { carried = [], callIds = [], title } = conversation ?? {};
  const allow = serverTools ?? [];
  // A client knows tools by what events call them.
  const rules = [{ allow, asCalled: true as const, domains: [], without: [] }];
  const tools = planTools(config, rules);
  const servers = allow.length === 0 ? [] : planServers(config);
  return {
    maxSteps: Math.min(maxSteps ?? config.limits.maxSteps, config.limits.maxSteps),
    tools,
    servers,
    rules,
    carried: callableNow(carried, { tools, servers, rules }),
    callIds: [...new Set([...callIdsOf(request.messages ?? []), ...callIds])],
    ...(title !== undefined && { title }),
  };
}
