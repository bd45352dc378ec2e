// What a run is planned with for a turn: the request a model reads, the tools it may call, where a page's own tools are.
import type { TurnAnswer } from "../../../../schemas/chat.ts";
import type { RunPlan } from "../../../../schemas/plan.ts";
import type { StartRequest } from "../../../../schemas/run.ts";
import type { AgentPlan } from "../../../../schemas/tool.ts";
import { callableNow } from "../../../run/call-tools.ts";
import { planServers, planTools } from "../../../run/plan-tools.ts";
import { allowsClient, clientRules, toolRules } from "../../../run/tool-access.ts";
import { sha256Hex } from "../../digest.ts";
import type { Result } from "../../problem.ts";
import { planRequest, type Brought } from "../../start-run.ts";
import type { SvedaContext } from "./context.ts";
import type { AskedTurn } from "./asked-turn.ts";

export type BegunTurn = Extract<TurnAnswer, { begun: true; repeat: false }>;

export async function planTurn(asked: AskedTurn, begun: BegunTurn, { config }: SvedaContext): Promise<Result<RunPlan>> {
  const { visitor, policy, turn, chatId, model } = asked;
  const { systemPrompt, onDisconnect } = config.sveda;
  const rules = clientRules(policy, visitor.grants);
  const tools = turn.clientTools.filter(({ name }) => allowsClient(rules, name));
  const request: StartRequest = {
    schemaVersion: "1.0",
    task: { kind: "text_to_text" },
    ...model,
    messages: [...(systemPrompt === "" ? [] : [{ role: "system" as const, content: systemPrompt }]), ...begun.messages],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ ...tool })) }),
    ...(turn.context !== undefined && { context: turn.context }),
  };
  return planRequest(request, {
    tenant: visitor.tenant,
    config,
    runId: begun.runId,
    // The name is made of the turn's identity: two requests for one name are the same turn.
    requestHash: await sha256Hex(begun.runId),
    agent: agentOf(asked, begun, config),
    chat: { visitor: visitor.visitor, chatId },
    brings: broughtBy(turn, tools),
    replaces: false,
    onDisconnect,
  });
}

/** The prompt with its pictures, and the page's tools: the conversation was the server's before, and is bounded by itself. */
function broughtBy(
  { prompt, images = [], decisions }: AskedTurn["turn"],
  tools: AskedTurn["turn"]["clientTools"],
): Brought {
  // A turn with decisions reads no prompt.
  const pictures = decisions.length > 0 ? [] : images.map((image) => ({ type: "image" as const, ...image }));
  return {
    prompt: decisions.length > 0 ? "" : prompt,
    ...(pictures.length > 0 && { messages: [{ role: "user", content: pictures }] }),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ ...tool })) }),
  };
}

function agentOf(
  { visitor, policy, chatId }: AskedTurn,
  { carried, callIds, title, hostTools }: BegunTurn,
  config: SvedaContext["config"],
): AgentPlan {
  const rules = toolRules(policy, visitor.grants);
  const { maxSteps, mcpOrigins = [] } = config.sveda;
  const tools = planTools(config, rules);
  const servers = [
    ...planServers(config),
    ...(hostTools ? [{ type: "host" as const, visitor: visitor.visitor, chatId, origins: mcpOrigins }] : []),
  ];
  return {
    maxSteps,
    tools,
    servers,
    rules,
    carried: callableNow(carried, { tools, servers, rules }),
    callIds,
    title,
  };
}
