// Plans for tests inside workerd: what the edge would have made of a request. The embedded target needs no network.
import { inject } from "vitest";
import type { PlannedTarget, RunPlan } from "../../schemas/plan.ts";
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

/** An unused name for each test: objects of one file share storage. */
export const newName = (): string => `local/${crypto.randomUUID()}`;
