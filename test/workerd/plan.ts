// Plans for tests inside workerd: what the edge would have made of a request. The embedded target needs no network.
import { inject } from "vitest";
import type { PlannedTarget, RunPlan } from "../../schemas/plan.ts";
import type { AgentPlan, ServerTool } from "../../schemas/tool.ts";
import { checkConfig, planTarget } from "../../src/run/settings.ts";

const checked = checkConfig({ targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] } });
if (!checked.ok) throw new Error("the test configuration is not valid");
export const { limits } = checked.config;
const { breaker } = checked.config;

export function demoTarget(model: string): PlannedTarget {
  return planTarget({ id: model, adapter: "demo", model }, false);
}

export function planOf(runId: string, fields: Partial<RunPlan> = {}): RunPlan {
  return {
    runId,
    tenant: "local",
    request: { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "marker-of-the-prompt" },
    requestHash: "hash",
    chain: [demoTarget("demo-answer")],
    totalMs: 60_000,
    asks: { promptBytes: 20, tools: false, json: false },
    breaker,
    hedge: undefined,
    limits,
    policies: {
      replaces: true,
      onDisconnect: "continue",
      onMidStreamFailure: "fail",
      durability: "standard",
      telemetry: false,
    },
    agent: undefined,
    chat: undefined,
    continues: undefined,
    decision: {
      selectedProviderId: "demo-answer",
      fallbackProviderIds: [],
      rejectedProviders: [],
      fallbackAvailable: false,
      taskKind: "text_to_text",
      explanation: { summary: "", selectedProviderId: "demo-answer" },
      constraints: null,
      preferences: null,
      plannerSource: "fallback",
      plannerUnavailableReason: null,
    },
    ...fields,
  };
}

/** The scripted provider that answers with many short words at once. */
export function quickTarget(): PlannedTarget {
  return planTarget(
    { id: "quick", adapter: "openai-chat", baseUrl: `${inject("providerOrigin")}/quick`, model: "m" },
    true,
  );
}

export const quickText = (): string => inject("quickText");

/** A scripted model that calls the tools `once` and `again`, then `once` again, then answers `Looking. More. Done.` in all. */
export function agentTarget(): PlannedTarget {
  return planTarget(
    { id: "agent", adapter: "openai-chat", baseUrl: `${inject("providerOrigin")}/agent`, model: "m" },
    true,
  );
}

/** A scripted model that splits a question, and answers it from what is found for its parts. */
export function researchTarget(): PlannedTarget {
  return planTarget(
    { id: "research", adapter: "openai-chat", baseUrl: `${inject("providerOrigin")}/research`, model: "m" },
    true,
  );
}

/** The tools of `agentTarget`: one that must not be called twice, one that may. */
export function agentPlan(fields: Partial<AgentPlan> = {}): AgentPlan {
  const tool = (name: string, idempotent: boolean): ServerTool => ({
    name,
    description: "",
    parameters: { type: "object", properties: {} },
    domain: "other",
    mode: "write",
    confirmation: false,
    idempotent,
    timeoutMs: 10_000,
    source: { type: "http", url: `${inject("providerOrigin")}/tools/${name}` },
  });
  return {
    maxSteps: 10,
    tools: [tool("once", false), tool("again", true)],
    servers: [],
    rules: [],
    carried: [],
    callIds: [],
    ...fields,
  };
}

/** How often each call of the run reached its tool: `/tools/NAME runId/toolCallId`. */
export async function toolCallsOf(runId: string): Promise<Map<string, number>> {
  const response = await fetch(`${inject("providerOrigin")}/tools/calls`);
  const made: [path: string, key: string][] = await response.json();
  const counts = new Map<string, number>();
  for (const [path, key] of made) {
    if (!key.startsWith(`${runId}/`)) continue;
    const call = `${path} ${key.slice(runId.length + 1)}`;
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  return counts;
}

/** An unused name for each test: objects of one file share storage. */
export const newName = (): string => `local/${crypto.randomUUID()}`;
